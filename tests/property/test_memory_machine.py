"""Whatever is done in whatever order, memory does what a plain Python model says it does.

Two tenants, an agent and an operator in each, every verb, idempotency keys used again with the
same and with another body, handles closed and databases opened anew. After every step both
tenants must show exactly what the model holds; at the end every history and every link of both
ledgers is checked.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any, ClassVar
from uuid import UUID, uuid4

import psycopg
import pytest
from anyio.from_thread import BlockingPortal, start_blocking_portal
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    Bundle,
    RuleBasedStateMachine,
    consumes,
    initialize,
    invariant,
    multiple,
    precondition,
    rule,
    run_state_machine_as_test,
)

from idetic import Claim, Idetic, IdeticError, Observation, Principal, Receipt, errors
from idetic.context.worlds import Worlds
from idetic.library.sync import Sync
from idetic.model import PrincipalKind
from idetic.store.embedded import EmbeddedServer
from tests.conftest import RULE_TEXT, TestDatabase
from tests.support.chain import jsonb_text, read_chain
from tests.support.databases import copy_of
from tests.support.memory_model import Expected, ModelTenant, Noted, Outcome, Refusal, Scoped

RESTATED = RULE_TEXT.replace("ten thousand", "10 thousand")
TEXTS = ["Fridays are short.", "The desk opens at nine.", "Ask twice.", RESTATED]
# Few, so that most preferences meet an earlier one.
CLAIMS = [Claim("output", "style", "brief"), Claim("output", "style", "full")]
CLAIMS += [Claim("output", "language", "en")]

EVERY_OUTCOME = {"ADD", "UPDATE", "NOOP", "REJECT", "replay", "IdempotencyConflict"} | {
    "ScopeClosed", "CapabilityRefused", "TransitionRefused", "EntryNotFound",
}  # fmt: skip

texts = st.sampled_from(TEXTS)
# One key in three repeats soon, so that replays and conflicts are common and not rare.
keys = st.sampled_from([None, None, None, "k1", "k2", "k3"])
tenants = st.sampled_from([0, 1])
kinds = st.sampled_from([PrincipalKind.OPERATOR, PrincipalKind.OPERATOR, PrincipalKind.AGENT])
claims = st.none() | st.sampled_from(CLAIMS)
turns = st.sampled_from(["archive", "exempt"])
reasons = st.sampled_from(["obsolete", "house rule"])
# Now and then an entry is asked for in the other tenant.
abroad = st.sampled_from([False, False, False, True])
# Fixed, so that the same action is linked again and shrinking is stable.
actions = st.sampled_from([UUID(int=1), UUID(int=2)])


@dataclass
class Handle:
    """A session or interaction handle and what the test knows about it."""

    tenant: int
    kind: PrincipalKind
    target: Any
    scoped: Scoped
    opening: int
    closed: bool = False


class MemoryMachine(RuleBasedStateMachine):
    """The rules are the verbs; the model says what each of them must answer."""

    sessions: Bundle[Handle] = Bundle("sessions")
    interactions: Bundle[Handle] = Bundle("interactions")
    entries: Bundle[Noted] = Bundle("entries")
    places = st.one_of(sessions, interactions)

    # What all examples share; the test sets them.
    database: ClassVar[TestDatabase]
    portal: ClassVar[BlockingPortal]
    met: ClassVar[Counter[str]]

    def __init__(self) -> None:
        super().__init__()
        self.opening = 0
        self.steps = 0
        self.sent: list[tuple[int, str, Callable[[], Outcome], Callable[[], Receipt]]] = []
        self.db: Any = None
        self.models = (ModelTenant(), ModelTenant())
        self.anchors = [{"org_id": uuid4(), "domain_id": uuid4()} for _ in self.models]

    # --- opening ------------------------------------------------------------------------

    @initialize(target=sessions)
    def open_database(self) -> Any:
        self._open()
        for anchor in self.anchors:
            self.portal.call(self._register, anchor)
        for memory in self.memories.values():
            self._refused(errors.WritePolicyRefused, partial(memory.observe, "Outside a session."))
        return multiple(*(self._session(tenant, PrincipalKind.OPERATOR) for tenant in (0, 1)))

    async def _register(self, anchor: dict[str, UUID]) -> None:
        worlds = Worlds(self.db._target)
        world = await worlds.register(anchor["org_id"], anchor["domain_id"], "Payments")
        await worlds.put_rule(anchor["org_id"], world, RULE_TEXT)

    def _open(self) -> None:
        opened = Idetic.open(self.database.dsn, admin_dsn=self.database.admin_dsn)
        self.db = Sync(opened, self.portal).__enter__()
        agent = self.db.agent("world_agent")
        self.memories = {
            (tenant, kind): agent.bind(principal=Principal(kind, kind.value), **anchor)
            for tenant, anchor in enumerate(self.anchors)
            for kind in (PrincipalKind.AGENT, PrincipalKind.OPERATOR)
        }

    @precondition(lambda self: self.steps > 15)  # rarely: every handle dies with it
    @rule()
    def reopen_the_database(self) -> None:
        self.steps = 0
        self.db.close()
        with pytest.raises(errors.DatabaseClosed):
            self.memories[0, PrincipalKind.AGENT].list()
        self.opening += 1
        self._open()

    # --- sessions and interactions ------------------------------------------------------

    @rule(target=sessions, tenant=tenants, kind=kinds, known=st.none() | sessions)
    def open_session(self, tenant: int, kind: PrincipalKind, known: Handle | None) -> Handle:
        """A new one, or a known one by its id: perhaps another's, perhaps after its end."""
        if known is None:
            return self._session(tenant, kind)
        return self._session(known.tenant, kind, known.scoped.id)

    def _session(self, tenant: int, kind: PrincipalKind, known: UUID | None = None) -> Handle:
        session = self.memories[tenant, kind].session(known).__enter__()
        assert self.models[tenant].open(session.id, session.id) is None
        scoped = self.models[tenant].scopes[session.id]
        return Handle(tenant, kind, session, scoped, self.opening)

    @rule(target=interactions, within=sessions)
    def open_interaction(self, within: Handle) -> Any:
        interaction = within.target.interaction()
        scope, session = interaction.id, within.scoped.id
        if within.opening != self.opening:
            refusal: Refusal | None = errors.DatabaseClosed
        else:
            refusal = self.models[within.tenant].open(scope, session)
        if refusal:
            self._refused(refusal, interaction.__enter__)
            return multiple()
        scoped = self.models[within.tenant].scopes[scope]
        return Handle(within.tenant, within.kind, interaction.__enter__(), scoped, self.opening)

    @rule(handle=st.one_of(consumes(interactions), sessions))
    def close(self, handle: Handle) -> None:
        if handle.opening != self.opening and not handle.closed:
            self._refused(errors.DatabaseClosed, handle.target.close)
        else:
            handle.target.close()
            if not handle.closed:
                self.models[handle.tenant].close(handle.scoped.id)
        handle.closed = True

    # --- writing ------------------------------------------------------------------------

    @rule(target=entries, place=places, text=texts, key=keys)
    def observe(self, place: Handle, text: str, key: str | None) -> Any:
        model, restates = self.models[place.tenant], text == RESTATED
        return self._write(
            place.tenant,
            key,
            lambda: (
                self._dead(place)
                or model.observe(place.kind, place.scoped, text, restates=restates, key=key)
            ),
            lambda: place.target.observe(text, idempotency_key=key),
        )

    @rule(target=entries, place=places, batch=st.lists(texts, min_size=1, max_size=5), key=keys)
    def observe_many(self, place: Handle, batch: list[str], key: str | None) -> Any:
        """In a batch a refusal is a receipt like any other; the first item may carry a key."""
        model = self.models[place.tenant]
        each = list(zip(batch, [key, *[None] * 4], strict=False))
        seen = [Observation(text, idempotency_key=k) for text, k in each]
        first = self._dead(place) or model.observe(
            place.kind, place.scoped, batch[0], restates=batch[0] == RESTATED, key=key
        )
        if not isinstance(first, Expected):
            self.met[first.__name__] += 1
            self._refused(first, lambda: place.target.observe_many(seen))
            return multiple()
        rest = [
            model.observe(place.kind, place.scoped, text, restates=text == RESTATED, key=None)
            for text in batch[1:]
        ]
        expected = [outcome for outcome in (first, *rest) if isinstance(outcome, Expected)]
        receipts = place.target.observe_many(seen)
        new = []
        for outcome, receipt in zip(expected, receipts, strict=True):
            self._compare(outcome, receipt)
            new += [outcome.entry] if outcome.entry and outcome.entry.id is None else []
            model.learn(outcome, receipt)
        return multiple(*new)

    @rule(target=entries, place=places, text=texts, claim=claims, key=keys)
    def prefer_in_a_session(
        self, place: Handle, text: str, claim: Claim | None, key: str | None
    ) -> Any:
        model, restates = self.models[place.tenant], text == RESTATED
        policy = errors.CapabilityRefused if place.kind is PrincipalKind.AGENT else None
        return self._write(
            place.tenant,
            key,
            lambda: (
                self._dead(place, policy)
                or model.prefer(place.kind, place.scoped, text, claim, restates=restates, key=key)
            ),
            lambda: place.target.prefer(text, claim=claim, idempotency_key=key),
        )

    @rule(target=entries, tenant=tenants, kind=kinds, text=texts, claim=claims, key=keys)
    def prefer(
        self, tenant: int, kind: PrincipalKind, text: str, claim: Claim | None, key: str | None
    ) -> Any:
        model, restates = self.models[tenant], text == RESTATED
        return self._write(
            tenant,
            key,
            lambda: model.prefer(kind, None, text, claim, restates=restates, key=key),
            lambda: self.memories[tenant, kind].prefer(text, claim=claim, idempotency_key=key),
        )

    @rule(noted=entries, kind=kinds, abroad=abroad, verb=turns, reason=reasons, key=keys)
    def archive_or_exempt(
        self, noted: Noted, kind: PrincipalKind, abroad: bool, verb: str, reason: str,
        key: str | None,
    ) -> None:  # fmt: skip
        tenant = self._tenant(noted, abroad)
        self._write(
            tenant,
            key,
            lambda: getattr(self.models[tenant], verb)(kind, noted.id, reason, key),
            lambda: getattr(self.memories[tenant, kind], verb)(
                noted.id, reason=reason, idempotency_key=key
            ),
        )

    @rule(noted=entries, other=entries, kind=kinds, abroad=abroad, action=actions, key=keys)
    def link_action(
        self, noted: Noted, other: Noted, kind: PrincipalKind, abroad: bool, action: UUID,
        key: str | None,
    ) -> None:  # fmt: skip
        tenant = self._tenant(noted, abroad)
        ids = [n.id for n in (noted, other) if n.id]
        self._write(
            tenant,
            key,
            lambda: self.models[tenant].link_action(action, "rule_promotion", ids, key),
            lambda: self.memories[tenant, kind].link_action(
                action, "rule_promotion", ids, idempotency_key=key
            ),
        )

    @precondition(lambda self: self.sent)
    @rule(target=entries, which=st.integers(0, 50))
    def send_again(self, which: int) -> Any:
        """The very same request under the very same key, whatever has happened since."""
        return self._write(*self.sent[which % len(self.sent)])

    # --- reading ------------------------------------------------------------------------

    @rule(noted=entries, kind=kinds, abroad=abroad)
    def read_one(self, noted: Noted, kind: PrincipalKind, abroad: bool) -> None:
        memory = self.memories[self._tenant(noted, abroad), kind]
        if abroad:
            self._refused(errors.EntryNotFound, lambda: memory.get(noted.id))
            self._refused(errors.EntryNotFound, lambda: memory.history(noted.id))
        else:
            entry = memory.get(noted.id)
            wanted = (noted.text, noted.state, noted.claim, noted.exempt)
            shown = (entry.body_text, entry.state, entry.claim, entry.exempt_at is not None)
            assert shown == wanted
            assert [link.transition for link in memory.history(noted.id)] == noted.history

    @rule(place=places)
    def list_a_place(self, place: Handle) -> None:
        if place.opening != self.opening:
            self._refused(errors.DatabaseClosed, place.target.list)
            return
        of_turn = place.scoped.id if place.scoped.id != place.scoped.session else None
        wanted = self.models[place.tenant].current(place.scoped.session, of_turn)
        assert [entry.id for entry in place.target.list(limit=1000)] == [n.id for n in wanted]

    # --- what must hold after every step ------------------------------------------------

    @invariant()
    def each_tenant_sees_its_own_current_entries_and_nothing_else(self) -> None:
        self.steps += 1
        for tenant, model in enumerate(self.models) if self.db else ():
            memory = self.memories[tenant, PrincipalKind.AGENT]
            shown = [(e.id, e.body_text, e.tier, e.typology) for e in memory.list(limit=1000)]
            wanted = model.current()
            assert shown == [(n.id, n.text, n.tier, n.typology) for n in wanted]

    def teardown(self) -> None:
        try:
            if self.db is not None:
                self._check_everything()
        finally:
            if self.db is not None:
                self.db.close()

    def _check_everything(self) -> None:
        with psycopg.connect(self.database.admin_dsn) as connection:
            for tenant, model in enumerate(self.models):
                chain = read_chain(connection, "worlds", "world_agent", self.anchors[tenant])
                assert chain.faults() == []
                assert len(chain.rows) == model.position, "every link is one the model expected"
                memory = self.memories[tenant, PrincipalKind.OPERATOR]
                for noted in model.entries:
                    entry = memory.get(noted.id)
                    assert entry.state is noted.state, "no entry ever disappears"
                    history = [link.transition for link in memory.history(noted.id)]
                    assert history == noted.history

    # --- comparing ----------------------------------------------------------------------

    def _tenant(self, noted: Noted, abroad: bool) -> int:
        home = 0 if noted in self.models[0].entries else 1
        return 1 - home if abroad else home

    def _dead(self, place: Handle, policy: Refusal | None = None) -> Refusal | None:
        """A handle that was closed here says so itself; one of an older opening is dead, which
        shows only after policy: policy is asked before the database.
        """
        if place.closed:
            return errors.ScopeClosed
        return (policy or errors.DatabaseClosed) if place.opening != self.opening else None

    def _write(
        self,
        tenant: int,
        key: str | None,
        expected: Callable[[], Outcome],
        call: Callable[[], Receipt],
    ) -> Any:
        """Ask the model, then the memory, and compare; gives a new entry to the bundle."""
        if key is not None:
            self.sent.append((tenant, key, expected, call))
        outcome = expected()
        if not isinstance(outcome, Expected):
            self.met[outcome.__name__] += 1
            self._refused(outcome, call)
            return multiple()
        self.met["replay" if outcome.replay_of else outcome.decision.value] += 1
        if outcome.raises is None:
            receipt = call()
        else:
            receipt = self._refused(outcome.raises, call).detail["receipt"]
        self._compare(outcome, receipt)
        fresh = outcome.entry is not None and outcome.entry.id is None
        self.models[tenant].learn(outcome, receipt)
        return outcome.entry if fresh else multiple()

    def _compare(self, expected: Expected, receipt: Receipt) -> None:
        if expected.replay_of is not None:
            assert receipt == expected.replay_of
            assert receipt.replayed
            return
        assert not receipt.replayed
        assert (receipt.decision, receipt.position) == (expected.decision, expected.position)
        assert receipt.superseded == (expected.superseded and expected.superseded.id)
        if expected.entry is None:
            assert receipt.entry_id is None
        elif expected.entry.id is not None:
            assert receipt.entry_id == expected.entry.id
        else:
            assert receipt.entry_id is not None

    def _refused(self, refusal: Refusal, call: Callable[[], Any]) -> IdeticError:
        with pytest.raises(IdeticError) as caught:
            call()
        assert caught.type is refusal, f"{caught.value!r} instead of {refusal.__name__}"
        return caught.value


@pytest.fixture(scope="module")
def machine_database(server: EmbeddedServer, template: str) -> Iterator[TestDatabase]:
    """One database for every example; each example brings tenants of its own."""
    with copy_of(server, template) as database:
        yield database


def test_memory_does_what_the_model_says(machine_database: TestDatabase) -> None:
    MemoryMachine.database = machine_database
    MemoryMachine.met = Counter()
    with start_blocking_portal() as MemoryMachine.portal:
        run_state_machine_as_test(
            MemoryMachine,
            settings=settings(
                max_examples=25,
                stateful_step_count=40,
                deadline=None,
                derandomize=True,
                database=None,
                suppress_health_check=list(HealthCheck),
            ),
        )
    met = MemoryMachine.met
    assert set(met) >= EVERY_OUTCOME, f"the machine must meet every outcome, it met {met}"


characters = st.characters(blacklist_categories=["Cs"], blacklist_characters="\x00")
words = st.text(characters, max_size=6)
json_values = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63) | words,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(words, inner, max_size=4),
    max_leaves=8,
)


@pytest.fixture(scope="module")
def postgres(server: EmbeddedServer) -> Iterator[psycopg.Connection]:
    with psycopg.connect(server.dsn(), autocommit=True) as connection:
        yield connection


@settings(max_examples=150, deadline=None, derandomize=True, database=None)
@given(values=st.lists(json_values, min_size=1, max_size=8))
def test_the_chain_is_recomputed_in_postgresqls_own_json(
    postgres: psycopg.Connection, values: list[Any]
) -> None:
    row = postgres.execute("SELECT %s::jsonb::text", (json.dumps(values),)).fetchone()
    assert row == (jsonb_text(values),)
