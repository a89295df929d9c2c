"""`idetic doctor` tells what is wrong, and what to do about it."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from uuid import uuid4

import psycopg
import pytest
from anyio import to_thread
from psycopg import sql

from idetic import Idetic, Principal
from idetic.library import health
from idetic.model import Scope
from idetic.spec.loader import load
from idetic.store.catalog import ServerFacts
from idetic.store.queue import Queue
from tests.conftest import TestDatabase
from tests.support import llm_server
from tests.support.llm_server import Behaviour, LlmServer
from tests.surfaces.cli_runner import administered, called

pytestmark = pytest.mark.anyio


def checks(database: TestDatabase) -> tuple[int, dict[str, dict[str, str]]]:
    ran = administered(database, "doctor", "--json")
    return ran.code, {one["name"]: one for one in json.loads(ran.out)["checks"]}


def test_a_sound_database_is_good(database: TestDatabase) -> None:
    code, found = checks(database)
    assert code == 0
    wanted = ("database", "extensions", "application role", "roles", "row-level security", "specs")
    assert {name: found[name]["verdict"] for name in wanted} == dict.fromkeys(wanted, "good")
    assert "world_agent" in found["specs"]["found"]
    assert {"embedding model", "jobs", "disk"} <= found.keys()


def test_the_reranker_is_looked_for_where_a_spec_asks_for_one(
    database: TestDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "reranker" not in checks(database)[1]
    data = load("world_agent").as_data()
    data["retrieval"]["reranker"] = "cross_encoder"
    (tmp_path / "spec.yaml").write_text(json.dumps(data))
    assert administered(database, "spec", "apply", str(tmp_path / "spec.yaml"), "--yes").code == 0
    monkeypatch.setenv("IDETIC_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("IDETIC_MODEL_DIR", raising=False)
    found = checks(database)[1]["reranker"]
    assert found["verdict"] == "warning"
    assert "idetic model install reranker" in found["remedy"]


@pytest.fixture
def llm(monkeypatch: pytest.MonkeyPatch) -> Iterator[LlmServer]:
    """A server that plays a model, and the settings that lead to it."""
    with llm_server.running() as server:
        monkeypatch.setenv("IDETIC_REASONER_MODEL", "small-model")
        monkeypatch.setenv("IDETIC_REASONER_BASE_URL", server.url)
        monkeypatch.setenv("IDETIC_REASONER_KEY", "sk-hush")
        yield server


def test_a_reasoner_that_is_set_is_asked_once(database: TestDatabase, llm: LlmServer) -> None:
    code, found = checks(database)
    assert (code, found["reasoner"]["verdict"]) == (0, "good")
    assert "small-model at 127.0.0.1" in found["reasoner"]["found"]
    (asked,) = llm.requests
    assert asked.headers["authorization"] == "Bearer sk-hush"
    assert "hush" not in str(found)


@pytest.mark.parametrize(
    ("behaviour", "verdict", "remedy"),
    [
        (llm_server.failing(401), "bad", "Check the reasoner's key"),
        (llm_server.failing(404), "bad", "Check the model's name"),
        (llm_server.failing(503), "bad", "Try again later"),
        (llm_server.refusing, "bad", ""),
        (llm_server.truncated, "warning", "answer_tokens"),
    ],
)
def test_a_reasoner_that_does_not_answer_has_a_remedy(
    database: TestDatabase, llm: LlmServer, behaviour: Behaviour, verdict: str, remedy: str
) -> None:
    llm.script(behaviour)
    code, found = checks(database)
    assert (code, found["reasoner"]["verdict"]) == (int(verdict == "bad"), verdict)
    assert remedy in found["reasoner"]["remedy"]
    assert found["reasoner"]["remedy"]


def test_settings_that_cannot_be_used_are_findings_and_hide_nothing(
    database: TestDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IDETIC_CONFIG", str(tmp_path / "none.toml"))
    code, found = checks(database)
    assert (code, found["settings"]["verdict"]) == (1, "bad")
    assert "none.toml" in found["settings"]["found"]
    assert found["database"]["verdict"] == "good"
    (tmp_path / "none.toml").write_text("[reasoner]\nmodle = 'x'\n")
    assert "reasoner.model" in checks(database)[1]["settings"]["remedy"], "the known ones"
    (tmp_path / "none.toml").write_text(f"[reasoner]\nmodel = 'x'\nkey_file = '{tmp_path}/k'\n")
    code, found = checks(database)
    assert (found["settings"]["verdict"], found["reasoner"]["verdict"]) == ("good", "bad")
    assert "reasoner.key_file" in found["reasoner"]["remedy"]
    monkeypatch.setenv("IDETIC_REASONER_KEY_FILE", "")
    monkeypatch.setenv("IDETIC_LOG", "loud")
    assert "IDETIC_LOG" in checks(database)[1]["settings"]["remedy"]


def test_a_reranker_that_is_off_is_not_missed(
    database: TestDatabase, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "spec.yaml").write_text(
        "agent: tutor\nanchor.keys: school_id\nretrieval: {reranker: cross_encoder}\n"
    )
    assert administered(database, "spec", "apply", str(tmp_path / "spec.yaml"), "--yes").code == 0
    monkeypatch.setenv("IDETIC_HOME", str(tmp_path / "home"))
    monkeypatch.delenv("IDETIC_MODEL_DIR", raising=False)
    assert checks(database)[1]["reranker"]["verdict"] == "warning", "control: it is not here"
    monkeypatch.setenv("IDETIC_RERANKER", "off")
    assert checks(database)[1]["reranker"]["verdict"] == "good"


def test_a_table_without_forced_security_is_bad(database: TestDatabase) -> None:
    with psycopg.connect(database.admin_dsn, autocommit=True) as admin:
        admin.execute("ALTER TABLE worlds.world_agent_memory_reads NO FORCE ROW LEVEL SECURITY")
    code, found = checks(database)
    assert code == 1
    assert "worlds.world_agent_memory_reads" in found["row-level security"]["found"]
    assert "spec apply" in found["row-level security"]["remedy"]


def test_a_table_without_a_policy_is_bad(database: TestDatabase) -> None:
    with psycopg.connect(database.admin_dsn, autocommit=True) as admin:
        found = admin.execute(
            """SELECT polname FROM pg_policy
               WHERE polrelid = 'worlds.world_agent_memory_reads'::regclass"""
        ).fetchall()
        assert found
        for (name,) in found:
            drop = sql.SQL("DROP POLICY {} ON worlds.world_agent_memory_reads")
            admin.execute(drop.format(sql.Identifier(name)))
    code, checked = checks(database)
    assert code == 1
    assert "worlds.world_agent_memory_reads" in checked["row-level security"]["found"]


def test_a_database_that_does_not_open_is_a_finding_among_others() -> None:
    ran = called("doctor", "--dsn", "postgresql://nobody:hush@127.0.0.1:9/x", "--json")
    found = {one["name"]: one for one in ran.json()["checks"]}
    assert ran.code == 1
    assert found["database"]["verdict"] == "bad"
    assert "DSN" in found["database"]["remedy"]
    assert {"embedding model", "disk"} <= found.keys(), "what does not need it is checked anyway"
    assert "hush" not in ran.out
    assert "database" in called("doctor", "--dsn", "postgresql://127.0.0.1:9/x").out


def test_an_old_extension_is_bad_and_says_how_to_renew_it() -> None:
    facts = ServerFacts("15.2", "idetic_app", False, {"vector": "0.7.4", "pg_trgm": "1.6",
                        "btree_gist": "1.7"}, [], [], [], 5, {})  # fmt: skip
    (_, extensions) = health._database(facts)
    assert extensions.verdict == "bad"
    assert "0.8" in extensions.found
    assert "ALTER EXTENSION" in extensions.remedy


async def test_an_old_backlog_and_a_failure_are_told(database: TestDatabase) -> None:
    async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn) as db:
        anchor = {"org_id": str(uuid4()), "domain_id": str(uuid4())}
        scope = Scope("world_agent", anchor, Principal.maintenance("test"))
        await Queue(db.database).enqueue(scope, "embed")
        await Queue(db.database).enqueue(scope, "recover")
    with psycopg.connect(database.admin_dsn, autocommit=True) as admin:
        admin.execute("SET search_path = idetic_jobs")
        admin.execute("UPDATE procrastinate_events SET at = at - interval '1 hour'")
        admin.execute("UPDATE procrastinate_jobs SET status = 'failed' WHERE task_name = 'recover'")
        admin.execute(
            "INSERT INTO failures (job_id, error, reason) SELECT id, 'Busy', 'too busy' "
            "FROM procrastinate_jobs WHERE task_name = 'recover'"
        )
    code, found = await to_thread.run_sync(checks, database)
    assert code == 0, "a warning is no failure"
    assert found["jobs"]["verdict"] == "warning"
    assert "idetic worker" in found["jobs"]["remedy"]
    assert found["job recover"]["found"] == "1 failed: Busy: too busy"


def test_open_catalogs_are_told_where_two_personas_are_apart(database: TestDatabase) -> None:
    assert "catalog" not in checks(database)[1], "nobody to keep it from"
    assert administered(database, "spec", "apply", "persona_agent", "--yes").code == 0
    code, found = checks(database)
    assert (code, found["catalog"]["verdict"]) == (0, "warning")
    assert "close-catalog" in found["catalog"]["remedy"]
    closed = administered(database, "persona", "close-catalog", "--json")
    assert "pg_lock_status()" in json.loads(closed.out)["closed"]
    assert checks(database)[1]["catalog"]["verdict"] == "good"
