"""Checks of primitive 14: what a gate declares as identifiers can be found, and cheaply."""

from __future__ import annotations

import re
from collections.abc import Iterator

from idetic.spec.plain import SpecNode, repeated
from idetic.spec.primitives import Boundary, GateKind
from idetic.spec.problems import Finding

_LEAST_PLAIN = 3
_MOST_STARS = 2
_SIDE_BY_SIDE = re.compile(r"[*#]{2}")


def identifiers(spec: SpecNode) -> Iterator[Finding]:
    """Identifiers stand where they are stripped, and each says something definite."""
    for gate in spec["gates"].each():
        declared = gate["identifiers"]
        if not declared.present:
            continue
        if GateKind.STRIP_IDENTIFIERS not in gate["apply"].texts():
            yield declared.finding(
                "This gate strips no identifiers, so what it declares would change nothing.",
                "Add `strip_identifiers` to `apply`, or take `identifiers` out.",
            )
        yield from repeated(declared["names"].each(), "name")
        yield from repeated(declared["patterns"].each(), "pattern")
        for pattern in declared["patterns"].each():
            yield from _glob(pattern)
        for lookup in declared["lookups"].each():
            yield from _lookup(spec, gate, lookup)


def _glob(pattern: SpecNode) -> Iterator[Finding]:
    """A pattern has few stars and enough letters: `*` alone would take every word."""
    text = pattern.text or ""
    if text.count("*") > _MOST_STARS or _SIDE_BY_SIDE.search(text):
        yield pattern.finding(
            f"A pattern has at most {_MOST_STARS} `*`, and no `*` or `#` beside another.",
            "Write out more of the name, or declare two patterns.",
        )
    if text and sum(map(str.isalnum, text)) < _LEAST_PLAIN:
        yield pattern.finding(
            f"Fewer than {_LEAST_PLAIN} letters or digits of it are given; it would take too much.",
            "Write out what the names have in common: `acme-*`.",
        )


def _lookup(spec: SpecNode, gate: SpecNode, lookup: SpecNode) -> Iterator[Finding]:
    """A lookup names one place that the spec has, where the database may be asked."""
    given = tuple(name for name, node in lookup.fields() if node.data is not None)
    if set(given) not in ({"noun", "column"}, {"envelope"}, {"provenance"}):
        yield lookup.finding(
            "A lookup names one place.",
            "Write `{noun: customer, column: name}`, `{envelope: site}` or `{provenance: region}`.",
        )
        return
    if gate["boundary"].text != Boundary.AGGREGATION:
        yield lookup.finding(
            "Names are looked up only where a pattern leaves its anchor.",
            "Move it to the gate at the `aggregation` boundary, or declare `names`.",
        )
    for key, known in (
        ("noun", [one["noun"].text for one in spec["references"]["canonical"].each()]),
        ("envelope", [name for name, _ in spec["retrieval"]["envelope"].fields()]),
        ("provenance", spec["anchor"]["provenance"].texts()),
    ):
        if key in given and lookup[key].text not in known:
            listed = ", ".join(f"`{one}`" for one in known) or "none"
            yield lookup[key].finding(
                f"The spec has no {key} `{lookup[key].text}`.", f"Those it has: {listed}."
            )
