"""The rules of the state machine that write, read, and begin and end scopes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from typing import Any
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.stateful import multiple, precondition, rule

from idetic import Claim, Observation, Origin, Principal, Rule, errors
from idetic.evidence import Closed
from idetic.model import PrincipalKind
from tests.conftest import RULE_TEXT
from tests.property.machine import (
    ADA,
    AGENTS,
    OPERATORS,
    UPKEEP,
    Ground,
    Handle,
    abroad,
    anchors,
    keys,
    own,
    people,
    picks,
)
from tests.support.memory_model import Expected, Said


def limit(value: str) -> Claim:
    return Claim("limit", "value", value)


def style(value: str) -> Claim:
    return Claim("output", "prefers", value)


# Few, so that most of them meet an earlier one. No two of them have the same words.
SAID = [
    Said("Fridays are short."),
    Said("The desk opens at nine.", referring=True),
    Said("The limit is five.", limit("5")),
    Said("The limit is five."),
    Said("We agreed on five.", limit("5")),
    Said("It was six at noon.", limit("6")),
    Said("Brief answers, please.", style("brief")),
    Said("Write more than that.", style("full")),
    Said(RULE_TEXT.replace("ten thousand", "10 thousand"), restates=True),
]
FROM = [None, None, None, Origin.TOOL, Origin.EXTERNAL]

said = st.sampled_from([replace(one, heard_from=origin) for one in SAID for origin in FROM])
stated = st.sampled_from([Said("Ask twice."), SAID[2], *SAID[5:]])
threads = st.lists(st.lists(said, min_size=1, max_size=3), min_size=1, max_size=3)
FIVE, SIX, BRIEF, FULL = SAID[2], SAID[5], SAID[6], SAID[7]
# What people agree on, one after the other: one thing, or first one value and then the other.
agreed = st.sampled_from([*([one] for one in SAID if one.claim), [FIVE, SIX], [SIX, FIVE]])
turns = st.sampled_from(["archive", "exempt"])
reasons = st.sampled_from(["obsolete", "house rule"])
# Fixed, so that the same one is named again and shrinking is stable.
actions = st.sampled_from([UUID(int=1), UUID(int=2)])


class WritingRules(Ground):
    """The verbs of every place."""

    sessions, interactions, places = Ground.sessions, Ground.interactions, Ground.places

    # --- time, scopes ---------------------------------------------------------------------

    @precondition(lambda self: self.steps > 15)  # rarely: every handle dies with it
    @rule()
    def reopen_the_database(self) -> None:
        self.steps = 0
        self.reopen()

    @rule(target=sessions, number=anchors, who=people, known=st.none() | sessions)
    def open_session(self, number: int, who: Principal, known: Handle | None) -> Handle:
        """A new one, or a known one by its id: perhaps another's, perhaps after its end."""
        if known is None:
            return self.session(number, who)
        return self.session(known.anchor, who, known.scoped.id)

    @rule(target=interactions, within=sessions)
    def open_interaction(self, within: Handle) -> Any:
        opened = self.interaction(within)
        return multiple() if opened is None else opened

    def interaction(self, within: Handle) -> Handle | None:
        interaction = within.target.interaction()
        model, scope = self.models[within.anchor], interaction.id
        if within.opening != self.opening:
            self.refused(errors.DatabaseClosed, interaction.__enter__)
        elif refusal := model.open(scope, within.scoped.id, within.who):
            self.refused(refusal, interaction.__enter__)
        else:
            opened = interaction.__enter__()
            return Handle(within.anchor, within.who, opened, model.scopes[scope], self.opening)
        return None

    @rule(handle=places)
    def close(self, handle: Handle) -> None:
        """Once, twice, or what the end of the session closed already."""
        if handle.opening != self.opening:
            self.refused(errors.DatabaseClosed, handle.target.close)
        else:
            self._close(handle)

    def _close(self, handle: Handle) -> None:
        first = len(self.models[handle.anchor].links)
        if refusal := self.models[handle.anchor].close(handle.who, handle.scoped.id):
            self.refused(refusal, handle.target.close)
            return
        closed = handle.target.close()
        handle.closed = True
        self.follow(handle.anchor)
        self._closed(handle.anchor, first, [closed])

    @rule(number=anchors, minutes=st.sampled_from([1, 20, 61]))
    def time_passes_and_the_abandoned_are_closed(self, number: int, minutes: int) -> None:
        """Whatever was silent for an hour is closed, once, and nothing else is."""
        self.clock.advance(minutes=minutes)
        first = len(self.models[number].links)
        ended = self.models[number].recover(UPKEEP)
        closed = self.memories[number, UPKEEP].recover()
        assert len(closed) == len(ended)
        self.met["recovered"] += len(ended)
        self.follow(number)
        self._closed(number, first, closed)
        asked = self.memories[number, ADA].recover
        self.refused(errors.CapabilityRefused, asked)

    def _closed(self, number: int, first: int, closed: list[Closed]) -> None:
        """The answer tells every decision that the ledger does, but for the ends themselves."""
        links = self.models[number].links[first:]
        ends = {link.position for link in links if link.transition.endswith("_closed")}
        told = [one.transition for each in closed for one in each.decided]
        assert told == [link.transition for link in links if link.position not in ends]
        assert {each.receipt.position for each in closed} <= ends

    @rule(place=places)
    def renew(self, place: Handle) -> None:
        refusal = self.dead(place) or self.models[place.anchor].renew(place.scoped)
        if refusal:
            self.refused(refusal, place.target.renew)
        else:
            place.target.renew()

    @rule(number=anchors, who=people, threads=threads, proper=st.sampled_from([True, True, False]))
    def converse(
        self, number: int, who: Principal, threads: list[list[Said]], proper: bool
    ) -> None:
        """A session from its beginning to its end; not proper is one that leaves threads open."""
        session = self.session(number, who)
        for batch in threads:
            thread = self.interaction(session)
            assert thread is not None
            self._observe_many(thread, batch, None)
            if proper:
                self._close(thread)
        self._close(session)

    @rule(
        number=anchors, values=agreed, again=st.sampled_from([1, 2, 2, 4]), first=st.integers(0, 4),
        team=st.sampled_from([AGENTS, AGENTS, OPERATORS, AGENTS[:1]]),
    )  # fmt: skip
    def agree(
        self, number: int, values: Sequence[Said], again: int, first: int, team: Sequence[Principal]
    ) -> None:
        """Each claim from two threads a session, by a team in turn: in two sessions a fact, in four
        a pattern; by one principal alone neither.
        """
        for said in values:
            for turn in range(first, first + again):
                session = self.session(number, team[turn % len(team)])
                for _ in range(2):
                    thread = self.interaction(session)
                    assert thread is not None
                    self._observe_many(thread, [said], None)
                self._close(session)

    # --- writing --------------------------------------------------------------------------

    @rule(place=places, said=said, key=keys)
    def observe(self, place: Handle, said: Said, key: str | None) -> None:
        model, seen = self.models[place.anchor], self._observation(place.anchor, said, key)
        self.write(
            place.anchor,
            key,
            lambda: self.dead(place) or model.observe(
                place.who, place.scoped, said, own(place.who, key)
            ),
            lambda: place.target.observe(
                seen.text, claim=seen.claim, refs=seen.refs, heard_from=seen.heard_from,
                idempotency_key=key,
            ),
        )  # fmt: skip

    @rule(place=places, batch=st.lists(said, min_size=1, max_size=5), key=keys)
    def observe_many(self, place: Handle, batch: list[Said], key: str | None) -> None:
        """In a batch a refusal is a receipt like any other; the first item may carry a key."""
        self._observe_many(place, batch, key)

    def _observe_many(self, place: Handle, batch: Sequence[Said], key: str | None) -> None:
        model = self.models[place.anchor]
        keyed = [key, *[None] * 4]
        sent = [self._observation(place.anchor, *one) for one in zip(batch, keyed, strict=False)]
        call = partial(place.target.observe_many, sent)
        each = [
            (said, own(place.who, own_key)) for said, own_key in zip(batch, keyed, strict=False)
        ]
        # What refuses the call at all refuses its first item.
        first = self.dead(place) or model.observe(place.who, place.scoped, *each[0])
        if not isinstance(first, Expected):
            self.met[first.__name__] += 1
            self.refused(first, call)
            return
        outcomes = [first, *(model.observe(place.who, place.scoped, *one) for one in each[1:])]
        receipts = call()
        self.follow(place.anchor)
        for outcome, receipt in zip(outcomes, receipts, strict=True):
            assert isinstance(outcome, Expected)
            self.compare(outcome, receipt)
            model.learn(outcome, receipt)

    @rule(place=st.none() | places, number=anchors, who=people, said=stated, key=keys)
    def prefer(
        self, place: Handle | None, number: int, who: Principal, said: Said, key: str | None
    ) -> None:
        """Inside a session or outside of any."""
        self._prefer(place, number, who, said, key)

    def _prefer(
        self, place: Handle | None, number: int, who: Principal, said: Said, key: str | None
    ) -> None:
        number, who = (place.anchor, place.who) if place else (number, who)
        policy = errors.CapabilityRefused if who.kind is PrincipalKind.AGENT else None
        scoped, model = place.scoped if place else None, self.models[number]
        self.write(
            number,
            key,
            lambda: (
                (self.dead(place, policy) if place else None)
                or model.prefer(who, scoped, said, own(who, key))
            ),
            lambda: (place.target if place else self.memories[number, who]).prefer(
                said.text, claim=said.claim, idempotency_key=key
            ),
        )

    @rule(number=anchors, who=people, order=st.permutations([BRIEF, FULL]))
    def change_a_preference(self, number: int, who: Principal, order: Sequence[Said]) -> None:
        """Whatever stood before, one of them replaces the other."""
        for one in order:
            self._prefer(None, number, who, one, None)

    @precondition(lambda self: self.sent)
    @rule(which=st.integers(0, 50))
    def send_again(self, which: int) -> None:
        """The very same request under the very same key, whatever has happened since."""
        self.write(*self.sent[which % len(self.sent)])

    def _observation(self, number: int, said: Said, key: str | None) -> Observation:
        refs = (Rule(self.canon[number]),) if said.referring else ()
        return Observation(
            said.text, None, refs, said.claim, heard_from=said.heard_from, idempotency_key=key
        )

    # --- reading --------------------------------------------------------------------------

    @precondition(lambda self: self.models[0].entries)
    @rule(which=picks, who=people, abroad=abroad)
    def read_one(self, which: int, who: Principal, abroad: int) -> None:
        noted, memory = self.pick(0, which), self.memories[abroad, who]
        if abroad:
            for read in (memory.get, memory.history, memory.gates, memory.lineage):
                self.refused(errors.EntryNotFound, partial(read, noted.id))
            return
        assert [link.transition for link in memory.history(noted.id)] == noted.history
        if noted.gone:
            self.refused(errors.EntryNotFound, lambda: memory.get(noted.id))
            return
        entry = memory.get(noted.id)
        shown = (entry.body_text, entry.state, entry.claim, entry.candidate)
        assert shown == (noted.text, noted.state, noted.claim, noted.candidate)
        told = [
            (c.source_type, c.source_by, c.withdrawn_at is not None)
            for c in memory.corroborations(noted.id)
        ]
        assert sorted(told) == sorted((v.kind, v.by, v.withdrawn) for v in noted.voices)

    @rule(place=places)
    def list_a_place(self, place: Handle) -> None:
        if place.opening != self.opening:
            self.refused(errors.DatabaseClosed, place.target.list)
            return
        of_turn = place.scoped.id if place.scoped.id != place.scoped.session else None
        wanted = self.models[place.anchor].current(place.scoped.session, of_turn)
        assert [entry.id for entry in place.target.list(limit=1000)] == [n.id for n in wanted]

    @rule(number=anchors, who=people, said=said, waiting=st.booleans())
    def list_and_recall(self, number: int, who: Principal, said: Said, waiting: bool) -> None:
        """`list` shows what is current, candidates too; a recall leaves them out."""
        memory, current = self.memories[number, who], self.models[number].current()
        assert [entry.id for entry in memory.list(limit=1000)] == [n.id for n in current]
        found = memory.recall(said.text, limit=200, include_candidates=waiting)
        hits = {hit.entry.id for hit in found.hits}
        shown = [n for n in current if waiting or not n.candidate]
        assert hits <= {n.id for n in shown}
        assert {n.id for n in shown if n.text == said.text} <= hits
