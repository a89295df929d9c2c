"""What maturing memory promises, as plain Python: evidence, gates, conflicts, decisions, undo."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from typing import Any
from uuid import UUID, uuid5

from idetic import Decision, Principal, Tier, Typology, errors
from idetic.evidence import TRANSITIONS, ContradictionStatus, Relation, SourceType
from idetic.evidence import Outcome as Disposed
from idetic.model import PrincipalKind
from tests.support.memory_model import (
    OWN,
    TRUST,
    Dispute,
    Link,
    ModelTenant,
    Noted,
    Outcome,
    Refusal,
    Standing,
    Voice,
    actor,
)

NEEDED, CONTEXTS, FAILURES, CONFIDENCE = 3, 2, 3, 0.9
ADDED = ("proposed", "compounded", "preferred")
MAY_DISPOSE = {PrincipalKind.OPERATOR: set(Disposed), PrincipalKind.AGENT: {Disposed.RECORROBORATE}}


class Refused(Exception):
    """In the middle of a decision that is then not made at all, with the error of it."""

    def __init__(self, error: Refusal) -> None:
        super().__init__()
        self.error = error


def distinct(voices: Iterable[Voice]) -> list[Voice]:
    """Each source once, as it spoke first."""
    found: dict[object, Voice] = {}
    for voice in voices:
        found.setdefault(voice.source, voice)
    return list(found.values())


def often(behind: Sequence[str]) -> int:
    """How many sources count, by who stands behind each: one principal alone is one."""
    return 1 if len(set(behind)) == 1 else len(behind)


def independent(voice: Voice) -> bool:
    """What an agent infers supports nothing."""
    return voice.kind is not SourceType.AGENT_INFERENCE


def counted(noted: Noted) -> list[Voice]:
    """The sources of an entry that count: each once, none withdrawn, more than one principal's."""
    found = distinct(v for v in noted.voices if independent(v) and not v.withdrawn)
    return found[: often([voice.by for voice in found])]


def behind(noted: Noted) -> list[Noted]:
    """What an entry was made of or confirmed by, oldest first."""
    return sorted(noted.lineage, key=lambda one: one.number)


def observed(noted: Noted) -> list[Voice]:
    """Whoever said what an entry says: what it was made of, or else itself; and its echoes."""
    heard = [one for one in behind(noted) if not one.gone and not made(one)]
    return [spoken(one) for one in ([] if made(noted) else [noted]) + heard]


def made(noted: Noted) -> bool:
    """Whether it is a copy: made of what others said, and no voice of its own."""
    return any(relation is not Relation.RECURRED for relation in noted.lineage.values())


def spoken(noted: Noted) -> Voice:
    """An observation as a source. Who made it stands in the entry, and went if that is gone."""
    who = "" if noted.gone else noted.by
    return Voice(SourceType.OBSERVATION_EVENT, noted.place, who, noted.trust, noted.session)


def same(one: Noted, other: Noted) -> bool:
    """Whether two say the same: one claim, or the same words where one of them has none."""
    if one.claim and other.claim:
        return one.claim == other.claim
    return one.text == other.text


def otherwise(one: Noted, other: Noted) -> bool:
    """Whether two claim different values of the same."""
    if one.claim is None or other.claim is None:
        return False
    return one.claim.key == other.claim.key and one.claim != other.claim


class Maturing(ModelTenant):
    """One anchor whose entries gather evidence; it knows the canonical rows of its tenant."""

    canon: Sequence[UUID] = ()

    # --- evidence -------------------------------------------------------------------------

    def corroborate(
        self, who: Principal, entry: UUID, source: UUID | None, holds: bool, key: str | None
    ) -> Outcome:
        body = ("corroborate", entry, source, holds)
        if replay := self.replay(key, body):
            return replay
        noted = self.find(entry)
        if noted is None:
            return errors.EntryNotFound
        try:
            voices, lineage = self._source(who, noted, source, holds)
        except Refused as refused:
            return refused.error
        first = len(self.links)
        if holds:
            self._confirm(noted, voices, lineage)
        else:
            for voice in voices:
                self.fail(noted, voice)
        if len(self.links) == first:
            self.link("replayed", Decision.NOOP, noted)
        return self.answer(self.links[first], key, body)

    def _source(
        self, who: Principal, noted: Noted, source: UUID | None, holds: bool
    ) -> tuple[list[Voice], list[Noted]]:
        """Who speaks, by who calls and what the source turns out to be; and who is named."""
        found = self.find(source)
        if who.kind is PrincipalKind.OPERATOR:
            if source is not None and found is None and source not in self.canon:
                raise Refused(errors.SourceRefused)
            return [self._word(who)], []
        if source is None:
            assert noted.id is not None
            drawn = uuid5(noted.id, actor(who))
            trust = TRUST[OWN[who.kind]]
            return [Voice(SourceType.AGENT_INFERENCE, drawn, actor(who), trust)], []
        if found is None or not found.live or noted in (found, *found.lineage):
            raise Refused(errors.SourceRefused)
        if not (same if holds else otherwise)(found, noted):
            raise Refused(errors.SourceRefused)
        return distinct(observed(found)), [found, *behind(found)]

    def _word(self, who: Principal) -> Voice:
        return Voice(SourceType.OPERATOR_INPUT, None, actor(who), TRUST[OWN[who.kind]])

    def _confirm(self, noted: Noted, voices: Sequence[Voice], lineage: Sequence[Noted]) -> None:
        """What has not spoken for it yet does now; an operator's word is one each time."""
        known = noted.known()
        word = SourceType.OPERATOR_INPUT
        if new := [v for v in voices if v.kind is word or v.source not in known]:
            self.support(noted, new, lineage)
            if noted.tier is Tier.PERSISTENT:
                self.weigh(noted)

    def support(self, noted: Noted, new: Sequence[Voice], lineage: Sequence[Noted] = ()) -> None:
        """Sources that speak for an entry, once named; one that counts ends a row of failures."""
        for voice in new:
            noted.voices.append(voice)
            self.link("corroborated", Decision.UPDATE, noted, voice=voice)
        if new:
            noted.came_of(lineage, Relation.RECURRED)
        if any(map(independent, new)):
            noted.failed.clear()

    def fail(self, noted: Noted, voice: Voice) -> None:
        """A source that should have confirmed an entry and did not; a weaker one says nothing."""
        told = voice.source in noted.failed
        if told or not independent(voice) or voice.trust < noted.trust:
            return
        noted.failed[voice.source] = voice.by
        self.link("corroboration_failed", Decision.NOOP, noted)
        enough = often(list(noted.failed.values())) >= FAILURES
        if noted.live and noted.typology is Typology.SEMANTIC and enough:
            self.turn(noted, "archived", {"archived_at": object()})

    # --- gates ----------------------------------------------------------------------------

    def beside(self, noted: Noted) -> list[Noted]:
        """The other live persistent entries about the same claim key."""
        claim = noted.claim
        return [
            other
            for other in self.persistent()
            if other is not noted and claim and other.claim and other.claim.key == claim.key
        ]

    def twins(self, noted: Noted) -> list[Noted]:
        return [o for o in self._standing_beside(noted) if o.claim == noted.claim]

    def _standing_beside(self, noted: Noted) -> list[Noted]:
        return [o for o in self.beside(noted) if not o.candidate and o.typology is noted.typology]

    def confidence(self, noted: Noted) -> float:
        """The rule of succession over those who say this and those who say otherwise."""
        agree = len(counted(noted))
        against = sum(len(counted(o)) for o in self.beside(noted) if o.claim != noted.claim)
        return (agree + 1) / (agree + against + 2)

    def passes(self, noted: Noted) -> bool:
        found = counted(noted)
        if noted.typology is Typology.PROCEDURAL:
            enough = self.confidence(noted) >= CONFIDENCE
        else:
            enough = len(found) >= NEEDED
        contexts = {voice.context for voice in found}
        weaker = any(
            o.trust > noted.trust and o.claim != noted.claim for o in self._standing_beside(noted)
        )
        return enough and len(contexts) >= CONTEXTS and not self.twins(noted) and not weaker

    def weigh(self, noted: Noted, *, forced: bool = False) -> None:
        """Whether a candidate becomes current, and what it replaces then."""
        if not (noted.live and noted.candidate):
            return
        if not forced and not self.passes(noted):
            self.link("held", Decision.NOOP, noted)
            return
        replaced = [o for o in self._standing_beside(noted) if o.claim != noted.claim]
        deed, now = self.deed(), object()
        changes: dict[str, object] = {"candidate": False}
        self.turn(noted, "promoted", changes | ({"valid_at": now} if replaced else {}), deed)
        for other in replaced:
            if noted.typology is Typology.SEMANTIC:
                gone = {"invalid_at": now, "invalidated_at": now}
                self.turn(other, "invalidated", gone, deed)
            else:
                self.turn(other, "superseded", {"superseded_at": now, "superseded_by": noted}, deed)

    def promote(self) -> None:
        """Every candidate whose gates pass by now; about the others nothing is said."""
        for noted in list(self.persistent()):
            if noted.live and noted.candidate and self.passes(noted):
                self.weigh(noted)

    # --- contradictions -------------------------------------------------------------------

    def contradict(self, entry: UUID, ref: UUID, known: bool, key: str | None) -> Outcome:
        body = ("contradict", entry, ref)
        if replay := self.replay(key, body):
            return replay
        noted = self.find(entry)
        if noted is None:
            return errors.EntryNotFound
        if any(d.ref == ref and TRANSITIONS[d.status] for d in noted.disputes):
            return self.answer(self.link("contradicted", Decision.NOOP, noted), key, body)
        if not known:
            return errors.ReferenceNotFound
        noted.disputes.append(Dispute(ref))
        return self.answer(self.link("contradicted", Decision.ADD, noted), key, body)

    def resolve(
        self, who: Principal, dispute: UUID, status: ContradictionStatus, key: str | None
    ) -> Outcome:
        if who.kind is not PrincipalKind.OPERATOR:
            return errors.CapabilityRefused
        body = ("resolve", dispute, status)
        if replay := self.replay(key, body):
            return replay
        for noted in self.entries:
            for found in noted.disputes:
                if found.id != dispute:
                    continue
                if status not in TRANSITIONS[found.status]:
                    return errors.TransitionRefused
                link = self._move(noted, found, (status, object()), contradiction(status))
                return self.answer(link, key, body)
        return errors.NotFound

    def _move(
        self, noted: Noted, dispute: Dispute, to: Standing, transition: str, deed: int | None = None
    ) -> Link:
        link = self.link(transition, Decision.UPDATE, noted, deed=deed)
        link.dispute, link.moved = dispute, (dispute.standing, to)
        dispute.move(to)
        return link

    # --- disposition ----------------------------------------------------------------------

    def dispose(
        self, who: Principal, entries: Sequence[UUID], outcome: Disposed
    ) -> list[Noted] | Refusal:
        """All of them or none; gives the entries decided about."""
        if outcome not in MAY_DISPOSE[who.kind]:
            return errors.CapabilityRefused
        found = [self.find(entry) for entry in dict.fromkeys(entries)]
        chosen = [noted for noted in found if noted is not None]
        if len(chosen) < len(found):
            return errors.EntryNotFound
        before = copy(self.links), [(n, _kept(n)) for n in self.entries]
        try:
            for noted in chosen:
                self._dispose(who, noted, outcome)
        except Refused as refused:
            self.links = before[0]
            for noted, kept in before[1]:
                vars(noted).update(kept)
            return refused.error
        return chosen

    def _dispose(self, who: Principal, noted: Noted, outcome: Disposed) -> None:
        if not noted.live or noted.tier is not Tier.PERSISTENT:
            raise Refused(errors.TransitionRefused)
        if outcome is Disposed.ARCHIVE:
            self.turn(noted, "archived", {"archived_at": object()})
        elif outcome is Disposed.EXEMPT:
            self.turn(noted, "exempted", {"exempt_at": object()})
        else:
            if outcome is Disposed.PROMOTE:
                if not noted.candidate or self.twins(noted):
                    raise Refused(errors.TransitionRefused)
                self.weigh(noted, forced=True)
            if who.kind is not PrincipalKind.OPERATOR:
                raise Refused(errors.CapabilityRefused)
            self.support(noted, [self._word(who)])

    # --- undo -----------------------------------------------------------------------------

    def undo(self, who: Principal, position: int, key: str | None) -> Outcome:
        if who.kind is not PrincipalKind.OPERATOR:
            return errors.CapabilityRefused
        body = ("undo", position)
        if replay := self.replay(key, body):
            return replay
        if position > len(self.links):
            return errors.NotFound
        deed = self.links[position - 1].deed
        links = [
            link
            for link in reversed(self.links)
            if link.deed == deed and link.entry and link.decision not in ("NOOP", "REJECT")
        ]
        if not links or not all(map(undoable, links)) or self._would_clash(links):
            return errors.TransitionRefused
        again = self.deed()
        first = len(self.links)
        for link in links:
            self._put_back(link, again)
        return self.answer(self.links[first], key, body)

    def _put_back(self, link: Link, deed: int) -> None:
        noted = link.entry
        assert noted is not None
        if link.dispute is not None and link.moved is not None:
            self._move(noted, link.dispute, link.moved[0], "undone", deed)
            return
        noted.failed.clear()
        if link.voice is not None:
            link.voice.withdrawn = True
            self.link("undone", Decision.UPDATE, noted, deed=deed)
        else:
            self.turn(noted, "undone", _changes(link), deed)

    def _would_clash(self, links: Sequence[Link]) -> bool:
        """Whether two statements of one claim would stand beside each other afterwards."""
        touched = {link.entry: dict(link.entry.columns) for link in links if link.entry}
        for link in links:
            if link.entry and link.voice is None and link.dispute is None:
                link.entry.columns.update(_changes(link))
        clash = any(
            noted.live
            and not noted.candidate
            and noted.tier is Tier.PERSISTENT
            and self._standing_beside(noted)
            for noted in touched
        )
        for noted, columns in touched.items():
            noted.columns = columns
        return clash


def _changes(link: Link) -> dict[str, object]:
    return {"archived_at": object()} if link.was is None else dict(link.was)


def undoable(link: Link) -> bool:
    """Whether an entry still stands as a decision left it, and the decision is of a kind that
    changes states or evidence; what went or stayed with its scope never comes back.
    """
    noted = link.entry
    assert noted is not None
    if noted.gone or noted.standing != link.state_to or link.transition == "kept":
        return False
    if link.moved is not None:
        return _movable(link, noted.disputes)
    if link.voice is not None:
        return not link.voice.withdrawn
    if link.was is None:
        return link.transition in ADDED
    return all(noted.columns.get(column) == value for column, value in link.put.items())


def _movable(link: Link, disputes: Sequence[Dispute]) -> bool:
    """A contradiction goes back if it stands as it was left, to what it stood by before: that is
    open, of what was surfaced, or else what it remembers. And none is in the queue twice.
    """
    dispute, moved = link.dispute, link.moved
    assert dispute is not None
    assert moved is not None
    (before, _), left = moved
    known = before is ContradictionStatus.OPEN and left[0] is ContradictionStatus.SURFACED
    again = any(
        other is not dispute and other.ref == dispute.ref and TRANSITIONS[other.status]
        for other in disputes
    )
    return (
        dispute.standing == left
        and (known or dispute.previous == moved[0])
        and not (again and TRANSITIONS[before])
    )


def contradiction(status: ContradictionStatus) -> str:
    """The transition by which a contradiction came to be in a status."""
    return f"contradiction_{status.value}"


def _kept(noted: Noted) -> dict[str, Any]:
    """What a decision may change of an entry, as it is now."""
    names = ("columns", "voices", "failed", "history")
    return {name: copy(getattr(noted, name)) for name in names}
