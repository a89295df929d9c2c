"""`idetic upgrade`: an empty database is set up, an older one is shown, asked about and mended.

What a later release brings is in tests/integration/test_upgrades.py.
"""

from __future__ import annotations

import psycopg
import pytest

import idetic
from idetic.store.family_migration import newest
from idetic.store.migrator import migrations
from tests.conftest import TestDatabase
from tests.support.logins import login
from tests.support.schema_lines import schema_lines
from tests.surfaces.cli_runner import Terminal, administered, called

CORE = migrations()[-1][0]


def outdated(database: TestDatabase) -> None:
    """As after a release that compiles views differently."""
    with psycopg.connect(database.admin_dsn) as connection:
        connection.execute("UPDATE idetic.compiled_objects SET digest = '' WHERE kind = 'view'")


def is_outdated(database: TestDatabase) -> bool:
    with psycopg.connect(database.admin_dsn) as connection:
        row = connection.execute(
            "SELECT EXISTS (SELECT FROM idetic.compiled_objects WHERE digest = '')"
        ).fetchone()
    return bool(row and row[0])


def test_an_empty_database_is_set_up_and_programs_get_a_login(
    empty_database: TestDatabase,
) -> None:
    admin = ("--dsn", empty_database.admin_dsn)
    planned = called("upgrade", "--plan", *admin)
    assert (planned.code, planned.err) == (0, "")
    assert f"core: from 0 to {CORE}" in planned.out.splitlines()
    assert not any("idetic" in line for line in schema_lines(empty_database.admin_dsn))

    done = called("upgrade", *admin)
    assert (done.code, done.err) == (0, "")
    lines = done.out.splitlines()
    assert f"  done  core: set up, {len(migrations())} migrations" in lines
    assert lines[lines.index("Upgraded.") :][:3] == [
        "Upgraded.", f"Idetic {idetic.__version__}", f"core: {CORE}",
    ]  # fmt: skip
    assert "CREATE ROLE my_app LOGIN" in lines[-1]
    with login(empty_database) as (_, dsn):
        listed = called("spec", "list", "--dsn", dsn)
    assert (listed.code, listed.err) == (0, "")
    assert called("upgrade", *admin).out.splitlines()[-1] == "Nothing to do."


def test_it_answers_with_every_version_as_json(database: TestDatabase) -> None:
    outdated(database)
    data = administered(database, "upgrade", "--yes", "--json").json()
    assert data["release"] == idetic.__version__
    assert data["core"] == {"from": CORE, "to": CORE, "migrations": []}
    (agent,) = data["agents"]
    assert (agent["agent"], agent["from_version"], agent["to_version"]) == ("world_agent", 1, 1)
    assert (agent["from"], agent["migrations"], agent["refused"]) == (agent["to"], [], [])
    assert list(agent["counts"]) == ["replace"]
    assert data["done"] == [f"world_agent@1: {agent['counts']['replace']} objects made"]
    again = administered(database, "upgrade", "--json").json()
    assert (again["empty"], again["upgraded"], again["done"]) == (True, False, [])


def test_somebody_is_asked_first(database: TestDatabase) -> None:
    outdated(database)
    silent = administered(database, "upgrade")
    assert (silent.code, "--yes" in silent.err) == (2, True)
    plan = administered(database, "upgrade", "--plan", stdin=Terminal("y\n"))
    assert (plan.code, "to replace" in plan.out, plan.err) == (0, True, "")
    no = administered(database, "upgrade", stdin=Terminal("n\n"))
    assert (no.code, no.out.splitlines()[-1]) == (0, "Nothing was changed.")
    assert is_outdated(database)
    yes = administered(database, "upgrade", stdin=Terminal("y\n"))
    assert yes.code == 0
    assert "backup" in yes.err
    assert yes.out.splitlines()[-1] == f"world_agent@1: family {newest()}"
    assert not is_outdated(database)


def test_a_login_without_the_rights_is_told_what_to_use(database: TestDatabase) -> None:
    outdated(database)
    refused = called("upgrade", "--yes", "--json", "--dsn", database.dsn)
    assert (refused.code, refused.error()["code"]) == (6, "database_unsupported")
    assert "IDETIC_ADMIN_DSN" in refused.error()["remedy"]
    assert is_outdated(database)


@pytest.mark.parametrize("dsn", ["postgresql://127.0.0.1:9/x", "no dsn at all"])
def test_a_database_that_does_not_answer_is_told(dsn: str) -> None:
    ran = called("upgrade", "--json", "--dsn", dsn)
    assert (ran.code, ran.error()["code"]) == (6, "database_unavailable")


def test_doctor_says_the_versions(database: TestDatabase) -> None:
    checks = administered(database, "doctor", "--json").json()["checks"]
    (found,) = (check for check in checks if check["name"] == "versions")
    assert found["verdict"] == "good"
    assert found["found"] == f"core {CORE}, world_agent@1 with family {newest()}"
