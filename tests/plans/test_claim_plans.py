"""A statement is found by its claim or its words, on tables that nobody has analysed yet."""

from __future__ import annotations

import json
import re
from typing import Any
from uuid import UUID, uuid4

import psycopg

from idetic import Principal, Scope
from idetic.store.scope import anchor_id, entered
from tests.support.databases import copy_of
from tests.support.scoped import bind
from tests.support.servers import TestServer

_CONVOY = """
SELECT w.r_position, w.r_decision FROM worlds.world_agent_convoy_v1(
    %s, now(), 'agent', 'explorer', 1, true, %s::jsonb, %s::jsonb) w
"""


def stated(number: int) -> dict[str, Any]:
    """A preference as the function reads it, with a claim of its own."""
    claim = {"subject": f"subject {number}", "attribute": "tone", "value": str(uuid4())}
    return {
        "receipt": str(uuid4()), "memory": str(uuid4()), "transition": "preferred",
        "tier": "persistent", "typology": "procedural", "body": f"Preference {number}.",
        "envelope": {"claim": claim}, "claim": claim, "origin": "agent", "trust": 1,
        "salt": "00" * 16, "hash": "00" * 32, "detail": {}, "supersede": True,
    }  # fmt: skip


def test_a_claim_and_words_are_looked_up_by_their_indexes(
    server: TestServer, template: str
) -> None:
    org, domain, world = uuid4(), uuid4(), uuid4()
    scope = Scope("world_agent", {"org_id": org, "domain_id": domain}, Principal.agent("explorer"))
    notices: list[str] = []
    with (
        copy_of(server, template) as database,
        psycopg.connect(database.admin_dsn, autocommit=True) as connection,
    ):
        connection.execute(
            "INSERT INTO worlds.worlds VALUES (%s, %s, %s, 'Payments', now())", (org, domain, world)
        )
        connection.execute(
            """LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0;
               SET auto_explain.log_nested_statements = on; SET client_min_messages = log"""
        )
        with connection.transaction():
            connection.execute("SET LOCAL ROLE idetic_app")
            bind(connection, scope)
            connection.execute(
                "SELECT worlds.world_agent_head_v1(%s, %s)", (org, anchor_id([org, domain]))
            )
            first = convoy(connection, org, scope)
            connection.add_notice_handler(lambda told: notices.append(told.message_primary or ""))
            again = convoy(connection, org, scope)
            said = ["7 PREFERENCE!", "Nothing of the kind."]
            worded = connection.execute(
                "SELECT w.number FROM worlds.world_agent_worded_v1(%s, %s, %s) w",
                (org, anchor_id([org, domain]), said),
            ).fetchall()
    assert first == [(n + 1, None) for n in range(200)]
    assert again == [(202 + 2 * n, "UPDATE") for n in range(200)], "each with what it supersedes"
    (plan,) = (text for text in notices if text.count("CTE decided") == 1 and "CTE entry" in text)
    assert "world_agent_claim_idx" in plan, plan
    assert "world_agent_current_idx" not in plan, plan
    assert worded == [(1,)], "the one that stands"
    assert any("world_agent_words_idx" in text for text in notices), notices[-1]
    assert re.search(r"Hash Cond: .*\bold_id", plan), "what is replaced is not sought row by row"
    read = ("world_agent_valid_idx", "world_agent_place_idx")
    anchors = [text for text in notices if any(index in text for index in read)]
    assert anchors == [], "no look-up of an id reads the anchor, nor does a foreign key's"


def convoy(
    connection: psycopg.Connection[Any], org: UUID, scope: Scope
) -> list[tuple[int, str | None]]:
    """Two hundred preferences in one call; the position and the decision of each."""
    places = {"count": 200, "places": "{}", "sessions": "{}", "unread": "{}"}
    calls = json.dumps([one | places for one in entered([scope])])
    items = json.dumps([stated(number) for number in range(200)])
    return connection.execute(_CONVOY, (org, calls, items)).fetchall()
