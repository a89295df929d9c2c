"""What the HTTP reference must say, made from the OpenAPI: a row for each operation and body."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from idetic import Idetic
from idetic.surfaces.http.app import create_api
from tests.support.docs import DOCS

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


def written(api: Api, page: str) -> str:
    """The reference page with every table made anew; what stands around the tables stays."""
    lines: list[str] = []
    tag, kept = "", page.split("\n")
    rows: Iterator[str] = iter(())
    for number, line in enumerate(kept):
        if line.startswith("## "):
            tag = line.removeprefix("## ").lower()
        if line.startswith(("| address |", "| body |")):
            again = tag == "about" and any("`GET /v1/spec`" in one for one in lines)
            tag = "health" if again else tag
            rows = body_rows(api) if tag == "bodies" else operation_rows(api, tag)
            lines += [line, kept[number + 1], *rows]
        elif not _in_table(kept, number):
            lines.append(line)
    return "\n".join(lines)


def _in_table(lines: list[str], number: int) -> bool:
    """Whether a line belongs to a table that is made anew."""
    while number >= 0 and lines[number].startswith("|"):
        if lines[number].startswith(("| address |", "| body |")):
            return True
        number -= 1
    return False


def main() -> None:
    """Write the tables of docs/reference/http.md from the OpenAPI."""
    page = DOCS / "reference" / "http.md"
    api = create_api(Idetic.open("host=nowhere")).openapi()
    page.write_text(written(api, page.read_text()))


if __name__ == "__main__":
    main()
