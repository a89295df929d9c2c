"""What a pass has to know about persistent memory before it decides, read while it is held."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from idetic.evidence import Corroboration, Relation
from idetic.lifecycle.compounding import groups, statement
from idetic.lifecycle.sameness import Verdict, compare
from idetic.lifecycle.sources import Sources, flattened, observed
from idetic.lifecycle.subject import Heard, Subject
from idetic.model import EntryState, Tier, Typology
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.typology import PromotionPolicy
from idetic.store.held import Held
from idetic.store.known import Known


@dataclass(slots=True)
class Reader:
    """Reads statements and subjects of one held anchor."""

    spec: MemorySpec
    held: Held
    profile_id: UUID | None

    async def heard(self, session_id: UUID, by: str) -> list[Heard]:
        """The statements that a session leaves, each with everybody who made it."""
        members = await self.held.known("in_session", session_id=session_id)
        ids = [member.id for member in members]
        lineage = await self.held.lineage(ids)
        supported = await self.held.corroborations(ids)
        found = []
        for typology in self.spec.typology.at(Tier.SESSION):
            mine = [member for member in members if member.entry.typology is typology]
            for numbers in groups(self.spec, mine, Tier.SESSION, typology):
                same = [mine[n] for n in numbers]
                sources = Sources()
                for member in same:
                    sources.observe(observed(member, lineage), self.held.at, by)
                    sources.carry(supported.get(member.id, ()))
                found.append(Heard(same, flattened(same, lineage, Relation.PROMOTED), sources))
        return found

    async def about(
        self, heard: Sequence[Heard], matches: Mapping[int, Subject]
    ) -> dict[tuple[str, str], list[Subject]]:
        """The persistent entries that speak about the same claim keys; one subject for each."""
        matched = {one.id: one for one in matches.values()}
        claims = [*(one.claim for one in heard), *(one.entry.claim for one in matched.values())]
        keys = sorted({claim.key for claim in claims if claim is not None})
        if not keys:
            return {}
        subjects, attributes = map(list, zip(*keys, strict=True))
        known = await self.held.known("claimed", subjects=subjects, attributes=attributes)
        found: dict[tuple[str, str], list[Subject]] = {}
        for subject in await self.subjects(known):
            claim = subject.entry.claim
            if claim is not None:
                found.setdefault(claim.key, []).append(matched.get(subject.id, subject))
        return found

    async def subjects(self, known: Sequence[Known]) -> list[Subject]:
        """Persistent entries with the evidence about them."""
        ids = [one.id for one in known]
        failures = await self.held.failures(ids)
        supported = await self._supported(ids)
        return [
            Subject(
                one.entry,
                supported.get(one.id, []),
                failures.get(one.id, set()),
                one.vector,
                live=one.entry.state is EntryState.CURRENT,
            )
            for one in known
        ]

    async def beside(self, subject: Subject) -> list[Subject]:
        """A persistent entry among those that speak about the same claim key."""
        claim = subject.entry.claim
        if claim is None:
            return []
        about, attribute = claim.key
        known = await self.held.known("claimed", subjects=[about], attributes=[attribute])
        return [subject, *await self.subjects([one for one in known if one.id != subject.id])]

    async def _supported(self, ids: Sequence[UUID]) -> dict[UUID, list[Corroboration]]:
        if self.spec.references.corroborations:
            return await self.held.corroborations(ids)
        # A family without the junction: its lineage says who spoke.
        found: dict[UUID, list[Corroboration]] = {}
        for memory_id, rows in (await self.held.lineage(ids)).items():
            sources = Sources()
            # What threads compounded into is named beside them, and is no voice of its own.
            heard = {row.session_id for row in rows if row.interaction_id}
            voices = [r for r in rows if r.interaction_id or r.session_id not in heard]
            sources.observe(voices, self.held.at, "")
            found[memory_id] = list(sources)
        return found

    async def matches(
        self, heard: Sequence[Heard], typology: Typology, policy: PromotionPolicy
    ) -> dict[int, Subject]:
        """For statements without a claim: the persistent entry that says the same, by number."""
        plain = [(n, one) for n, one in enumerate(heard) if one.claim is None]
        near = await self._near(plain, typology)
        wanted = {memory_id for found in near.values() for memory_id, _ in found}
        known = {one.id: one for one in await self._named(wanted, typology)}
        subjects = {one.id: one for one in await self.subjects(list(known.values()))}
        matched: dict[int, Subject] = {}
        for number, one in plain:
            mine = statement(one.members[0])
            # The oldest of those that are equally near, so that the choice is always the same.
            for memory_id, _ in sorted(near.get(number, ()), key=lambda one: (-one[1], one[0])):
                other = subjects.get(memory_id)
                if other and compare(mine, other.statement, policy).verdict is Verdict.SAME:
                    matched[number] = other
                    break
        return matched

    async def _near(
        self, plain: Sequence[tuple[int, Heard]], typology: Typology
    ) -> dict[int, list[tuple[UUID, float]]]:
        """By vector where there is one; by its words where there is none."""
        vectors = [(n, v) for n, one in plain if (v := one.members[0].vector) is not None]
        texts = [(n, one.leader.body_text) for n, one in plain if one.members[0].vector is None]
        if self.profile_id is None:
            texts, vectors = [(n, one.leader.body_text) for n, one in plain], []
        found = await self.held.alike(texts)
        if vectors and self.profile_id is not None:
            found |= await self.held.near(vectors, self.profile_id, typology)
        return found

    async def _named(self, ids: Iterable[UUID], typology: Typology) -> list[Known]:
        wanted = list(ids)
        if not wanted:
            return []
        found = await self.held.known("named", ids=wanted)
        return [
            one
            for one in found
            if one.entry.typology is typology and one.entry.state.value == "current"
        ]
