"""What the HTTP reference must say, made from the OpenAPI: a row for each operation and body."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

Api = dict[str, Any]


def operation_rows(api: Api, tag: str) -> Iterator[str]:
    """The operations of one part, as rows of a table."""
    for path, operations in api["paths"].items():
        for method, said in operations.items():
            if said["tags"] == [tag]:
                what = said["description"].partition("\n\n")[0].replace("\n", " ")
                cells = (f"`{method.upper()} {path}`", what, _takes(said), _gives(said))
                yield f"| {' | '.join(cells)} |"


def body_rows(api: Api) -> Iterator[str]:
    """What each body holds; a member that may be left out has a question mark."""
    schemas = api["components"]["schemas"]
    for name in sorted(each for each in schemas if each.endswith("Body")):
        needed = schemas[name].get("required", ())
        members = schemas[name]["properties"]
        said = ", ".join(f"`{each}`{'' if each in needed else '?'}" for each in members)
        yield f"| `{name}` | {said} |"


def _takes(operation: dict[str, Any]) -> str:
    parts = [
        f"`{each['name']}`{'' if each['required'] else '?'}"
        for each in operation.get("parameters", ())
        if each["in"] == "query"
    ]
    if "requestBody" in operation:
        parts.insert(0, f"`{_named(operation['requestBody'])}`")
    if any(each["name"] == "Idempotency-Key" for each in operation.get("parameters", ())):
        parts.append("key")
    return ", ".join(parts)


def _gives(operation: dict[str, Any]) -> str:
    if "200" not in operation["responses"]:
        return "204"
    content = operation["responses"]["200"]["content"]
    if "application/json" not in content:
        return ", ".join(content)
    found = f"`{_named(operation['responses']['200'])}`"
    return f"{found}, events" if "text/event-stream" in content else found


def _named(holder: dict[str, Any]) -> str:
    schema = holder["content"]["application/json"]["schema"]
    if schema.get("type") == "array":
        return f"[{schema['items']['$ref'].rsplit('/', 1)[-1]}]"
    return str(schema.get("$ref") or schema["type"]).rsplit("/", 1)[-1]
