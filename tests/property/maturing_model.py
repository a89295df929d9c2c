"""What maturing memory promises, as plain Python: evidence, gates, conflicts, decisions, undo."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from copy import copy
from typing import Any
from uuid import UUID, uuid4

from idetic import Decision, Tier, Typology, errors
from idetic.evidence import TRANSITIONS, ContradictionStatus, SourceType
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
    Source,
    Standing,
    Voice,
)

NEEDED, CONTEXTS, FAILURES, CONFIDENCE = 3, 2, 3, 0.9
ADDED = ("proposed", "compounded", "preferred")
MAY_DISPOSE = {PrincipalKind.OPERATOR: set(Disposed), PrincipalKind.AGENT: {Disposed.RECORROBORATE}}


class Refused(Exception):
    """In the middle of a decision that is then not made at all."""


def independent(sources: Iterable[Source]) -> list[Source]:
    """What an agent infers supports nothing."""
    return [source for source in sources if source[0] is not SourceType.AGENT_INFERENCE]


def counted(noted: Noted) -> list[Source]:
    """The sources of an entry that count: each once, none withdrawn."""
    return independent(s for s, voice in noted.sources.items() if not voice.withdrawn)


class Maturing(ModelTenant):
    """One anchor whose entries gather evidence."""

    # --- evidence -------------------------------------------------------------------------

    def corroborate(
        self, kind: PrincipalKind, entry: UUID, source: Source, holds: bool, key: str | None
    ) -> Outcome:
        body = ("corroborate", entry, source, holds)
        if replay := self.replay(key, body):
            return replay
        noted = self.find(entry)
        if noted is None:
            return errors.EntryNotFound
        first, voice = len(self.links), Voice(source[1], TRUST[OWN[kind]])
        if not holds:
            self.fail(noted, source, voice)
        elif source not in noted.sources:
            self.support(noted, {source: voice})
            self.weigh(noted)
        if len(self.links) == first:
            self.link("replayed", Decision.NOOP, noted)
        return self.answer(self.links[first], key, body)

    def support(self, noted: Noted, new: dict[Source, Voice]) -> None:
        """Sources that had not spoken for an entry yet; one that counts ends a row of failures."""
        for source, voice in new.items():
            noted.sources[source] = voice
            self.link("corroborated", Decision.UPDATE, noted, source=source)
        if independent(new):
            noted.failed.clear()

    def fail(self, noted: Noted, source: Source, voice: Voice) -> None:
        """A source that should have confirmed an entry and did not; a weaker one says nothing."""
        if source in noted.failed or not independent([source]) or voice.trust < noted.trust:
            return
        noted.failed.add(source)
        self.link("corroboration_failed", Decision.NOOP, noted)
        if noted.live and noted.typology is Typology.SEMANTIC and len(noted.failed) >= FAILURES:
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
        contexts = {noted.sources[source].context for source in found}
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
        self, kind: PrincipalKind, dispute: UUID, status: ContradictionStatus, key: str | None
    ) -> Outcome:
        if kind is not PrincipalKind.OPERATOR:
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
        self, kind: PrincipalKind, entries: Sequence[UUID], outcome: Disposed
    ) -> list[Noted] | Refusal:
        """All of them or none; gives the entries decided about."""
        if outcome not in MAY_DISPOSE[kind]:
            return errors.CapabilityRefused
        found = [self.find(entry) for entry in dict.fromkeys(entries)]
        chosen = [noted for noted in found if noted is not None]
        if len(chosen) < len(found):
            return errors.EntryNotFound
        before = copy(self.links), [(n, _kept(n)) for n in self.entries]
        try:
            for noted in chosen:
                self._dispose(kind, noted, outcome)
        except Refused:
            self.links = before[0]
            for noted, kept in before[1]:
                vars(noted).update(kept)
            return errors.TransitionRefused
        return chosen

    def _dispose(self, kind: PrincipalKind, noted: Noted, outcome: Disposed) -> None:
        if not noted.live or noted.tier is not Tier.PERSISTENT:
            raise Refused
        if outcome is Disposed.ARCHIVE:
            self.turn(noted, "archived", {"archived_at": object()})
        elif outcome is Disposed.EXEMPT:
            self.turn(noted, "exempted", {"exempt_at": object()})
        else:
            if outcome is Disposed.PROMOTE:
                if not noted.candidate or self.twins(noted):
                    raise Refused
                self.weigh(noted, forced=True)
            word = uuid4()  # an operator's word has no id that anybody could repeat
            self.support(noted, {(SourceType.OPERATOR_INPUT, word): Voice(word, TRUST[OWN[kind]])})

    # --- undo -----------------------------------------------------------------------------

    def undo(self, kind: PrincipalKind, position: int, key: str | None) -> Outcome:
        if kind is not PrincipalKind.OPERATOR:
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
        if link.source is not None:
            noted.sources[link.source].withdrawn = True
            self.link("undone", Decision.UPDATE, noted, deed=deed)
        else:
            self.turn(noted, "undone", _changes(link), deed)

    def _would_clash(self, links: Sequence[Link]) -> bool:
        """Whether two statements of one claim would stand beside each other afterwards."""
        touched = {link.entry: dict(link.entry.columns) for link in links if link.entry}
        for link in links:
            if link.entry and link.source is None and link.dispute is None:
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
    changes states or evidence; what went with its scope never comes back.
    """
    noted = link.entry
    assert noted is not None
    if noted.gone or noted.standing != link.state_to:
        return False
    if link.moved is not None:
        return _movable(link, noted.disputes)
    if link.source is not None:
        return not noted.sources[link.source].withdrawn
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
    names = ("columns", "sources", "failed", "history")
    return {name: copy(getattr(noted, name)) for name in names}
