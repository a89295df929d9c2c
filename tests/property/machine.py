"""The state machine's ground: databases, handles, and how the model and memory are compared.

Three anchors, two of them in one tenant; agents and operators in each, and the upkeep. Every
rule asks the model and then memory, or the other way round where ids come from memory.
"""

from __future__ import annotations

import json
import sys
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any, ClassVar
from uuid import UUID, uuid4

import psycopg
import pytest
from anyio.from_thread import BlockingPortal
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, multiple
from psycopg.types.json import set_json_loads

from idetic import Idetic, IdeticError, Principal, Receipt, Tier, Typology, errors
from idetic.context import Worlds
from idetic.embed.port import Embedder
from idetic.library.sync import SyncIdetic
from tests.conftest import RULE_TEXT, TestDatabase
from tests.property import promises
from tests.property.closing_model import ClosingTenant
from tests.property.maturing_model import counted
from tests.property.promises import Snapshot, Tail
from tests.support.chain import Row, genesis_hash, read_chain
from tests.support.clock import SettableClock
from tests.support.memory_model import Expected, Link, Noted, Outcome, Refusal, Scoped, actor

ANCHORS = (0, 1, 2)
ADA, BOB, CLEO = map(Principal.operator, ("ada", "bob", "cleo"))
SCOUT, CLERK = map(Principal.agent, ("scout", "clerk"))
UPKEEP = Principal.maintenance("upkeep")
OPERATORS, AGENTS = (ADA, BOB, CLEO), (SCOUT, CLERK)
BOUND = (*OPERATORS, *AGENTS, UPKEEP)
FAMILY = ("worlds", "world_agent")
WORN = "failed_corroborations"

# One key in three repeats soon, so that replays and conflicts are common and not rare.
keys = st.sampled_from([None, None, None, "k1", "k2", "k3"])
# Most of it happens in one anchor, so that it gets far; the others must not notice.
anchors = st.sampled_from([0, 0, 0, 0, 0, 1, 2])
people = st.sampled_from([ADA, ADA, BOB, CLEO, SCOUT, CLERK])
# Which entry: a live candidate, a live persistent one, a persistent one, or any; the newest first.
picks = st.integers(0, 39)
# Now and then an entry is asked for in another anchor.
abroad = st.sampled_from([0] * 8 + [1, 2])


def own(who: Principal, key: str | None) -> str | None:
    """A key as the model knows it: each principal has keys of its own."""
    return None if key is None else f"{actor(who)} {key}"


@dataclass
class Handle:
    """A session or interaction handle and what the test knows about it."""

    anchor: int
    who: Principal
    target: Any
    scoped: Scoped
    opening: int
    closed: bool = False


class Ground(RuleBasedStateMachine):
    """What every rule stands on."""

    sessions: Bundle[Handle] = Bundle("sessions")
    interactions: Bundle[Handle] = Bundle("interactions")
    places = st.one_of(sessions, interactions)

    # What all examples share; the test sets them.
    database: ClassVar[TestDatabase]
    portal: ClassVar[BlockingPortal]
    embedder: ClassVar[Embedder | None]
    met: ClassVar[Counter[str]]

    def __init__(self) -> None:
        super().__init__()
        self.opening = 0
        self.steps = 0
        self.sent: list[tuple[int, str, Callable[[], Outcome], Callable[[], Receipt]]] = []
        self.db: Any = None
        self.clock = SettableClock()
        self.models = [ClosingTenant(self.clock) for _ in ANCHORS]
        tenant, other = uuid4(), uuid4()
        orgs = (tenant, tenant, other)
        self.anchors = [{"org_id": org, "domain_id": uuid4()} for org in orgs]
        self.canon: list[UUID] = []
        self.gone_by: set[tuple[int, UUID | None]] = set()
        self.links: list[Row] = []
        self.touched: list[tuple[int, Noted]] = []

    # --- opening ------------------------------------------------------------------------

    @initialize(target=sessions)
    def open_database(self) -> Any:
        self._open()
        self.admin = psycopg.connect(self.database.admin_dsn, autocommit=True)
        set_json_loads(partial(json.loads, parse_float=Decimal), self.admin)
        for anchor in self.anchors:
            self.canon.append(self.portal.call(self._register, anchor))
        for number, model in enumerate(self.models):
            known = zip(self.canon, self.anchors, strict=True)
            tenant = self.anchors[number]["org_id"]
            model.canon = [rule for rule, anchor in known if anchor["org_id"] == tenant]
        named = [".".join(FAMILY)] * 3
        self.tails = [
            Tail(0, genesis_hash(name, list(anchor.values())))
            for name, anchor in zip(named, self.anchors, strict=True)
        ]
        self.seen = Snapshot.take(self.admin, self.anchors)
        for memory in self.memories.values():
            self.refused(errors.WritePolicyRefused, partial(memory.observe, "Outside a session."))
        return multiple(*(self.session(number, ADA) for number in ANCHORS))

    async def _register(self, anchor: dict[str, UUID]) -> UUID:
        worlds = Worlds(self.db.target)
        world = await worlds.register(anchor["org_id"], anchor["domain_id"], "Payments")
        return (await worlds.put_rule(anchor["org_id"], world, RULE_TEXT)).id

    def _open(self) -> None:
        opened = Idetic.open(
            self.database.dsn, admin_dsn=self.database.admin_dsn, clock=self.clock,
            embedder=self.embedder,
        )  # fmt: skip
        self.db = SyncIdetic(opened, self.portal).__enter__()
        agent = self.db.agent("world_agent")
        self.memories = {
            (number, who): agent.bind(principal=who, **anchor)
            for number, anchor in enumerate(self.anchors)
            for who in BOUND
        }

    def reopen(self) -> None:
        """Every handle dies with the database, and its scopes stay open."""
        self.db.close()
        with pytest.raises(errors.DatabaseClosed):
            self.memories[0, SCOUT].list()
        self.opening += 1
        self._open()

    def session(self, number: int, who: Principal, known: UUID | None = None) -> Handle:
        session = self.memories[number, who].session(known).__enter__()
        assert self.models[number].open(session.id, session.id, who) is None
        scoped = self.models[number].scopes[session.id]
        return Handle(number, who, session, scoped, self.opening)

    # --- asking and comparing -------------------------------------------------------------

    def pick(self, number: int, which: int) -> Noted:
        """An entry of an anchor, whatever became of it; there must be one."""
        entries = self.models[number].entries
        kept = [n for n in entries if n.tier is Tier.PERSISTENT]
        pools = ([n for n in kept if n.live and n.candidate], [n for n in kept if n.live], kept)
        pool = [*pools, entries][which % 4] or entries
        return pool[-1 - which // 4 % len(pool)]

    def dead(self, place: Handle, policy: Refusal | None = None) -> Refusal | None:
        """A handle that was closed here says so itself; one of an older opening is dead, which
        shows only after policy: policy is asked before the database.
        """
        if place.closed:
            return errors.ScopeClosed
        return (policy or errors.DatabaseClosed) if place.opening != self.opening else None

    def write(
        self,
        number: int,
        key: str | None,
        expected: Callable[[], Outcome],
        call: Callable[[], Receipt],
    ) -> Receipt | None:
        """Ask the model, then memory, and compare; gives the receipt of a write that was done."""
        if key is not None:
            self.sent.append((number, key, expected, call))
        outcome = expected()
        if not isinstance(outcome, Expected):
            self.met[outcome.__name__] += 1
            self.refused(outcome, call)
            return None
        self.met["replay" if outcome.replay_of else outcome.decision.value] += 1
        if outcome.raises is None:
            receipt = call()
        else:
            receipt = self.refused(outcome.raises, call).detail["receipt"]
        self.follow(number)
        self.compare(outcome, receipt)
        self.models[number].learn(outcome, receipt)
        return receipt

    def compare(self, expected: Expected, receipt: Receipt) -> None:
        if expected.replay_of is not None:
            assert receipt == expected.replay_of
            assert receipt.replayed
            return
        assert not receipt.replayed
        assert (receipt.decision, receipt.position) == (expected.decision, expected.position)
        assert receipt.superseded == (expected.superseded and expected.superseded.id)
        assert receipt.entry_id == (expected.entry and expected.entry.id)

    def refused(self, refusal: Refusal, call: Callable[[], Any]) -> IdeticError:
        with pytest.raises(IdeticError) as caught:
            call()
        # Whoever was refused over a rule too often is told so; the model does not count that.
        spent = refusal is errors.ShadowRefused and caught.type is errors.RetriesSpent
        assert caught.type is refusal or spent, f"{caught.value!r} instead of {refusal.__name__}"
        return caught.value

    def follow(self, number: int) -> None:
        """Read what the ledger got; it must be what the model wrote down, link by link."""
        tail, model = self.tails[number], self.models[number]
        expected = model.links[tail.position :]
        rows = tail.follow(self.admin, self.anchors[number])
        self.links += rows
        said = [(r["transition"], r["decision"], r["state_to"]) for r in rows]
        assert said == [(e.transition, e.decision.value, e.state_to) for e in expected]
        for link, row in zip(expected, rows, strict=True):
            _name(link, row)
        self.touched += [(number, link.entry) for link in expected if link.entry]
        self.met.update(row["transition"] for row in rows)
        self.met["worn down"] += sum(r["detail"].get("cause") == WORN for r in rows)

    # --- what must hold after every step --------------------------------------------------

    @invariant()
    def memory_is_what_the_model_says_and_keeps_every_promise(self) -> None:
        self.steps += 1
        self.clock.advance(seconds=1)
        if self.db is None:
            return
        for number in ANCHORS:
            self.follow(number)
        after = Snapshot.take(self.admin, self.anchors)
        promises.check(self.seen, after, self.links)
        self._same(after)
        self._gates_agree()
        self.seen, self.links, self.touched = after, [], []

    def _same(self, after: Snapshot) -> None:
        """Every anchor holds what its model holds: what one does changes no other."""
        wanted = {
            noted.id: _shape(noted)
            for model in self.models
            for noted in model.entries
            if not noted.gone
        }
        shown = {
            row.id: (
                row.text, row.tier, row.typology, row.session_id, row.interaction_id,
                row.claim_value, row.trust, row.candidate, row.exempt, row.state, row.rests,
                sorted(row.sources), sorted(row.lineage),
            )
            for row in after.rows.values()
        }  # fmt: skip
        assert shown == wanted

    def _gates_agree(self) -> None:
        """The sources that count are the model's, for everything that was touched."""
        for number, noted in dict.fromkeys(self.touched):
            if noted.tier is not Tier.PERSISTENT or noted.gone:
                continue
            gates = self.memories[number, SCOUT].gates(noted.id)
            found = counted(noted)
            if noted.typology is Typology.SEMANTIC:
                assert gates[1].have == len(found)
            else:
                assert gates[1].have == round(self.models[number].confidence(noted), 4)
            assert gates[3].have == len({voice.context for voice in found})

    # --- the end --------------------------------------------------------------------------

    def teardown(self) -> None:
        try:
            if self.db is not None and sys.exc_info()[0] is None:
                self._check_everything()
        finally:
            if self.db is not None:
                self.admin.close()
                self.db.close()

    def _check_everything(self) -> None:
        for number, model in enumerate(self.models):
            chain = read_chain(self.admin, *FAMILY, self.anchors[number])
            assert chain.faults() == []
            memory = self.memories[number, ADA]
            for noted in model.entries:
                history = [link.transition for link in memory.history(noted.id)]
                assert history == noted.history
                if noted.gone:
                    self.refused(errors.EntryNotFound, partial(memory.get, noted.id))
                else:
                    assert memory.get(noted.id).state is noted.state


def _name(link: Link, row: Row) -> None:
    """Learn the id of a new entry; a known one must be the one that the link is about."""
    if link.entry is not None and link.entry.id is None:
        link.entry.id = row["memory_id"]
    assert row["memory_id"] == (link.entry and link.entry.id)


def _shape(noted: Noted) -> Sequence[object]:
    """An entry as `Snapshot` shows it, with every source that counts and all it came of."""
    sources = [
        f"{v.kind} {v.ref or ''} {v.by} {v.session or ''}" for v in noted.voices if not v.withdrawn
    ]
    lineage = [f"{relation} {one.id} {one.trust}" for one, relation in noted.lineage.items()]
    return (
        noted.text, noted.tier.value, noted.typology.value, noted.session, noted.interaction,
        noted.claim and noted.claim.value, noted.trust, noted.candidate,
        bool(noted.columns.get("exempt_at")), noted.state.value,
        noted.rests or bool(noted.bears), sorted(sources), sorted(lineage),
    )  # fmt: skip
