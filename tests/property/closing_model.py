"""What the end of a scope promises, as plain Python: compound, promote, let go, exactly once."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from uuid import UUID

from idetic import Claim, Decision, Tier, Typology, errors
from idetic.evidence import SourceType
from tests.property.maturing_model import Maturing
from tests.support.memory_model import Noted, Refusal, Scoped, Source, Voice

LEASE = timedelta(minutes=60)


@dataclass
class Heard:
    """One statement that a session leaves: the entries that make it, and who said so."""

    members: Sequence[Noted]
    sources: dict[Source, Voice]

    @property
    def leader(self) -> Noted:
        return next((m for m in self.members if m.claim), self.members[0])

    @property
    def trust(self) -> int:
        """The weakest of everything behind it: copies, what they were made of, echoes."""
        behind = [n for m in self.members for n in (m, *m.made_of, *m.echoes)]
        return min(noted.trust for noted in behind)


class ClosingTenant(Maturing):
    """One anchor whose scopes end."""

    def close(self, scope: UUID) -> None:
        """Closing a session closes its interactions first; closing twice is fine."""
        scoped = self.scopes[scope]
        if not scoped.open:
            self.link(f"{scoped.tier.value}_closed", Decision.NOOP)
        elif scoped.tier is Tier.INTERACTION:
            self._end_interaction(scoped)
        else:
            for inner in list(self.scopes.values()):
                if inner.session == scope and inner.tier is Tier.INTERACTION and inner.open:
                    self._end_interaction(inner)
            self._promote(scoped)
            self._drop(n for n in self.entries if n.session == scope)
            self._end(scoped)

    def recover(self) -> list[UUID]:
        """Close what nobody closed: silent sessions first, then silent interactions of others."""
        since = self.clock.now() - LEASE
        silent = [s for s in self.scopes.values() if s.open and self._silent(s, since)]
        silent.sort(key=lambda s: s.opened)
        sessions = [s.id for s in silent if s.tier is Tier.SESSION]
        inner = [s.id for s in silent if s.tier is Tier.INTERACTION and s.session not in sessions]
        for scope in (*sessions, *inner):
            self.close(scope)
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

    def _end_interaction(self, scoped: Scoped) -> None:
        there = self._said(Tier.SESSION, scoped.session)
        mine = [n for n in self._said(Tier.INTERACTION, scoped.session) if n.place == scoped.id]
        for group in _groups([*there, *mine]):
            new = [n for n in group if n.tier is Tier.INTERACTION]
            claimed = any(n.claim for n in new)
            old = [n for n in group if n.tier is Tier.SESSION and (n.claim or not claimed)]
            if new and old:
                old[0].echoes += new
                self.link("recurred", Decision.NOOP, old[0])
            elif new:
                self._carry(new, scoped.session)
        self._drop(n for n in self.entries if n.interaction == scoped.id)
        self._end(scoped)

    def _carry(self, new: list[Noted], session: UUID) -> None:
        leader = next((n for n in new if n.claim), new[0])
        noted = Noted(
            leader.text, Tier.SESSION, Typology.EPISODIC, session, None, leader.claim,
            min(n.trust for n in new), self.clock.now(), any(n.referring for n in new),
            made_of=new,
        )  # fmt: skip
        self.enter(noted, "compounded")

    def _promote(self, scoped: Scoped) -> None:
        heard = [self._heard(group) for group in _groups(self._said(Tier.SESSION, scoped.id))]
        # What each plain statement repeats is known before anything is decided.
        matches = [self._repeated(one) for one in heard]
        for one, match in zip(heard, matches, strict=True):
            if match is None or not match.live:
                match = self._claimed(one.leader.claim)  # noqa: PLW2901 - as it stands by now
            if match is None:
                match = self._propose(one)  # noqa: PLW2901
            else:
                new = {s: v for s, v in one.sources.items() if s not in match.sources}
                self.support(match, new)
                if not new:
                    self.link("replayed", Decision.NOOP, match)
            if match is not None:
                self.weigh(match)
            self._speak_against(one)

    def _heard(self, members: list[Noted]) -> Heard:
        sources: dict[Source, Voice] = {}
        for member in members:
            for said in (*(member.made_of or [member]), *member.echoes):
                assert said.session is not None
                seen = (SourceType.OBSERVATION_EVENT, said.place)
                sources.setdefault(seen, Voice(said.session, said.trust))
            for source, voice in member.sources.items():
                if not voice.withdrawn:
                    sources.setdefault(source, replace(voice))
        return Heard(members, sources)

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

    def _propose(self, heard: Heard) -> Noted | None:
        """A candidate, if there is a ground: a claim, a reference, or that it was said twice."""
        leader = heard.leader
        referring = any(member.referring for member in heard.members)
        if not (leader.claim or referring or len(heard.sources) > 1):
            return None
        pattern = leader.claim is not None and leader.claim.attribute == "prefers"
        noted = Noted(
            leader.text, Tier.PERSISTENT, Typology.PROCEDURAL if pattern else Typology.SEMANTIC,
            None, None, leader.claim, heard.trust, self.clock.now(), referring,
            columns={"candidate": True},
        )  # fmt: skip
        self.enter(noted, "proposed")
        self.support(noted, {s: replace(v) for s, v in heard.sources.items()})
        return noted

    def _speak_against(self, heard: Heard) -> None:
        claim = heard.leader.claim
        for other in list(self.persistent()):
            if claim is None or other.claim is None or other.claim.key != claim.key:
                continue
            settled = other.typology is Typology.SEMANTIC and not other.candidate
            if settled and other.claim != claim:
                for source, voice in heard.sources.items():
                    self.fail(other, source, voice)

    def _said(self, tier: Tier, session: UUID) -> list[Noted]:
        return [n for n in self.entries if n.live and n.tier is tier and n.session == session]

    def _drop(self, entries: Iterable[Noted]) -> None:
        """Transient entries go with their scope, unless something rests on them."""
        going = [n for n in entries if n.tier is not Tier.PERSISTENT and not n.gone and not n.rests]
        deed = self.deed()
        for noted in going:
            noted.gone = True
            self.link("dropped", Decision.DELETE, noted, deed=deed)

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
