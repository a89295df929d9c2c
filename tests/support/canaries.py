"""Fifty tenants with a canary each, and everything that can be asked of memory, mixed.

A canary is a word that only one tenant ever writes: into notes, claims, envelopes, rules, names,
reasons and keys. Whatever an operation gives back, or says when it fails, is looked through for
the canaries and ids of all the others.
"""

from __future__ import annotations

import logging
import random
import re
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID, uuid4

import anyio

from idetic import (
    Claim,
    Idetic,
    IdeticError,
    Mode,
    Observation,
    Principal,
    Receipt,
    Tier,
    errors,
    runner,
)
from idetic.context import Worlds
from idetic.evidence import Outcome
from idetic.library.handles import Agent, Memory, Session
from tests.support.voices import vouch

CANARY = re.compile(r"kanarie[a-z]{12}")
UUIDS = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
WORKERS = 24
DESKS = 12
# What an operation may answer because another one came first, or because it probes.
EXPECTED = (errors.NotFound, errors.TransitionRefused, errors.ScopeClosed, errors.ShadowRefused)


@dataclass
class Tenant:
    """One tenant: its canary, its anchor, and what it has written so far."""

    canary: str
    anchor: dict[str, UUID]
    rule: Any
    key: str
    entries: list[UUID] = field(default_factory=list)
    sessions: list[UUID] = field(default_factory=list)
    actions: list[UUID] = field(default_factory=list)
    receipts: list[Receipt] = field(default_factory=list)
    open: Session | None = None

    def bind(self, agent: Agent, kind: str = "agent") -> Memory:
        principal: Principal = getattr(Principal, kind)(f"{kind} {self.canary}")
        return agent.bind(principal=principal, **self.anchor)


def canary(rng: random.Random) -> str:
    """A word that no gate takes for a secret: syllables, no digits."""
    return "kanarie" + "".join(rng.choice("bdfklmnprs") + rng.choice("aeiou") for _ in range(6))


async def settle(db: Idetic, agent: Agent, count: int, seed: int) -> list[Tenant]:
    """Tenants, each with a rule, an API key, two facts and a preference."""
    rng = random.Random(seed)  # noqa: S311 - not for secrets
    tenants: list[Tenant] = []

    async def one(words: Iterator[str]) -> None:
        tenants.extend([await _tenant(db, agent, word) for word in words])

    waiting = iter([canary(rng) for _ in range(count)])
    async with anyio.create_task_group() as group:
        for _ in range(4):
            group.start_soon(one, waiting)
    return sorted(tenants, key=lambda tenant: tenant.canary)


async def _tenant(db: Idetic, agent: Agent, word: str) -> Tenant:
    worlds, anchor = Worlds(db), {"org_id": uuid4(), "domain_id": uuid4()}
    world = await worlds.register(anchor["org_id"], anchor["domain_id"], word)
    text = f"Desk 1 of {word} releases a wire only after two clerks have compared it, " * 2
    rule = await worlds.put_rule(anchor["org_id"], world, text)
    principal = Principal.operator(f"operator {word}")
    made = await db.keys.create(agent="world_agent", principal=principal, anchor=anchor)
    tenant = Tenant(word, anchor, rule, made.key)
    async with tenant.bind(agent).session() as session:
        await session.observe_many([_fact(tenant, desk) for desk in (1, 2)])
    operator = tenant.bind(agent, "operator")
    candidates = [entry.id for entry in await operator.list(tier=Tier.PERSISTENT)]
    await operator.dispose(candidates, Outcome.PROMOTE, reason=f"{word} knows it")
    stated = await operator.prefer(f"Call desk 1 {word}.")
    assert stated.entry_id
    tenant.entries += [*candidates, stated.entry_id]
    tenant.receipts.append(stated)
    return tenant


def _fact(tenant: Tenant, desk: int) -> Observation:
    claim = Claim(f"desk {desk}", "is run by", tenant.canary)
    return Observation(f"Desk {desk} is run by {tenant.canary}.", claim=claim, refs=(tenant.rule,))


@dataclass
class Fleet:
    """The tenants over one pool, and what was seen of whom."""

    db: Idetic
    agent: Agent
    tenants: list[Tenant]
    rng: random.Random
    done: Counter[str] = field(default_factory=Counter)
    failed: Counter[str] = field(default_factory=Counter)
    own: int = 0
    leaks: list[str] = field(default_factory=list)
    owner: dict[str, str] = field(default_factory=dict)
    # Without its protections memory may refuse anything; only what gets out counts then.
    control: bool = False

    def __post_init__(self) -> None:
        for tenant in self.tenants:
            for known in (*tenant.anchor.values(), *tenant.entries):
                self.owner[str(known)] = tenant.canary

    async def run(self, times: int) -> None:
        """So many operations, by many workers at once over the pool's few connections.

        Each kind once, and then as they come.
        """
        names, weights = zip(*MIX.items(), strict=True)
        left = iter([*names, *self.rng.choices(names, weights, k=times - len(names))])

        async def work() -> None:
            for name in left:
                await self.one(name)
                if self.control and self.leaks:
                    return

        with _listening(self.heard):
            async with anyio.create_task_group() as group:
                for _ in range(WORKERS):
                    group.start_soon(work)

    async def one(self, name: str) -> None:
        """One operation of one tenant; all that it says is looked through."""
        tenant = self.rng.choice(self.tenants)
        try:
            said = await OPERATIONS[name](self, tenant)
        except EXPECTED as error:
            said = (error, error.remedy)
            self.failed[f"{name}: {type(error).__name__}"] += 1
        except (IdeticError, ValueError) as error:
            # ValueError: of several chains' ends, where one's own is asked for, none is taken.
            if not self.control:
                raise AssertionError(f"{name}: {error!r}") from error
            said = error
        self.done[name] += 1
        if self.done.total() % 10_000 == 0:
            print(f"{self.done.total():,} operations, {len(self.leaks)} leaks", flush=True)
        self.look(name, tenant, told(said), ids=name != "probe")

    def look(self, name: str, tenant: Tenant, text: str, *, ids: bool) -> None:
        """Whether a text holds a canary, or an id, of anybody else."""
        found = CANARY.findall(text)
        self.own += tenant.canary in found
        self.leaks += [f"{name}: canary" for word in found if word != tenant.canary]
        if ids:
            owners = (self.owner.get(one, tenant.canary) for one in UUIDS.findall(text))
            self.leaks += [f"{name}: id" for word in owners if word != tenant.canary]

    def heard(self, message: str) -> None:
        """A log belongs to nobody: no canary at all may be in it."""
        self.leaks += ["log: canary" for _ in CANARY.findall(message)]

    def keep(self, tenant: Tenant, receipt: Receipt) -> Receipt:
        tenant.receipts = [*tenant.receipts[-20:], receipt]
        if receipt.entry_id is not None:
            tenant.entries = [*tenant.entries[-60:], receipt.entry_id]
            self.owner[str(receipt.entry_id)] = tenant.canary
        return receipt

    def other(self, tenant: Tenant) -> Tenant:
        return self.rng.choice([one for one in self.tenants if one is not tenant])


def told(said: Any) -> str:
    """All that a result says: a receipt's detail too, which its own text leaves out."""
    if isinstance(said, list | tuple):
        return " ".join(map(told, said))
    return f"{said!r} {said.detail!r}" if isinstance(said, Receipt) else repr(said)


class _listening(logging.Handler):  # noqa: N801 - reads as a verb
    """Hands every log record to a listener while it lasts."""

    def __init__(self, listener: Callable[[str], None]):
        super().__init__()
        self._listener = listener

    def emit(self, record: logging.LogRecord) -> None:
        self._listener(self.format(record))

    def __enter__(self) -> None:
        logging.getLogger().addHandler(self)

    def __exit__(self, *_: object) -> None:
        logging.getLogger().removeHandler(self)


# --- operations -------------------------------------------------------------------------------

Operation = Callable[[Fleet, Tenant], Awaitable[Any]]
OPERATIONS: dict[str, Operation] = {}
MIX: dict[str, float] = {}


def operation(weight: float) -> Callable[[Operation], Operation]:
    """One of the things that are done, and how often among a hundred or so."""

    def noted(made: Operation) -> Operation:
        name = made.__name__.rstrip("_")
        OPERATIONS[name], MIX[name] = made, weight
        return made

    return noted


async def _session(fleet: Fleet, tenant: Tenant) -> Session:
    if tenant.open is not None:
        return tenant.open
    # Two workers may come for one tenant at once; then one of the sessions stays open, unused.
    opened = await tenant.bind(fleet.agent).session().open()
    assert opened.id
    tenant.sessions = [*tenant.sessions[-5:], opened.id]
    fleet.owner[str(opened.id)] = tenant.canary
    tenant.open = opened
    return opened


def _note(fleet: Fleet, tenant: Tenant) -> Observation:
    desk, rng = fleet.rng.randint(1, DESKS), fleet.rng
    value = f"{tenant.canary} {rng.randint(1, 3)}"
    return Observation(
        f"Desk {desk} told {tenant.canary} about wire {rng.randint(1, 500)}.",
        claim=Claim(f"desk {desk}", "was called by", value) if rng.random() < 0.4 else None,
        envelope={"tags": [tenant.canary, "wires"], "topic": f"desk/{tenant.canary}"},
        refs=(tenant.rule,) if rng.random() < 0.2 else (),
        provenance={"world_model_version": tenant.canary} if rng.random() < 0.2 else None,
        idempotency_key=f"{tenant.canary} {rng.randint(1, 10**9)}" if rng.random() < 0.2 else None,
    )


@operation(26)
async def observe(fleet: Fleet, tenant: Tenant) -> Any:
    session = await _session(fleet, tenant)
    (receipt,) = await session.observe_many([_note(fleet, tenant)])
    return fleet.keep(tenant, receipt)


@operation(1)
async def observe_in_a_thread(fleet: Fleet, tenant: Tenant) -> Any:
    async with (await _session(fleet, tenant)).interaction() as turn:
        receipts = await turn.observe_many([_note(fleet, tenant) for _ in range(4)])
        return receipts, await turn.context(f"what did desk {fleet.rng.randint(1, DESKS)} tell")


@operation(2)
async def close(fleet: Fleet, tenant: Tenant) -> Any:
    session, tenant.open = await _session(fleet, tenant), None
    return await session.close(f"closed by {tenant.canary}")


@operation(14)
async def recall(fleet: Fleet, tenant: Tenant) -> Any:
    query = f"who told what about wire {fleet.rng.randint(1, 30)} at desk 1"
    return await tenant.bind(fleet.agent).recall(query, limit=20)


@operation(4)
async def recall_narrowed(fleet: Fleet, tenant: Tenant) -> Any:
    memory = tenant.bind(fleet.agent, "operator")
    return await memory.recall("desk", envelope={"tags": ["wires"]}, include_archived=True)


@operation(7)
async def context(fleet: Fleet, tenant: Tenant) -> Any:
    return await (await _session(fleet, tenant)).context("who runs desk 1")


@operation(8)
async def list_(fleet: Fleet, tenant: Tenant) -> Any:
    return await tenant.bind(fleet.agent).list(limit=30)


@operation(2)
async def list_across(fleet: Fleet, tenant: Tenant) -> Any:
    """The auditor leaves a key of the anchor open; the tenant it cannot leave open."""
    auditor = Principal.auditor(f"auditor {tenant.canary}")
    return await fleet.agent.bind(org_id=tenant.anchor["org_id"], principal=auditor).list(limit=30)


@operation(5)
async def get(fleet: Fleet, tenant: Tenant) -> Any:
    return await tenant.bind(fleet.agent).get(fleet.rng.choice(tenant.entries))


@operation(4)
async def history(fleet: Fleet, tenant: Tenant) -> Any:
    return await tenant.bind(fleet.agent).history(fleet.rng.choice(tenant.entries))


@operation(2)
async def as_of(fleet: Fleet, tenant: Tenant) -> Any:
    return await tenant.bind(fleet.agent).as_of(fleet.db.clock.now(), limit=30)


_BEHIND = ("lineage", "corroborations", "gates", "contradictions", "disposition", "overdue")


@operation(4)
async def evidence(fleet: Fleet, tenant: Tenant) -> Any:
    memory, verb = tenant.bind(fleet.agent), fleet.rng.choice(_BEHIND)
    if verb in ("contradictions", "disposition", "overdue"):
        return await getattr(memory, verb)(limit=20)
    return await getattr(memory, verb)(fleet.rng.choice(tenant.entries))


@operation(3)
async def authenticated(fleet: Fleet, tenant: Tenant) -> Any:
    memory = await fleet.db.authenticate(tenant.key)
    return memory.scope, await memory.list(limit=10)


@operation(3)
async def asked_from_outside(fleet: Fleet, tenant: Tenant) -> Any:
    kind = fleet.rng.choice(["operator", "customer"])
    return await runner(tenant.bind(fleet.agent, kind)).ask("who runs desk 2", Mode(kind))


@operation(0.5)
async def patterns(fleet: Fleet, tenant: Tenant) -> Any:
    memory, entry = tenant.bind(fleet.agent, "operator"), fleet.rng.choice(tenant.entries)
    return await memory.propose([entry], reason=f"{tenant.canary} lets it go")


@operation(2)
async def prefer(fleet: Fleet, tenant: Tenant) -> Any:
    desk = fleet.rng.randint(1, DESKS)
    text = f"Call desk {desk} {tenant.canary}, time {fleet.rng.randint(1, 9)}."
    claim = Claim(f"desk {desk}", "is called", text)
    return fleet.keep(tenant, await tenant.bind(fleet.agent, "operator").prefer(text, claim=claim))


@operation(3)
async def give_word(fleet: Fleet, tenant: Tenant) -> Any:
    memory, entry = tenant.bind(fleet.agent, "operator"), fleet.rng.choice(tenant.entries)
    if fleet.rng.random() < 0.3:
        return await memory.contradict(entry, tenant.rule, reason=f"{tenant.canary} says so")
    return await vouch(memory, entry, notes=f"{tenant.canary} says so")


@operation(2)
async def act(fleet: Fleet, tenant: Tenant) -> Any:
    memory, action = tenant.bind(fleet.agent), uuid4()
    tenant.actions = [*tenant.actions[-10:], action]
    fleet.owner[str(action)] = tenant.canary
    return await memory.link_action(action, "rule_promotion", [fleet.rng.choice(tenant.entries)])


@operation(2)
async def archive_and_undo(fleet: Fleet, tenant: Tenant) -> Any:
    memory, entry = tenant.bind(fleet.agent, "operator"), fleet.rng.choice(tenant.entries)
    done = await memory.archive(entry, reason=f"{tenant.canary} is done with it")
    return done, await memory.undo(done, reason=f"{tenant.canary} is not")


@operation(0.3)
async def quarantine(fleet: Fleet, tenant: Tenant) -> Any:
    session = fleet.rng.choice(tenant.sessions or [uuid4()])
    memory = tenant.bind(fleet.agent, "operator")
    taken = await memory.quarantine(session_id=session, reason=f"{tenant.canary} is not sure")
    return taken, await memory.release(taken, reason=f"{tenant.canary} is sure")


@operation(0.3)
async def erase(fleet: Fleet, tenant: Tenant) -> Any:
    memory = tenant.bind(fleet.agent, "operator")
    return await memory.erase(f"wire {fleet.rng.randint(1, 500)}", reason=f"for {tenant.canary}")


@operation(1)
async def audit(fleet: Fleet, tenant: Tenant) -> Any:
    memory = tenant.bind(fleet.agent, "auditor")
    verified = await memory.verify(await memory.head())
    # What is not its own is a fault of its chain.
    fleet.leaks += [f"audit: {problem.why}" for problem in verified.problems]
    if not tenant.actions:
        return verified
    action = await memory.explain_action(fleet.rng.choice(tenant.actions))
    return verified, action.explain(), action.as_data()


@operation(1)
async def upkeep(fleet: Fleet, tenant: Tenant) -> Any:
    memory = tenant.bind(fleet.agent, "maintenance")
    verbs = ("embed", "promote", "consolidate", "reconcile", "recover", "rescan", "mark_due")
    return await getattr(memory, fleet.rng.choice(verbs))()


@operation(5)
async def probe(fleet: Fleet, tenant: Tenant) -> Any:
    """With ids that belong to somebody else; nothing of theirs may come of it."""
    other, rng = fleet.other(tenant), fleet.rng
    memory, entry = tenant.bind(fleet.agent, "operator"), rng.choice(other.entries)
    session, open_ = rng.choice(other.sessions or [uuid4()]), await _session(fleet, tenant)
    asked: list[Callable[[], Awaitable[Any]]] = [
        lambda: memory.get(entry),
        lambda: memory.history(entry),
        lambda: memory.archive(entry, reason="curious"),
        lambda: memory.link_action(uuid4(), "rule_promotion", [entry]),
        lambda: vouch(memory, entry),
        lambda: memory.session(session).list(limit=30),
        lambda: memory.quarantine(session_id=session, reason="curious"),
        lambda: memory.erase(other.canary[:-1], reason="curious"),
        lambda: memory.undo(rng.choice(other.receipts).position, reason="curious"),
        lambda: open_.observe("About it.", refs=[other.rule]),
    ]
    return await rng.choice(asked)()
