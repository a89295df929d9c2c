"""Data or YAML text to a `MemorySpec`, or every problem at once.

Three looks, none of which stops the next: can the data be read (`document`, `plain`), have
they the shape of a spec (`shape`), do the answers fit together (`checks`).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from idetic.spec.checks import check_all
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.plain import View, plain
from idetic.spec.problems import (
    Finding,
    Problem,
    SpecInvalid,
    Steps,
    ordered,
    path_of,
    primitive_of,
)
from idetic.spec.shape import fit

LineOf = Callable[[Steps], int | None]


def validate(data: Mapping[Any, Any], source: str | None = None) -> MemorySpec:
    """The spec that data make; raises `SpecInvalid` with every problem they have."""
    readable, findings = plain(data)
    return _spec(readable, findings, lambda steps: None, source)


def parse(text: str, source: str | None = None) -> MemorySpec:
    """The spec that a YAML text makes; problems name their lines."""
    # PyYAML is a tenth of what importing Idetic costs; specs made in Python never need it.
    from idetic.spec.document import read  # noqa: PLC0415

    document = read(text, source)
    readable, findings = plain(document.data)
    return _spec(readable, [*document.findings, *findings], document.line_of, source)


def check(spec: MemorySpec) -> MemorySpec:
    """The same spec, once its answers are known to fit together; for specs made in Python."""
    readable, findings = plain(spec)
    _spec(readable, findings, lambda steps: None, f"The spec of `{spec.agent}`")
    return spec


def _spec(
    data: Mapping[str, Any], unreadable: Sequence[Finding], line_of: LineOf, source: str | None
) -> MemorySpec:
    fitted = fit(MemorySpec, data)
    misshapen = fitted if isinstance(fitted, list) else []
    findings = [*unreadable]
    # What could not be read stands as null in the data; what follows from that is no news.
    lost = {finding.steps for finding in unreadable if not View(data).at(finding.steps).present}
    findings.extend(
        finding
        for finding in (*misshapen, *check_all(View(data)))
        if not any(finding.steps[:end] in lost for end in range(1, len(finding.steps) + 1))
    )
    if isinstance(fitted, MemorySpec) and not findings:
        return fitted
    raise SpecInvalid(
        [
            Problem(
                primitive=primitive_of(finding.steps),
                path=path_of(finding.steps),
                message=finding.message,
                remedy=finding.remedy,
                line=line_of(finding.steps),
            )
            for finding in ordered(findings)
        ],
        source=source,
    )
