"""What the guard asks goes through its indexes, as the application role, in a world of rules."""

from __future__ import annotations

import json
from uuid import uuid4

import psycopg

from idetic import Principal, Scope
from idetic.store.scope import anchor_id
from tests.conftest import RULE_TEXT
from tests.support.databases import copy_of
from tests.support.scoped import bind
from tests.support.servers import TestServer

_RULES = """
INSERT INTO worlds.rules (org_id, rule_id, world_id, version, body_text, source_strength,
                          changed_at)
SELECT %(org)s, gen_random_uuid(), %(world)s, 1, body, 'curated', now()
FROM (SELECT string_agg(left(md5(n::text || w::text), 6), ' ') AS body
      FROM generate_series(1, 3000) n, generate_series(1, 20) w GROUP BY n
      UNION ALL SELECT %(text)s) made
"""


def test_every_look_up_of_the_guard_is_by_index(server: TestServer, template: str) -> None:
    org, domain, world = uuid4(), uuid4(), uuid4()
    notices: list[str] = []
    note = f"Somebody wrote this down: {RULE_TEXT} I agree with it."
    with (
        copy_of(server, template) as database,
        psycopg.connect(database.admin_dsn, autocommit=True) as connection,
    ):
        connection.execute(
            "INSERT INTO worlds.worlds VALUES (%s, %s, %s, 'Payments', now())", (org, domain, world)
        )
        connection.execute(_RULES, {"org": org, "world": world, "text": RULE_TEXT})
        connection.execute("ANALYZE worlds.rules, worlds.world_agent_rule_prints")
        connection.add_notice_handler(lambda notice: notices.append(notice.message_primary or ""))
        connection.execute(
            """LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0;
               SET auto_explain.log_nested_statements = on; SET client_min_messages = log"""
        )
        anchor = {"org_id": org, "domain_id": domain}
        scope = Scope("world_agent", anchor, Principal.agent("explorer"))
        with connection.transaction():
            connection.execute("SET LOCAL ROLE idetic_app")
            bind(connection, scope)
            suspects = connection.execute(
                "SELECT worlds.world_agent_rule_suspects_v1(%s, ARRAY[%s::uuid], %s::jsonb)",
                (org, world, json.dumps([{"body": "An ordinary note."}, {"body": note}])),
            ).fetchone()
            found = connection.execute(
                "SELECT worlds.world_agent_rule_restated_v1(%s, %s, %s, ARRAY[%s], now(), NULL)",
                (org, anchor_id([org, domain]), world, note),
            ).fetchone()
    assert suspects == ([2],)
    assert found is not None
    assert found[0]["how"] == "quoted"
    asked = [text for text in notices if "on rules" in text or "_prints" in text]
    assert any("world_agent_rule_prints_pkey" in plan for plan in asked)
    assert any("rules_pkey" in plan for plan in asked)
    for plan in asked:
        assert "Seq Scan" not in plan, plan
        assert "Bitmap" not in plan, plan
