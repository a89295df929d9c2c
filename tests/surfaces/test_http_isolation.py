"""Two tenants through HTTP: what one wrote down, no key of the other ever sees.

Every operation that the OpenAPI lists is tried, with the other tenant's own ids. The control runs
the same sweep against a server whose protections are off, and must find what was planted.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from typing import Any
from uuid import uuid4

import psycopg
import pytest
from psycopg import sql

from idetic import Claim, Principal
from idetic.model import PrincipalKind
from tests.support.catalog import tables_of
from tests.support.databases import copy_of
from tests.support.http_house import House, housed
from tests.support.servers import TestServer
from tests.support.voices import vouch

pytestmark = pytest.mark.anyio
CANARY = "canary-7f3a9c"
# Not a canary: whoever tries it has it in their own history.
KEY = "the key of a write"
ALL_TIME = {"since": "2000-01-01T00:00:00Z", "until": "2999-01-01T00:00:00Z"}


class Planted:
    """What the other tenant has: a canary wherever a text can stand, and the ids of it all."""

    def __init__(self) -> None:
        self.entries: list[str] = []
        self.session = uuid4()
        self.interaction = uuid4()
        self.action = uuid4()
        self.contradiction = ""
        self.position = 1


async def plant(house: House) -> Planted:
    done, operator, agent = Planted(), house.other.operator, house.other.memory
    session = await agent.session(done.session).open()
    seen = await session.observe(f"The {CANARY} sings.", refs=[house.other.rule])
    turn = await session.interaction(done.interaction).open()
    heard = await turn.observe(f"A {CANARY} was heard.", envelope={"topic": CANARY})
    liked = await operator.prefer(
        f"Feed the {CANARY}.", claim=Claim("bird", "name", CANARY), idempotency_key=KEY
    )
    assert seen.entry_id
    assert heard.entry_id
    assert liked.entry_id
    done.entries = [str(each.entry_id) for each in (seen, heard, liked)]
    await vouch(operator, liked.entry_id, notes=f"The {CANARY} confirms.")
    await operator.contradict(liked.entry_id, house.other.rule, reason=f"says the {CANARY}")
    (found,) = await operator.contradictions()
    done.contradiction, done.position = str(found.id), liked.position
    kind = house.other.agent.spec.audit.action_kinds[0]
    await operator.link_action(done.action, kind, [seen.entry_id], reason=f"for the {CANARY}")
    return done


def bodies(planted: Planted) -> dict[str, Any]:
    """What to send to each operation that takes a body, in the other tenant's words and ids."""
    why = {"reason": "curious"}
    ref = {"noun": "rule", "id": str(uuid4())}
    place = {"session_id": str(planted.session), "interaction_id": str(planted.interaction)}
    return {
        "open_session": {"id": str(planted.session)},
        "open_interaction": {"id": str(planted.interaction)},
        "close_session": {}, "close_interaction": {},
        "observe": {"text": "Hello there.", **place},
        "observe_many": {"observations": [{"text": "Hello there."}], **place},
        "prefer": {"text": "Look around.", "claim": {"subject": "bird", "attribute": "name",
                                                    "value": "none"}},
        "link_action": {"action_id": str(planted.action), "kind": "rule_promotion",
                        "entries": planted.entries},
        "recall": {"query": "What sings and is fed?", "limit": 200, "include_archived": True,
                   "include_candidates": True},
        "context": {"query": "What sings and is fed?", **place},
        "corroborate": {"source": None},
        "contradict": {"ref": ref, **why},
        "archive": why, "exempt": why, "tombstone": why, "release": why, "forget": why,
        "resolve": {"status": "dismissed", "notes": "curious"},
        "dispose": {"entries": planted.entries, "outcome": "archive", **why},
        "undo": {"position": planted.position, **why},
        "ask": {"question": "What sings and is fed?"},
        "propose": {"entries": planted.entries, **why}, "page_in": why, "page_out": why,
        "decide": {"status": "declined", **why}, "acknowledge": {"position": planted.position},
        "escalate": {"entries": planted.entries, **why},
        "erase": {"identifiers": ["Nobody Atall"], **why}, "erase_anchor": why,
        "quarantine": {"created_by": "operator:ada", **why},
        "verify": {}, "rescan": {},
        "prefer_many": {"preferences": [{"text": "Look here.", "claim": {
            "subject": "bird", "attribute": "name", "value": "some"}}]},
        "about": {"subjects": ["bird", CANARY]}, "tally": {"key": "topic"},
        "note_read": {"entries": planted.entries}, "last_read": {"entries": planted.entries},
        "add": {"messages": "Hello there."}, "extract": {}, "why": {"entries": planted.entries},
        "fact": {"text": "It sings.", "claim": {"subject": "bird", "attribute": "name",
                                                "value": "none"}, "evidence": planted.entries},
        "adopt": {"source": "mem0", "data": [{"id": "m", "memory": "A memory."}]},
        "index_words": {},
    }  # fmt: skip


async def sweep(
    house: House, planted: Planted, kinds: Iterable[PrincipalKind] = tuple(PrincipalKind)
) -> dict[str, int]:
    """How many answers of each operation hold a canary, over every principal's key."""
    seen: dict[str, int] = {}
    async with house.http() as http:
        told = (await http.get("/openapi.json")).json()
    for kind in kinds:
        async with house.http(await house.key(Principal(kind, "mallory"))) as http:
            for path, operations in told["paths"].items():
                for method, operation in operations.items():
                    name = operation["operationId"]
                    for entry in planted.entries:
                        where = path.format(
                            entry_id=entry, session_id=planted.session,
                            interaction_id=planted.interaction, action_id=planted.action,
                            contradiction_id=planted.contradiction, position=planted.position,
                            proposal_id=planted.action,
                        )  # fmt: skip
                        # A body that is not listed would only be refused, and prove nothing.
                        assert "requestBody" not in operation or name in bodies(planted), name
                        query = {"moment": "2999-01-01T00:00:00Z"} if name == "as_of" else {}
                        query |= {"state": "ACTIVE"} if name == "kept" else {}
                        query |= ALL_TIME if name == "written" else {}
                        if name == "list" and entry == planted.entries[0]:
                            query = {"session_id": str(planted.session)}
                        key = {"Idempotency-Key": KEY} if name == "prefer" else {}
                        answer = await http.request(
                            method, where, params=query, headers=key,
                            json=bodies(planted).get(name, {}) if method == "post" else None,
                        )  # fmt: skip
                        assert answer.status_code != 500, (name, answer.text)
                        seen[name] = seen.get(name, 0) + (CANARY in answer.text)
                        if where == path and name != "list":
                            break
    return seen


@pytest.fixture
async def open_house(server: TestServer, template: str, anyio_backend: str) -> AsyncIterator[House]:
    """A server without the predicate, over a database without row-level security."""
    with copy_of(server, template) as database:
        with psycopg.connect(database.admin_dsn) as connection:
            for table in tables_of(connection, "worlds"):
                off = sql.SQL("ALTER TABLE {} DISABLE ROW LEVEL SECURITY")
                connection.execute(off.format(sql.Identifier("worlds", table.name)))
        async with housed(database, module="tests.support.scope_sabotaged") as made:
            yield made


async def test_no_key_of_one_tenant_ever_sees_what_another_wrote(house: House) -> None:
    planted = await plant(house)
    seen = await sweep(house, planted)
    assert len(seen) > 40
    assert {name: count for name, count in seen.items() if count} == {}
    theirs = await house.other.operator.list(limit=1_000)
    assert {str(entry.id) for entry in theirs} >= set(planted.entries), "and nothing was touched"


async def test_their_own_key_sees_it(house: House) -> None:
    """The sweep's words can find a canary: only the key keeps it from them."""
    async with house.http(await house.key(world=house.other)) as http:
        found = await http.post("/v1/recall", json={"query": "What sings and is fed?"})
        assert CANARY in found.text


async def test_control_with_the_protections_off_the_sweep_finds_canaries(open_house: House) -> None:
    seen = await sweep(open_house, await plant(open_house), [PrincipalKind.OPERATOR])
    told = {"list", "get", "history", "recall", "written", "unembedded"}
    assert told <= {name for name, count in seen.items() if count}
