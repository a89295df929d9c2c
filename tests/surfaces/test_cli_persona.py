"""`idetic persona check` and `idetic dream`."""

from __future__ import annotations

from pathlib import Path

import anyio
import pytest

from idetic import Identity, Idetic
from idetic.embed import BgeSmall
from idetic.persona.events import EventKind, Persona
from tests.conftest import TestDatabase
from tests.surfaces.cli_runner import called, process

GOOD = "agent_id: help-desk\ninstructions: Be brief.\nversion: 3\n"
BAD = "agent_id: help desk\nactor: {recency_half_life_seconds: 0, mood: blue}\n"


@pytest.fixture
def good(tmp_path: Path) -> str:
    path = tmp_path / "good.yaml"
    path.write_text(GOOD, encoding="utf-8")
    return str(path)


@pytest.fixture
def bad(tmp_path: Path) -> str:
    path = tmp_path / "bad.yaml"
    path.write_text(BAD, encoding="utf-8")
    return str(path)


def test_a_good_identity_is_valid(good: str) -> None:
    ran = called("persona", "check", good)
    assert ran.code == 0
    assert ran.out == f"{good}: valid, help-desk version 3\n"
    assert called("persona", "check", good, "--json").json() == {
        "identities": [{"file": good, "valid": True, "agent_id": "help-desk", "version": 3}]
    }


def test_every_problem_is_listed_and_hides_no_other_file(good: str, bad: str) -> None:
    ran = called("persona", "check", bad, good)
    assert ran.code == 5
    for said in (
        "agent_id (line 1)",
        "actor.recency_half_life_seconds (line 2)",
        "actor.mood (line 2)",
    ):
        assert said in ran.out
    assert "more than 0" in ran.out
    assert "good.yaml: valid" in ran.out
    found = called("persona", "check", bad, "--json").json()["identities"][0]
    assert found["error"]["code"] == "identity_invalid"
    assert len(found["error"]["problems"]) == 3


@pytest.mark.parametrize("name", ["none.yaml", ".", "\x1b[2J.yaml"])
def test_a_file_that_is_not_there_is_no_traceback(name: str) -> None:
    ran = called("persona", "check", name)
    assert ran.code == 5
    assert "→" in ran.out
    assert "\x1b" not in ran.out


async def _write_undreamt(database: TestDatabase, embedder: BgeSmall | None) -> None:
    opened = Idetic.open(database.dsn, admin_dsn=database.admin_dsn, embedder=embedder)
    async with opened as db:
        memory = await db.persona(Identity("help-desk"), tenant="acme", derive=False)
        for persona in Persona:
            async with memory.loop("a task", persona) as loop:
                await loop.append(EventKind.USER_INPUT, "Where is order 1138?")
                await loop.append(EventKind.ERROR, "The wire is cut.")


def test_a_dream_covers_what_was_left_and_says_so(
    database: TestDatabase,
    embedder: BgeSmall,
    model_path: Path,
    good: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("IDETIC_MODEL_DIR", str(model_path))
    anyio.run(_write_undreamt, database, embedder)
    ran = called("dream", good, "--tenant", "acme", "--dsn", database.dsn, "--json")
    assert ran.code == 0, ran.err
    told = ran.json()
    assert told["equal"] is True
    assert told["derived"] == 4
    actor = told["coverage"]["actor"]
    assert (actor["events"], actor["ltm"], actor["vectors"]) == (2, 2, 2)
    assert (actor["loops"], actor["stm"], actor["without_stm"]) == (1, 1, [])
    assert "actor entries: 2 of 2" in ran.err
    again = called("dream", good, "--tenant", "acme", "--dsn", database.dsn)
    assert again.code == 0
    assert "0 entries derived" in again.out
    assert "Everything is covered." in again.out


def test_a_dream_without_a_model_lists_what_has_no_vector_and_ends_with_1(
    database: TestDatabase, good: str, tmp_path: Path
) -> None:
    anyio.run(_write_undreamt, database, None)
    ran = process(
        "dream", good, "--tenant", "acme", "--dsn", database.dsn, IDETIC_MODEL_DIR=str(tmp_path)
    )
    assert ran.code == 1
    assert "entries without a vector: " in ran.out
    assert "idetic model status" in ran.out
    assert "Traceback" not in ran.err


def test_a_dream_of_a_bad_identity_touches_no_database(bad: str) -> None:
    ran = called("dream", bad, "--tenant", "acme", "--dsn", "host=/nowhere", "--json")
    assert ran.code == 5
    assert ran.error()["code"] == "identity_invalid"


def test_a_dream_without_a_tenant_is_bad_input(good: str) -> None:
    assert called("dream", good).code == 2
