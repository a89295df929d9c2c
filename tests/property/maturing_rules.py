"""The rules of the state machine by which memory matures: evidence, decisions, undo."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from hypothesis import strategies as st
from hypothesis.stateful import Bundle, multiple, precondition, rule

from idetic import Rule
from idetic.evidence import TRANSITIONS, ContradictionStatus, SourceType
from idetic.evidence import Outcome as Disposed
from idetic.model import PrincipalKind
from tests.property.machine import ANCHORS, abroad, anchors, keys, kinds, picks
from tests.property.maturing_model import undoable
from tests.property.writing_rules import WritingRules, actions, reasons, turns
from tests.support.memory_model import Dispute, Noted, Source

sources = st.tuples(
    st.sampled_from(list(SourceType)), st.sampled_from([UUID(int=n) for n in (1, 2, 3)])
)
some_entries = precondition(lambda self: self.models[0].entries)


class MaturingRules(WritingRules):
    """Most of them about the entries of the first anchor, some of them asked elsewhere."""

    disputes: Bundle[Dispute] = Bundle("disputes")

    @some_entries
    @rule(which=picks, kind=kinds, abroad=abroad, verb=turns, reason=reasons, key=keys)
    def archive_or_exempt(
        self, which: int, kind: PrincipalKind, abroad: int, verb: str, reason: str, key: str | None
    ) -> None:
        noted = self.pick(0, which)
        self.write(
            abroad,
            key,
            lambda: getattr(self.models[abroad], verb)(kind, noted.id, reason, key),
            lambda: getattr(self.memories[abroad, kind], verb)(
                noted.id, reason=reason, idempotency_key=key
            ),
        )

    @some_entries
    @rule(which=picks, other=picks, kind=kinds, abroad=abroad, action=actions, key=keys)
    def link_action(
        self, which: int, other: int, kind: PrincipalKind, abroad: int, action: UUID,
        key: str | None,
    ) -> None:  # fmt: skip
        ids = [_id(self.pick(0, which)), _id(self.pick(0, other))]
        self.write(
            abroad,
            key,
            lambda: self.models[abroad].link_action(action, "rule_promotion", ids, key),
            lambda: self.memories[abroad, kind].link_action(
                action, "rule_promotion", ids, idempotency_key=key
            ),
        )

    # --- evidence -------------------------------------------------------------------------

    @some_entries
    @rule(which=picks, kind=kinds, abroad=abroad, source=sources, holds=st.booleans(), key=keys)
    def corroborate(
        self, which: int, kind: PrincipalKind, abroad: int, source: Source, holds: bool,
        key: str | None,
    ) -> None:  # fmt: skip
        self._corroborate(self.pick(0, which), kind, abroad, source, holds, key)

    @some_entries
    @rule(
        which=picks, first=st.sampled_from([10, 12]), many=st.sampled_from([2, 3, 8]),
        holds=st.sampled_from([True, True, False]),
    )  # fmt: skip
    def corroborate_well(self, which: int, first: int, many: int, holds: bool) -> None:
        """As many sources as a fact or a pattern needs, or more than a fact survives."""
        noted = self.pick(0, which)
        for ref in range(first, first + many):
            source = (SourceType.RULE_CHANGE, UUID(int=ref))
            self._corroborate(noted, PrincipalKind.AGENT, 0, source, holds, None)

    def _corroborate(
        self, noted: Noted, kind: PrincipalKind, number: int, source: Source, holds: bool,
        key: str | None,
    ) -> None:  # fmt: skip
        self.write(
            number,
            key,
            lambda: self.models[number].corroborate(kind, _id(noted), source, holds, key),
            lambda: self.memories[number, kind].corroborate(
                noted.id, *source, holds=holds, idempotency_key=key
            ),
        )

    @some_entries
    @rule(target=disputes, which=picks, kind=kinds, foreign=abroad, key=keys)
    def contradict(self, which: int, kind: PrincipalKind, foreign: int, key: str | None) -> Any:
        """A rule of the entry's own world, or one of another tenant."""
        noted, ref = self.pick(0, which), self.canon[2 if foreign else 0]
        before = len(noted.disputes)
        receipt = self.write(
            0,
            key,
            lambda: self.models[0].contradict(_id(noted), ref, not foreign, key),
            lambda: self.memories[0, kind].contradict(
                noted.id, Rule(ref), reason="seen otherwise", idempotency_key=key
            ),
        )
        if len(noted.disputes) == before:
            return multiple()
        assert receipt is not None
        noted.disputes[-1].id = UUID(receipt.detail["contradiction"])
        return noted.disputes[-1]

    @rule(
        dispute=disputes, kind=kinds, abroad=abroad, key=keys,
        status=st.sampled_from(list(ContradictionStatus)),
    )  # fmt: skip
    def resolve(
        self, dispute: Dispute, kind: PrincipalKind, abroad: int, status: ContradictionStatus,
        key: str | None,
    ) -> None:  # fmt: skip
        wanted = dispute.id
        assert wanted is not None
        self.write(
            abroad,
            key,
            lambda: self.models[abroad].resolve(kind, wanted, status, key),
            lambda: self.memories[abroad, kind].resolve(
                wanted, status, notes="looked at", idempotency_key=key
            ),
        )

    # --- decisions ------------------------------------------------------------------------

    @some_entries
    @rule(
        which=picks, other=picks, kind=kinds, abroad=abroad,
        outcome=st.sampled_from([*Disposed, Disposed.PROMOTE]),
    )  # fmt: skip
    def dispose(
        self, which: int, other: int, kind: PrincipalKind, abroad: int, outcome: Disposed
    ) -> None:
        ids = [_id(self.pick(0, which)), _id(self.pick(0, other))]
        found = self.models[abroad].dispose(kind, ids, outcome)
        memory = self.memories[abroad, kind]
        if not isinstance(found, list):
            self.met[found.__name__] += 1
            self.refused(found, lambda: memory.dispose(ids, outcome, reason="decided"))
            return
        receipts = memory.dispose(ids, outcome, reason="decided")
        self.met.update(row["transition"] for row in self.follow(abroad))
        assert [receipt.entry_id for receipt in receipts] == [n.id for n in found]

    @rule(
        number=anchors, back=st.integers(0, 60), kind=kinds, key=keys,
        possible=st.sampled_from([True, True, True, False]),
    )  # fmt: skip
    def undo(
        self, number: int, back: int, kind: PrincipalKind, possible: bool, key: str | None
    ) -> None:
        """Any decision that was ever told of, more often one that may be taken back."""
        model = self.models[number]
        choices = [x.position for x in model.links if possible and x.entry and undoable(x)]
        choices = choices or list(range(1, len(model.links) + 2))
        position = choices[-1 - back % len(choices)]
        self.write(
            number,
            key,
            lambda: model.undo(kind, position, key),
            lambda: self.memories[number, kind].undo(
                position, reason="a mistake", idempotency_key=key
            ),
        )

    @rule(number=anchors)
    def promote(self, number: int) -> None:
        """What an undo or an archive made room for."""
        first = len(self.models[number].links)
        self.models[number].promote()
        told = self.memories[number, PrincipalKind.MAINTENANCE].promote()
        links = self.models[number].links[first:]
        assert [one.transition for one in told] == [link.transition for link in links]

    @rule()
    def look_at_the_queue(self) -> None:
        """The operators' queue holds what waits, in each anchor its own."""
        for number in ANCHORS:
            queue = self.memories[number, PrincipalKind.OPERATOR].contradictions()
            known = [d for n in self.models[number].entries for d in n.disputes]
            waiting = {(d.id, d.status) for d in known if TRANSITIONS[d.status]}
            assert {(one.id, one.status) for one in queue} == waiting


def _id(noted: Noted) -> UUID:
    assert noted.id is not None
    return noted.id
