"""What the end of a scope promises, as plain Python: compound, promote, let go, exactly once."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from idetic import Claim, Decision, Principal, Tier, Typology, errors
from idetic.evidence import Relation
from idetic.model import PrincipalKind
from tests.property.maturing_model import Maturing, behind, distinct, observed
from tests.support.memory_model import Noted, Refusal, Scoped, Voice, actor

LEASE = timedelta(minutes=60)


@dataclass
class Heard:
    """One statement that a session leaves: the entries that make it, and who said so."""

    members: Sequence[Noted]
    voices: Sequence[Voice]

    @property
    def leader(self) -> Noted:
        return next((m for m in self.members if m.claim), self.members[0])

    @property
    def trust(self) -> int:
        """The weakest of everything behind it."""
        return min(noted.trust for noted in self.lineage)

    @property
    def lineage(self) -> list[Noted]:
        """Everything behind it: copies, what they were made of, echoes."""
        return list(dict.fromkeys(n for m in self.members for n in (m, *behind(m))))


class ClosingTenant(Maturing):
    """One anchor whose scopes end."""

    def close(self, who: Principal, scope: UUID) -> Refusal | None:
        """Closing a session closes its interactions first; closing twice is fine.

        An agent ends what it began, or what stands in a session that it began.
        """
        scoped = self.scopes[scope]
        openers = {scoped.by, self.scopes[scoped.session].by}
        if who.kind is PrincipalKind.AGENT and actor(who) not in openers:
            return errors.CapabilityRefused
        if not scoped.open:
            self.link(f"{scoped.tier.value}_closed", Decision.NOOP)
        elif scoped.tier is Tier.INTERACTION:
            self._end_interaction(who, scoped)
        else:
            for inner in list(self.scopes.values()):
                if inner.session == scope and inner.tier is Tier.INTERACTION and inner.open:
                    self._end_interaction(who, inner)
            self._end_session(who, scoped)
        return None

    def recover(self, who: Principal) -> list[UUID]:
        """Close what nobody closed: silent sessions first, then silent interactions of others."""
        since = self.clock.now() - LEASE
        silent = [s for s in self.scopes.values() if s.open and self._silent(s, since)]
        silent.sort(key=lambda s: s.opened)
        sessions = [s.id for s in silent if s.tier is Tier.SESSION]
        inner = [s.id for s in silent if s.tier is Tier.INTERACTION and s.session not in sessions]
        for scope in (*sessions, *inner):
            self.close(who, scope)
        return [*sessions, *inner]

    def renew(self, place: Scoped) -> Refusal | None:
        """What is still open is renewed, also when the rest is closed already."""
        wanted = {place.id, place.session}
        for scope in wanted:
            if self.scopes[scope].open:
                self.scopes[scope].renewed = self.clock.now()
        return None if self.is_open(place) else errors.ScopeClosed

    # --- how it decides -------------------------------------------------------------------

    def _silent(self, scoped: Scoped, since: datetime) -> bool:
        inside = [s for s in self.scopes.values() if scoped.id in (s.id, s.session)]
        written = [
            n
            for n in self.entries
            if not n.gone and scoped.id in (n.session, n.interaction) and n.created >= since
        ]
        return not written and all(max(s.opened, s.renewed) < since for s in inside)

    def _end_interaction(self, who: Principal, scoped: Scoped) -> None:
        there = self._said(Tier.SESSION, scoped.session)
        mine = [n for n in self._said(Tier.INTERACTION, scoped.session) if n.place == scoped.id]
        resting, bearing, into = self._resting(), self._bearing(), list[Noted]()
        for group in _groups([*there, *mine]):
            new = [n for n in group if n.tier is Tier.INTERACTION]
            claimed = any(n.claim for n in new)
            old = [n for n in group if n.tier is Tier.SESSION and (n.claim or not claimed)]
            if new and old:
                old[0].came_of(new, Relation.RECURRED)
                self.link("recurred", Decision.NOOP, old[0])
            elif new:
                self._carry(who, new, scoped.session)
            into += new
        own = [n for n in self.entries if n.interaction == scoped.id]
        self._part(own, resting, {*resting, *bearing, *into})
        self._end(scoped)

    def _end_session(self, who: Principal, scoped: Scoped) -> None:
        """Whatever went into something stays, with what it was itself made of."""
        resting, bearing = self._resting(), self._bearing()
        into = self._promote(who, scoped)
        own = [n for n in self.entries if n.session == scoped.id]
        kept = {n for n in own if n in resting or n in bearing} | into
        kept |= {source for n in kept if n in own for source in n.lineage}
        self._part(own, resting, kept)
        self._end(scoped)

    def _resting(self) -> set[Noted]:
        """What an action or a dispute is about when an end begins."""
        return {n for n in self.entries if n.rests}

    def _bearing(self) -> set[Noted]:
        """What persistent memory was made of when an end begins, and not by that end."""
        return {n for n in self.entries if n.bears}

    def _carry(self, who: Principal, new: list[Noted], session: UUID) -> None:
        leader = next((n for n in new if n.claim), new[0])
        noted = Noted(
            leader.text, Tier.SESSION, Typology.EPISODIC, session, None, leader.claim,
            min(n.trust for n in new), self.clock.now(), actor(who), any(n.referring for n in new),
        )  # fmt: skip
        noted.came_of(new, Relation.COMPOUNDED)
        self.enter(noted, "compounded")

    def _promote(self, who: Principal, scoped: Scoped) -> set[Noted]:
        """Each statement meets persistent memory; gives what went into something there."""
        into: set[Noted] = set()
        heard = [self._heard(group) for group in _groups(self._said(Tier.SESSION, scoped.id))]
        # What each plain statement repeats is known before anything is decided.
        matches = [self._repeated(one) for one in heard]
        for one, match in zip(heard, matches, strict=True):
            if match is None or not match.live:
                match = self._claimed(one.leader.claim)  # noqa: PLW2901 - as it stands by now
            if match is None:
                match = self._propose(who, one)  # noqa: PLW2901
            else:
                known = match.known()
                new = [voice for voice in one.voices if voice.source not in known]
                self.support(match, new, one.lineage)
                if not new:
                    self.link("replayed", Decision.NOOP, match)
            if match is not None:
                into.update(one.lineage)
                self.weigh(match)
            self._speak_against(one)
        return into

    def _heard(self, members: list[Noted]) -> Heard:
        """What an entry brings along comes after those who said it; nothing withdrawn does."""
        voices: list[Voice] = []
        for member in members:
            voices += observed(member)
            voices += [replace(voice) for voice in member.voices if not voice.withdrawn]
        return Heard(members, distinct(voices))

    def _repeated(self, heard: Heard) -> Noted | None:
        """For a statement without a claim: the oldest fact with the same words."""
        text = heard.leader.text
        if heard.leader.claim:
            return None
        facts = (n for n in self.persistent() if n.typology is Typology.SEMANTIC)
        return next((n for n in facts if n.text == text), None)

    def _claimed(self, claim: Claim | None) -> Noted | None:
        """For a claim: who makes it already, a settled one before a candidate."""
        same = [n for n in self.persistent() if claim and n.claim == claim]
        return min(same, key=lambda n: n.candidate, default=None)

    def _propose(self, who: Principal, heard: Heard) -> Noted | None:
        """A candidate, if there is a ground: a claim, a reference, or that it was said twice."""
        leader = heard.leader
        referring = any(member.referring for member in heard.members)
        if not (leader.claim or referring or len(heard.voices) > 1):
            return None
        pattern = leader.claim is not None and leader.claim.attribute == "prefers"
        noted = Noted(
            leader.text, Tier.PERSISTENT, Typology.PROCEDURAL if pattern else Typology.SEMANTIC,
            None, None, leader.claim, heard.trust, self.clock.now(), actor(who),
            referring, columns={"candidate": True},
        )  # fmt: skip
        self.enter(noted, "proposed")
        noted.came_of(heard.lineage, Relation.PROMOTED)
        self.support(noted, heard.voices)
        return noted

    def _speak_against(self, heard: Heard) -> None:
        claim = heard.leader.claim
        for other in list(self.persistent()):
            if claim is None or other.claim is None or other.claim.key != claim.key:
                continue
            settled = other.typology is Typology.SEMANTIC and not other.candidate
            if settled and other.claim != claim:
                for voice in heard.voices:
                    self.fail(other, voice)

    def _said(self, tier: Tier, session: UUID) -> list[Noted]:
        return [n for n in self.entries if n.live and n.tier is tier and n.session == session]

    def _part(
        self, entries: Iterable[Noted], resting: Collection[Noted], kept: Collection[Noted]
    ) -> None:
        """Transient entries go with their scope, or stay as evidence of what was made of them.

        What an action or a contradiction is about stays as it is.
        """
        left = [
            n for n in entries if n.tier is not Tier.PERSISTENT and not n.gone and n not in resting
        ]
        deed = self.deed()
        for noted in (n for n in left if n not in kept):
            noted.gone = True
            self.link("dropped", Decision.DELETE, noted, deed=deed)
        deed, now = self.deed(), object()
        for noted in (n for n in left if n in kept and n.live):
            self.turn(noted, "kept", {"archived_at": now}, deed)

    def _end(self, scoped: Scoped) -> None:
        scoped.open = False
        self.link(f"{scoped.tier.value}_closed", Decision.UPDATE)


def _groups(members: Sequence[Noted]) -> list[list[Noted]]:
    """Those that say the same: one claim, whatever its words; without a claim, the same words.

    Words that stand under exactly one claim belong to it.
    """
    claims: dict[str, set[Claim]] = {}
    for noted in members:
        if noted.claim:
            claims.setdefault(noted.text, set()).add(noted.claim)
    found: dict[Claim | str, list[Noted]] = {}
    for noted in members:
        made = claims.get(noted.text, set())
        alone = next(iter(made)) if len(made) == 1 else noted.text
        found.setdefault(noted.claim or alone, []).append(noted)
    return list(found.values())
