"""Proposals and revision signals: from memory through the outbox to a receiver, and back."""

from __future__ import annotations

import hmac
import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import contextmanager
from functools import partial
from hashlib import sha256
from http.server import BaseHTTPRequestHandler, HTTPServer
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest

from idetic import ContradictionStatus, Idetic, Principal, errors
from idetic.evidence import OutboxMessage, Proposal, ProposalKind, ProposalStatus
from idetic.jobs.handlers import deliver
from idetic.jobs.leases import Backoff
from idetic.jobs.worker import Worker
from idetic.library.handles import Memory
from idetic.library.webhook import Webhook, WebhookSettings, signature
from tests.conftest import TestDatabase, World, make_world

pytestmark = pytest.mark.anyio

SAID = "Operators override the weekend limit whenever queues grow, says {}."
LEFT = SAID.format("[identifier]")
SIGNALLED = ContradictionStatus.PROMOTED
_LONG_AGO = "UPDATE idetic_jobs.failures SET failed_at = failed_at - interval '11 minutes'"


async def proposed(world: World, *names: str) -> Proposal:
    noted = [await world.operator.prefer(SAID.format(one), refs=[world.rule]) for one in names]
    ids = [one.entry_id for one in noted if one.entry_id]
    return (await world.operator.propose(ids, reason="seen in two deployments")).proposals[0]


async def signalled(world: World, text: str = SAID.format("PAY-4701")) -> tuple[UUID, int]:
    """A contradiction that an operator made a revision signal: its entry, and the decision."""
    memory = world.operator
    entry = (await memory.prefer(text)).entry_id
    assert entry is not None
    await memory.contradict(entry, world.rule, reason="it is done otherwise")
    (found,) = await memory.contradictions()
    await memory.resolve(found.id, ContradictionStatus.SURFACED, notes="asked the desk")
    done = await memory.resolve(found.id, SIGNALLED, notes="the rule should change")
    return entry, done.position


class RuleDesk:
    """Another context in the same process: it keeps what it was handed, and may be away."""

    def __init__(self) -> None:
        self.taken: list[OutboxMessage] = []
        self.away = 0

    async def receive(self, message: OutboxMessage) -> None:
        if self.away:
            self.away -= 1
            raise OSError("away")
        self.taken.append(message)


@pytest.fixture
async def desk() -> RuleDesk:
    return RuleDesk()


@pytest.fixture
async def house(database: TestDatabase, desk: RuleDesk) -> AsyncIterator[tuple[Idetic, World]]:
    """A world whose database has a receiver."""
    opened = Idetic.open(database.dsn, admin_dsn=database.admin_dsn, receiver=desk)
    async with opened as db:
        yield db, await make_world(db, await db.agent("world_agent"))


def anchor(world: World) -> dict[str, Any]:
    return {"org_id": world.org_id, "domain_id": world.domain_id}


async def whole(world: World) -> bool:
    found = await world.bind(Principal.auditor("eve")).verify()
    return not found.problems


# --- rows ---------------------------------------------------------------------------------------


async def test_a_pattern_becomes_a_proposal_and_its_acceptance_rests_on_the_entries(
    world: World,
) -> None:
    made = await proposed(world, "PAY-4711", "PAY-4712")
    assert (made.kind, made.statement) == (ProposalKind.RULE_CANDIDATE, LEFT)
    assert (made.support["entries"], made.support["removed"]) == (2, 2)
    assert [ref.id for ref in made.refs] == [world.rule.id]
    assert await world.operator.proposals() == [made]
    rule, reason = uuid4(), "Rule 12 says it now."
    await world.operator.decide(made.id, ProposalStatus.ACCEPTED, reason=reason, action=rule)
    (accepted,) = await world.operator.proposals(status=[ProposalStatus.ACCEPTED])
    assert (accepted.decided_by, accepted.decision_reason) == ("operator:ada", reason)
    told = await world.bind(Principal.auditor("eve")).explain_action(rule)
    assert told.kind == "rule_candidate_accepted"
    assert {one.then.body_text for one in told.entries if one.then} == {
        SAID.format(f"PAY-471{n}") for n in (1, 2)
    }
    assert await whole(world)


async def test_what_needs_its_deployment_to_mean_anything_stays_and_says_so(world: World) -> None:
    bare = (await world.operator.prefer("Ask PAY-4713.")).entry_id
    assert bare is not None
    found = await world.operator.propose([bare], reason="for the board")
    assert (found.proposals, list(found.refused)) == ((), [bare])
    assert (await world.operator.history(bare))[-1].transition == "aggregation_refused"
    assert await world.operator.outbox() == []


async def test_an_open_proposal_is_not_made_twice(world: World) -> None:
    made = await proposed(world, "PAY-4701")
    assert (await proposed(world, "PAY-4702")).id == made.id
    assert len(await world.operator.outbox()) == 1
    await world.operator.decide(made.id, ProposalStatus.DECLINED, reason="not now")
    assert (await proposed(world, "PAY-4703")).id != made.id


async def test_a_proposal_is_decided_once_and_by_who_may(world: World) -> None:
    made = await proposed(world, "PAY-4701")
    with pytest.raises(errors.CapabilityRefused):
        await world.memory.decide(made.id, ProposalStatus.ACCEPTED, reason="no")
    with pytest.raises(errors.InputError):
        await world.operator.decide(made.id, ProposalStatus.OPEN, reason="no")
    with pytest.raises(errors.NotFound):
        await world.operator.decide(uuid4(), ProposalStatus.DECLINED, reason="no")
    decline = partial(world.operator.decide, made.id, ProposalStatus.DECLINED, reason="not now")
    first, again = await decline(idempotency_key="k1"), await decline(idempotency_key="k1")
    assert (again.id, again.replayed) == (first.id, True)
    with pytest.raises(errors.TransitionRefused, match="declined already"):
        await world.operator.decide(made.id, ProposalStatus.ACCEPTED, reason="after all")


async def test_the_database_itself_lets_nobody_decide_twice(
    world: World, database: TestDatabase
) -> None:
    made = await proposed(world, "PAY-4701")
    await world.operator.decide(made.id, ProposalStatus.DECLINED, reason="not now")
    change = (
        "UPDATE worlds.world_agent_memory_proposals SET proposal_status = 'accepted'"
        " WHERE proposal_id = %s"
    )
    with psycopg.connect(database.admin_dsn) as raw:
        with pytest.raises(psycopg.Error, match="declined cannot become accepted"):
            raw.execute(change, (made.id,))
        raw.rollback()
        # The control: without the trigger the change goes through, and verification finds it.
        raw.execute("ALTER TABLE worlds.world_agent_memory_proposals DISABLE TRIGGER turn")
        raw.execute(change, (made.id,))
        raw.execute("ALTER TABLE worlds.world_agent_memory_proposals ENABLE TRIGGER turn")
    found = await world.bind(Principal.auditor("eve")).verify()
    assert [(one.what, one.kind) for one in found.problems] == [("proposal", "altered")]


PLANTED = (
    "INSERT INTO {t} (org_id, anchor_id, proposal_id, memory_id, proposal_kind, support,"
    " proposed_at, proposed_by) SELECT org_id, anchor_id, gen_random_uuid(), memory_id,"
    " proposal_kind, support, proposed_at, proposed_by FROM {t}"
)


@pytest.mark.parametrize(
    ("change", "kind"),
    [
        ("UPDATE {t} SET statement = 'another'", "altered"),
        ("UPDATE {t} SET support = '{{}}'", "altered"),
        ("UPDATE {t} SET proposed_by = 'operator:mallory'", "altered"),
        ("DELETE FROM {t}", "missing"),
        (PLANTED, "inserted"),
    ],
)
async def test_verification_finds_a_forged_proposal(
    world: World, database: TestDatabase, change: str, kind: str
) -> None:
    await proposed(world, "PAY-4701")
    assert await whole(world)
    with psycopg.connect(database.admin_dsn) as raw:
        raw.execute("SET session_replication_role = replica")
        raw.execute(change.format(t="worlds.world_agent_memory_proposals").encode())
    found = await world.bind(Principal.auditor("eve")).verify()
    assert [(one.what, one.kind) for one in found.problems] == [("proposal", kind)]


async def test_erasing_the_entry_empties_the_statement_and_the_chain_stays_whole(
    world: World,
) -> None:
    made = await proposed(world, "Zora Quell")
    assert made.statement is not None
    reason = "Zora Quell agreed."
    await world.operator.decide(made.id, ProposalStatus.ACCEPTED, reason=reason)
    done = await world.operator.erase(["Zora Quell"], reason="request 17")
    assert done.removed["proposals"] == (str(made.id),)
    (left,) = await world.operator.proposals(status=[ProposalStatus.ACCEPTED])
    assert (left.statement, left.decision_reason) == (None, None)
    assert await whole(world)


# --- revision signals ---------------------------------------------------------------------------


async def test_a_contradiction_that_is_promoted_leaves_as_a_signal(world: World) -> None:
    entry, _ = await signalled(world)
    (made,) = await world.operator.proposals()
    assert (made.kind, made.statement) == (ProposalKind.REVISION_SIGNAL, LEFT)
    assert [ref.id for ref in made.refs] == [world.rule.id]
    (message,) = await world.operator.outbox()
    assert (message.event, message.proposal_id) == ("revision_signalled", made.id)
    change_set = uuid4()
    await world.operator.decide(
        made.id, ProposalStatus.ACCEPTED, reason="Changed.", action=change_set
    )
    told = await world.bind(Principal.auditor("eve")).explain_action(change_set)
    assert [one.id for one in told.entries] == [entry]
    assert await whole(world)


async def test_a_signal_whose_words_may_not_leave_names_the_rule_alone(world: World) -> None:
    await signalled(world, "Ask PAY-4713.")
    (message,) = await world.operator.outbox()
    assert (message.statement, [ref.id for ref in message.refs]) == (None, [world.rule.id])


async def test_undoing_the_promotion_withdraws_the_signal(world: World) -> None:
    _, position = await signalled(world)
    await world.operator.undo(position, reason="too early")
    (made,) = await world.operator.proposals(status=[ProposalStatus.WITHDRAWN])
    events = [one.event for one in await world.operator.outbox()]
    assert events == ["revision_signalled", "proposal_withdrawn"]
    assert (made.decision_reason, await whole(world)) == ("too early", True)


async def test_a_signal_that_was_accepted_cannot_be_undone(world: World) -> None:
    _, position = await signalled(world)
    (made,) = await world.operator.proposals()
    await world.operator.decide(made.id, ProposalStatus.ACCEPTED, reason="Changed.")
    with pytest.raises(errors.TransitionRefused, match="accepted it"):
        await world.operator.undo(position, reason="too late")


# --- the outbox ---------------------------------------------------------------------------------


def identities(world: World, memory: Memory) -> list[str]:
    return [str(world.org_id), str(world.domain_id), memory.scope.principal.name]


async def test_a_message_names_nobody(world: World) -> None:
    made = await proposed(world, "PAY-4701")
    (message,) = await world.operator.outbox()
    assert message.proposal_id == made.id
    entries = [str(one.id) for one in await world.operator.list()]
    for name in (*identities(world, world.operator), *entries, "PAY-4701"):
        assert name not in repr(message)


async def test_messages_stay_until_they_are_acknowledged_in_their_order(world: World) -> None:
    made = await proposed(world, "PAY-4701")
    await signalled(world, "Weekend limits are raised by the desk, says PAY-4702.")
    await world.operator.decide(made.id, ProposalStatus.WITHDRAWN, reason="a mistake")
    first, second, third = await world.operator.outbox()
    events = [one.event for one in (first, second, third)]
    assert events == ["rule_proposed", "revision_signalled", "proposal_withdrawn"]
    assert await world.operator.outbox(limit=1) == [first], "nothing was acknowledged"
    await world.operator.acknowledge(second.position)
    assert await world.operator.outbox() == [third]
    await world.operator.acknowledge(first.position)
    assert await world.operator.outbox() == [third], "an older one takes nothing back"
    with pytest.raises(errors.InputError, match="No message"):
        await world.operator.acknowledge(third.position + 1)
    assert await whole(world)


async def test_another_tenant_sees_and_decides_nothing(world: World, other_world: World) -> None:
    made = await proposed(world, "PAY-4701")
    assert await other_world.operator.outbox() == []
    assert await other_world.operator.proposals() == []
    with pytest.raises(errors.NotFound):
        await other_world.operator.decide(made.id, ProposalStatus.ACCEPTED, reason="mine")
    assert [one.id for one in await world.operator.proposals()] == [made.id]


async def test_a_worker_hands_over_each_message_until_it_is_taken(
    house: tuple[Idetic, World], desk: RuleDesk
) -> None:
    db, world = house
    made = await proposed(world, "PAY-4701")
    await world.operator.decide(made.id, ProposalStatus.WITHDRAWN, reason="a mistake")
    desk.away = 1
    with pytest.raises(OSError, match="away"):
        await deliver(db, "world_agent", anchor(world))
    assert (desk.taken, len(await world.operator.outbox())) == ([], 2)
    assert (await Worker(db).drain()).failed == 0
    assert [one.event for one in desk.taken] == ["rule_proposed", "proposal_withdrawn"]
    assert await world.operator.outbox() == []
    assert (await Worker(db).drain()).failed == 0
    assert len(desk.taken) == 2, "what was acknowledged does not come again"


async def test_a_receiver_that_was_away_for_long_gets_all_of_it_in_order(
    house: tuple[Idetic, World], desk: RuleDesk, database: TestDatabase
) -> None:
    """Longer than a job is tried: it rests for ten minutes, and then begins anew."""
    db, world = house
    made = await proposed(world, "PAY-4701")
    await world.operator.decide(made.id, ProposalStatus.WITHDRAWN, reason="a mistake")
    desk.away = 1
    assert (await Worker(db, backoff=Backoff(attempts=1)).drain()).failed == 1
    await Worker(db).drain()
    assert desk.taken == [], "it rests"
    with psycopg.connect(database.admin_dsn) as admin:
        admin.execute(_LONG_AGO)
    assert (await Worker(db).drain()).failed == 0
    assert [one.event for one in desk.taken] == ["rule_proposed", "proposal_withdrawn"]
    assert await world.operator.outbox() == []


async def test_a_crash_before_the_acknowledgement_brings_a_message_again(
    house: tuple[Idetic, World], desk: RuleDesk, monkeypatch: pytest.MonkeyPatch
) -> None:
    db, world = house
    await proposed(world, "PAY-4701")

    async def dies(*_: object) -> None:
        raise OSError("killed")

    with monkeypatch.context() as during:
        during.setattr(Memory, "acknowledge", dies)
        with pytest.raises(OSError, match="killed"):
            await deliver(db, "world_agent", anchor(world))
    await deliver(db, "world_agent", anchor(world))
    first, again = desk.taken
    assert (first, await world.operator.outbox()) == (again, [])


# --- the webhook --------------------------------------------------------------------------------

SECRET = "a secret of the rule desk"


class Heard:
    """An HTTP server that keeps what it was sent, and answers with the next status."""

    def __init__(self) -> None:
        self.bodies: list[tuple[str, bytes]] = []
        self.statuses: list[int] = []
        self.url = ""


@contextmanager
def listening() -> Iterator[Heard]:
    heard = Heard()

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["Content-Length"]))
            heard.bodies.append((self.headers["Idetic-Signature"], body))
            self.send_response(heard.statuses.pop(0) if heard.statuses else 204)
            self.send_header("Location", "/elsewhere")
            self.send_header("Content-Length", "0")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    server = HTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    heard.url = f"http://127.0.0.1:{server.server_port}/outbox"
    try:
        yield heard
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def is_signed(header: str, body: bytes, secret: str) -> bool:
    """What a receiver does, from the page and without our code."""
    moment, found = (part.split("=", 1)[1] for part in header.split(","))
    made = hmac.new(secret.encode(), f"{moment}.".encode() + body, sha256).hexdigest()
    return hmac.compare_digest(found, made)


async def test_a_webhook_is_sent_signed_messages_until_it_takes_them(
    house: tuple[Idetic, World],
) -> None:
    db, world = house
    made = await proposed(world, "PAY-4701")
    with listening() as heard:
        db.receiver = Webhook(heard.url, SECRET)
        heard.statuses = [500, 302]
        for _ in range(2):
            with pytest.raises(OSError, match="answered"):
                await deliver(db, "world_agent", anchor(world))
        assert len(await world.operator.outbox()) == 1
        assert await deliver(db, "world_agent", anchor(world)) == {"delivered": 1}
    assert len(heard.bodies) == 3, "a redirect is an answer and no address"
    header, body = heard.bodies[-1]
    assert str(made.id).encode() in body
    assert is_signed(header, body, SECRET)
    # The controls: another secret, another body.
    assert not is_signed(header, body, SECRET + "!")
    assert not is_signed(header, body + b" ", SECRET)


def test_a_signature_is_over_the_moment_too() -> None:
    assert signature(SECRET, 1, b"{}") != signature(SECRET, 2, b"{}").replace("t=2", "t=1")


@pytest.mark.parametrize(
    ("url", "secret"),
    [
        ("rules.example", SECRET),
        ("ftp://rules.example", SECRET),
        ("https://ada:pw@rules.example", SECRET),
        ("https://rules.example", "short"),
        ("https://rules.example", None),
    ],
)
def test_a_webhook_needs_an_address_and_a_secret(url: str, secret: str | None) -> None:
    with pytest.raises(errors.InputError, match=r"webhook\."):
        WebhookSettings.model_validate({"url": url, "secret": secret}).receiver()
    assert WebhookSettings().receiver() is None
