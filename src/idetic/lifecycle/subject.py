"""What a promotion pass is about: a statement of the session, and a persistent entry."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

from idetic.evidence import Corroboration, Lineage
from idetic.lifecycle.promotion_gates import independent
from idetic.lifecycle.sameness import Statement
from idetic.lifecycle.sources import Sources
from idetic.model import Claim, Entry, Tier, Typology
from idetic.spec.memory_spec import MemorySpec
from idetic.store.known import Known


@dataclass(slots=True)
class Heard:
    """One statement that a session leaves: the entries that make it, and who said so."""

    members: Sequence[Known]
    lineage: Sequence[Lineage]
    sources: Sources

    @property
    def leader(self) -> Entry:
        """The entry whose words stand for the group: the first that makes its claim."""
        return next((m.entry for m in self.members if m.entry.claim), self.members[0].entry)

    @property
    def claim(self) -> Claim | None:
        """What it asserts, as it is compared."""
        claim = self.leader.claim
        return None if claim is None else claim.normalised()


@dataclass(slots=True)
class Subject:
    """A persistent entry and the evidence about it, as the pass goes along."""

    entry: Entry
    sources: list[Corroboration] = field(default_factory=list)
    failures: set[tuple[str, str]] = field(default_factory=set)
    vector: object = None
    live: bool = True

    @property
    def id(self) -> UUID:
        """The entry's id."""
        return self.entry.id

    @property
    def value(self) -> str | None:
        """What it asserts about its claim key."""
        claim = self.entry.claim
        return None if claim is None else claim.normalised().value

    @property
    def statement(self) -> Statement:
        """The entry as something to compare."""
        return Statement(self.entry.body_text, self.entry.claim, self.vector)  # type: ignore[arg-type]

    def independent(self) -> list[Corroboration]:
        """The sources that count."""
        return independent(self.sources)


def target(spec: MemorySpec, claim: Claim | None) -> Typology | None:
    """The persistent typology that a statement may become, if any."""
    mix = spec.typology.at(Tier.PERSISTENT)
    if claim is not None and Typology.PROCEDURAL in mix:
        policy = spec.writes_of(Tier.PERSISTENT, Typology.PROCEDURAL)
        if policy.auto_extract and _is_pattern(claim, policy.pattern_attributes):
            return Typology.PROCEDURAL
    for typology in (Typology.EPISODIC, Typology.SEMANTIC):
        if typology in mix:
            return typology
    return None


def _is_pattern(claim: Claim, attributes: Sequence[str]) -> bool:
    said = claim.normalised().attribute
    return any(said == a or said.startswith((f"{a}_", f"{a} ", f"{a}/")) for a in attributes)
