"""The rules of the state machine by which memory matures: evidence, decisions, undo."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, multiple, precondition, rule

from idetic import Principal, Rule
from idetic.evidence import TRANSITIONS, ContradictionStatus
from idetic.evidence import Outcome as Disposed
from tests.property.machine import (
    ADA,
    AGENTS,
    ANCHORS,
    OPERATORS,
    UPKEEP,
    abroad,
    anchors,
    keys,
    own,
    people,
    picks,
)
from tests.property.maturing_model import otherwise, same, undoable
from tests.property.writing_rules import WritingRules, actions, reasons, turns
from tests.support.memory_model import Dispute, Noted

most = st.sampled_from([True, True, False])
some_entries = precondition(lambda self: self.models[0].entries)


class MaturingRules(WritingRules):
    """Most of them about the entries of the first anchor, some of them asked elsewhere."""

    disputes: Bundle[Dispute] = Bundle("disputes")

    @some_entries
    @rule(which=picks, who=people, abroad=abroad, verb=turns, reason=reasons, key=keys)
    def archive_or_exempt(
        self, which: int, who: Principal, abroad: int, verb: str, reason: str, key: str | None
    ) -> None:
        noted = self.pick(0, which)
        self.write(
            abroad,
            key,
            lambda: getattr(self.models[abroad], verb)(who, noted.id, reason, own(who, key)),
            lambda: getattr(self.memories[abroad, who], verb)(
                noted.id, reason=reason, idempotency_key=key
            ),
        )

    @some_entries
    @rule(which=picks, other=picks, who=people, abroad=abroad, action=actions, key=keys)
    def link_action(
        self, which: int, other: int, who: Principal, abroad: int, action: UUID,
        key: str | None,
    ) -> None:  # fmt: skip
        ids = [_id(self.pick(0, which)), _id(self.pick(0, other))]
        self.write(
            abroad,
            key,
            lambda: self.models[abroad].link_action(action, "rule_promotion", ids, own(who, key)),
            lambda: self.memories[abroad, who].link_action(
                action, "rule_promotion", ids, idempotency_key=key
            ),
        )

    # --- evidence -------------------------------------------------------------------------

    @some_entries
    @rule(
        which=picks, who=people, abroad=abroad, at=st.none() | picks | st.uuids(), holds=most,
        key=keys,
    )  # fmt: skip
    def corroborate(
        self, which: int, who: Principal, abroad: int, at: int | UUID | None, holds: bool,
        key: str | None,
    ) -> None:  # fmt: skip
        """A word, an inference, or whatever is pointed to: an entry, a rule, nothing at all."""
        source = _id(self.pick(0, at)) if isinstance(at, int) else at
        self._corroborate(self.pick(0, which), who, abroad, source, holds, key)

    @some_entries
    @rule(which=picks, who=people, whose=st.sampled_from(ANCHORS), holds=most, key=keys)
    def corroborate_by_a_rule(
        self, which: int, who: Principal, whose: int, holds: bool, key: str | None
    ) -> None:
        """A canonical row of the tenant, or another one's: an operator may go by the former."""
        self._corroborate(self.pick(0, which), who, 0, self.canon[whose], holds, key)

    @some_entries
    @rule(which=picks, who=st.sampled_from(AGENTS), at=picks, holds=most, key=keys)
    def point(self, which: int, who: Principal, at: int, holds: bool, key: str | None) -> None:
        """An agent points to an entry that says so, wherever there is one."""
        noted, fits = self.pick(0, which), same if holds else otherwise
        said = [n for n in self.models[0].current() if n is not noted and fits(n, noted)]
        found = said[at % len(said)] if said else self.pick(0, at)
        self._corroborate(noted, who, 0, _id(found), holds, key)

    @some_entries
    @rule(
        which=picks, first=st.integers(0, 2), many=st.sampled_from([2, 3, 3, 4]), holds=most,
    )  # fmt: skip
    def corroborate_well(self, which: int, first: int, many: int, holds: bool) -> None:
        """The words of as many operators as a fact needs, or as wear it down; some say it twice."""
        noted = self.pick(0, which)
        for turn in range(first, first + many):
            self._corroborate(noted, OPERATORS[turn % len(OPERATORS)], 0, None, holds, None)

    def _corroborate(
        self, noted: Noted, who: Principal, number: int, source: UUID | None, holds: bool,
        key: str | None,
    ) -> None:  # fmt: skip
        if who in OPERATORS and source is not None:
            # A second word that goes by the same row may add nothing; the model has no such rule.
            source = None if (number, source) in self.gone_by else source
            self.gone_by.add((number, source))
        self.write(
            number,
            key,
            lambda: self.models[number].corroborate(who, _id(noted), source, holds, own(who, key)),
            lambda: self.memories[number, who].corroborate(
                noted.id, source, holds=holds, idempotency_key=key
            ),
        )

    @some_entries
    @rule(target=disputes, which=picks, who=people, foreign=abroad, key=keys)
    def contradict(self, which: int, who: Principal, foreign: int, key: str | None) -> Any:
        """A rule of the entry's own world, or one of another tenant."""
        noted, ref = self.pick(0, which), self.canon[2 if foreign else 0]
        before = len(noted.disputes)
        receipt = self.write(
            0,
            key,
            lambda: self.models[0].contradict(_id(noted), ref, not foreign, own(who, key)),
            lambda: self.memories[0, who].contradict(
                noted.id, Rule(ref), reason="seen otherwise", idempotency_key=key
            ),
        )
        if len(noted.disputes) == before:
            return multiple()
        assert receipt is not None
        noted.disputes[-1].id = UUID(receipt.detail["contradiction"])
        return noted.disputes[-1]

    @rule(
        dispute=disputes, who=people, abroad=abroad, key=keys,
        status=st.sampled_from(list(ContradictionStatus)),
    )  # fmt: skip
    def resolve(
        self, dispute: Dispute, who: Principal, abroad: int, status: ContradictionStatus,
        key: str | None,
    ) -> None:  # fmt: skip
        wanted = dispute.id
        assert wanted is not None
        self.write(
            abroad,
            key,
            lambda: self.models[abroad].resolve(who, wanted, status, own(who, key)),
            lambda: self.memories[abroad, who].resolve(
                wanted, status, notes="looked at", idempotency_key=key
            ),
        )

    # --- decisions ------------------------------------------------------------------------

    @some_entries
    @rule(
        which=picks, other=picks, who=people, abroad=abroad,
        outcome=st.sampled_from([*Disposed, Disposed.PROMOTE]),
    )  # fmt: skip
    def dispose(
        self, which: int, other: int, who: Principal, abroad: int, outcome: Disposed
    ) -> None:
        ids = [_id(self.pick(0, which)), _id(self.pick(0, other))]
        found = self.models[abroad].dispose(who, ids, outcome)
        memory = self.memories[abroad, who]
        if not isinstance(found, list):
            self.met[found.__name__] += 1
            self.refused(found, lambda: memory.dispose(ids, outcome, reason="decided"))
            return
        receipts = memory.dispose(ids, outcome, reason="decided")
        self.follow(abroad)
        assert [receipt.entry_id for receipt in receipts] == [n.id for n in found]

    @rule(
        number=anchors, back=st.integers(0, 60), who=people, key=keys,
        possible=st.sampled_from([True, True, True, False]),
    )  # fmt: skip
    def undo(self, number: int, back: int, who: Principal, possible: bool, key: str | None) -> None:
        """Any decision that was ever told of, more often one that may be taken back."""
        model = self.models[number]
        choices = [x.position for x in model.links if possible and x.entry and undoable(x)]
        choices = choices or list(range(1, len(model.links) + 2))
        position = choices[-1 - back % len(choices)]
        self.write(
            number,
            key,
            lambda: model.undo(who, position, own(who, key)),
            lambda: self.memories[number, who].undo(
                position, reason="a mistake", idempotency_key=key
            ),
        )

    @rule(number=anchors)
    def promote(self, number: int) -> None:
        """What an undo or an archive made room for."""
        first = len(self.models[number].links)
        self.models[number].promote()
        told = self.memories[number, UPKEEP].promote()
        links = self.models[number].links[first:]
        assert [one.transition for one in told] == [link.transition for link in links]

    @rule()
    def look_at_the_queue(self) -> None:
        """The operators' queue holds what waits, in each anchor its own."""
        for number in ANCHORS:
            queue = self.memories[number, ADA].contradictions()
            known = [d for n in self.models[number].entries for d in n.disputes]
            waiting = {(d.id, d.status) for d in known if TRANSITIONS[d.status]}
            assert {(one.id, one.status) for one in queue} == waiting


def _id(noted: Noted) -> UUID:
    assert noted.id is not None
    return noted.id
