"""What an import did, and what it found: counted, with the first ids of each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

LISTED = 10

FINDINGS: Mapping[str, str] = {
    "refused": "events that cannot be held, and were not written",
    "differs": "events whose id is there with another content, and were not written",
    "repeated": "events whose id the file has more than once; the first was taken",
    "erased": "events that were erased since they were imported, and stay empty",
    "redacted": "events of which the ingest gate removed something",
    "stm_redacted": "short-term entries of which the ingest gate removed something",
    "unknown_kind": "events of an unknown kind, kept as system_event",
    "misfiled": "events of the Actor that are the Subconscious's by their kind, filed there",
    "other_id": "events whose id or loop is no UUID, under one made from it",
    "bad_ts": "events without a readable moment, given that of the event before",
    "assumed_utc": "events whose moment names no time zone, taken as UTC",
    "unknown_visibility": "events of no known visibility, kept as internal",
    "odd_metadata": "events with metadata that Idetic reserves or that are no object, set aside",
    "no_content": "events without content, kept empty",
    "ltm_missing": "events without a long-term entry of their own, derived anew",
    "ltm_unusable": "events whose long-term entry has no usable summary, derived anew",
    "ltm_of_others": "events whose long-term entry names another agent or persona, derived anew",
    "ltm_extra": "events with more than one long-term entry; the first was taken",
    "ltm_repeated": "long-term ids that more than one entry has",
    "ltm_without_event": "long-term entries without an event",
    "stm_unused": "short-term entries whose words are not used: there are none, or whose they are "
    "is not clear, or they rest on what is not the Actor's",
    "stm_without_event": "short-term entries without an event",
    "map_without_ltm": "rows of the map that name no long-term entry",
    "map_without_stm": "rows of the map that name no short-term entry",
    "map_in_another_order": "short-term entries mapped in another order than their events came in",
}
"""Each thing that an import may find, in words."""

_LOST = ("refused", "differs", "repeated")


@dataclass(frozen=True, slots=True)
class Found:
    """How many there are of something, and the first of them, as the file calls them."""

    count: int
    first: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class ImportReport:
    """What an import did; in a dry run, what it would do. `findings` are by the names above.

    `read` is the sum of `written`, `there`, and what was refused, differs, is repeated or erased.
    """

    dry_run: bool
    read: int
    written: int
    there: int
    personas: Mapping[str, int]
    """How many events were read of each `agent/persona`."""
    ltm_kept: int
    stm_kept: int
    stm_derived: int
    missing: tuple[str, ...]
    """Tables and `table.column`s of the document that the file lacks."""
    findings: Mapping[str, Found] = field(default_factory=dict)

    @property
    def complete(self) -> bool:
        """Whether every event of the file is in the log now."""
        return not any(name in self.findings for name in _LOST)


class Tally:
    """Counts while an import runs."""

    def __init__(self) -> None:
        self.counts: dict[str, int] = {}
        self.personas: dict[str, int] = {}
        self._found: dict[str, tuple[int, list[str]]] = {}

    def add(self, what: str) -> None:
        """One more of something."""
        self.counts[what] = self.counts.get(what, 0) + 1

    def find(self, what: str, ids: Iterable[str]) -> None:
        """Something was found, at these ids."""
        for one in ids:
            count, first = self._found.get(what, (0, []))
            self._found[what] = (count + 1, [*first, one] if count < LISTED else first)

    def report(self, missing: tuple[str, ...], *, dry_run: bool) -> ImportReport:
        """What came of it all."""
        number = self.counts.get
        findings = {
            name: Found(self._found[name][0], tuple(self._found[name][1]))
            for name in FINDINGS
            if name in self._found
        }
        return ImportReport(
            dry_run, number("read", 0), number("written", 0), number("there", 0), self.personas,
            number("ltm_kept", 0), number("stm_kept", 0), number("stm_derived", 0), missing,
            findings,
        )  # fmt: skip
