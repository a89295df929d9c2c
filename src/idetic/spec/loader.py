"""Loading specs: shipped with Idetic, from a file, YAML text or a mapping, or made in Python.

Each becomes a `MemorySpec`, or every problem at once. Three looks, none of which stops the next:
can the data be read (`document`, `plain`), have they the shape of a spec (`shape`), do the answers
fit together (the checks).
"""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import Any

from idetic.errors import SpecError, SpecNotFound
from idetic.spec import behaviour_checks, discipline_checks, foundation_checks
from idetic.spec.memory_spec import DISCIPLINE, MemorySpec
from idetic.spec.plain import MAX_BYTES, SpecNode, plain
from idetic.spec.problems import WHOLE, Finding, SpecInvalid, SpecProblem, Steps, ordered
from idetic.spec.shape import fit, meant, nearest

_CHECKS = (*foundation_checks.CHECKS, *behaviour_checks.CHECKS, *discipline_checks.CHECKS)
_SUFFIXES = (".yaml", ".yml")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,80}\Z")


def load(source: str | Path | Mapping[Any, Any] | MemorySpec) -> MemorySpec:
    """A valid spec, from a shipped agent's name, a YAML file, a mapping or a `MemorySpec`.

    Text that is itself YAML is not guessed at: that is `parse`.
    """
    if isinstance(source, MemorySpec):
        readable, findings = plain(source)
        _spec(readable, findings, lambda _steps: None, f"The spec of `{source.agent}`")
        return source
    if isinstance(source, Mapping):
        return validate(source)
    if isinstance(source, Path):
        return _from_file(source)
    if not isinstance(source, str):
        raise SpecError(
            f"A spec cannot be loaded from a `{type(source).__name__}`.",
            remedy="Give a shipped agent's name, a path, a mapping or a MemorySpec.",
        )
    if source in shipped():
        return _shipped(source)
    if "\n" in source:
        raise SpecNotFound(
            "The source is neither a shipped agent's name nor a path.",
            remedy="If it is the YAML itself, use `parse(text)`.",
        )
    if _NAME.match(source) or not source.strip():
        raise _no_such_agent(source)
    return _from_file(Path(source))


def validate(data: Mapping[Any, Any], source: str | None = None) -> MemorySpec:
    """The spec that data make; raises `SpecInvalid` with every problem they have."""
    return _spec(*plain(data), lambda _steps: None, source)


def parse(text: str, source: str | None = None) -> MemorySpec:
    """The spec that a YAML text makes; problems name their lines."""
    # PyYAML is a tenth of what importing Idetic costs; specs made in Python never need it.
    from idetic.spec.document import read  # noqa: PLC0415

    document = read(text, source)
    readable, findings = plain(document.data)
    return _spec(readable, [*document.findings, *findings], document.line_of, source)


def _spec(
    data: Mapping[str, Any],
    unreadable: Sequence[Finding],
    line_of: Callable[[Steps], int | None],
    source: str | None,
) -> MemorySpec:
    """The spec that plain data make, or `SpecInvalid` with everything found, in order."""
    data = completed(data)
    fitted, root = fit(MemorySpec, data), SpecNode(data)
    misshapen = fitted if isinstance(fitted, list) else []
    # What could not be read stands as null in the data; what follows from that is no news.
    lost = {finding.steps for finding in unreadable if not root.at(finding.steps).present}
    findings = [
        *unreadable,
        *(
            finding
            for finding in (*misshapen, *(found for check in _CHECKS for found in check(root)))
            if not any(finding.steps[:end] in lost for end in range(1, len(finding.steps) + 1))
        ),
    ]
    if isinstance(fitted, MemorySpec) and not findings:
        return fitted
    problems = [SpecProblem.of(found, line_of(found.steps)) for found in ordered(findings)]
    raise SpecInvalid(problems, source=source)


def completed(data: Mapping[str, Any]) -> Mapping[str, Any]:
    """A short spec with the documented choices in it; any other as it is."""
    # Imported for a short one alone: the questions are text that few programs need.
    if any(key in data for key in DISCIPLINE):
        return data
    from idetic.spec.completion import complete, is_short  # noqa: PLC0415

    return complete(data) if is_short(data) else data


def shipped() -> tuple[str, ...]:
    """The names of the specs that come with Idetic."""
    folder = resources.files("idetic.spec").joinpath("agents")
    names = (entry.name for entry in folder.iterdir())
    return tuple(sorted(name.removesuffix(".yaml") for name in names if name.endswith(".yaml")))


def shipped_text(name: str) -> str:
    """The YAML of a shipped spec, comments and all: a start for one's own."""
    if name not in shipped():
        raise _no_such_agent(name)
    folder = resources.files("idetic.spec").joinpath("agents")
    return folder.joinpath(f"{name}.yaml").read_text("utf-8")


@cache
def _shipped(name: str) -> MemorySpec:
    """A shipped spec, read once: the package does not change while it runs."""
    return parse(shipped_text(name), name)


def _no_such_agent(name: str) -> SpecNotFound:
    """The error for a name that is not shipped; it names the nearest one that is."""
    known = shipped()
    close = nearest(name, known)
    return SpecNotFound(
        f"No shipped spec is called `{name}`.",
        remedy=f"{meant(name, known)}Shipped: {', '.join(known)}. "
        "A file's path ends in .yaml or .yml.",
        near=[close] if close else [],
        shipped=list(known),
    )


def _from_file(path: Path) -> MemorySpec:
    """The spec of a YAML file, of which no more is read than a spec may have."""
    if path.suffix.lower() not in _SUFFIXES:
        raise SpecNotFound(
            f"`{path}` is not a YAML file.",
            remedy=f"Name it .yaml or .yml. Shipped specs: {', '.join(shipped())}.",
        )
    try:
        with path.open("rb") as file:
            # One byte more than allowed is enough to see that it is too much.
            raw = file.read(MAX_BYTES + 1)
    except FileNotFoundError as error:
        raise SpecNotFound(
            f"There is no file `{path}`.",
            remedy=f"Check the path. Shipped specs: {', '.join(shipped())}.",
        ) from error
    except (OSError, ValueError) as error:
        raise SpecError(
            f"The file `{str(path)[:200]!r}` cannot be read: {error}.",
            remedy="Check that it is a file and that you may read it.",
        ) from error
    return parse(_decoded(raw, path), str(path))


def _decoded(raw: bytes, path: Path) -> str:
    """A file's bytes as text; the first byte that is not UTF-8 is a problem with its line."""
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        if len(raw) > MAX_BYTES:
            return raw.decode("utf-8", "replace")  # cut inside a character; refused for its size
        message = f"Byte {error.start + 1} is not UTF-8."
        line = raw.count(b"\n", 0, error.start) + 1
        remedy = "Save the file as UTF-8 and try again."
        problem = SpecProblem(WHOLE, "", message, remedy, line)
        raise SpecInvalid([problem], source=str(path)) from error
