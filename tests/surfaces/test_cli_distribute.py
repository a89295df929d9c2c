"""`idetic distribute`: a plan that psql can run, clear refusals, a question before it is done."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path

import anyio
import psycopg
import pytest

from idetic import Idetic
from idetic.store.embedded import EmbeddedServer
from tests.conftest import TestDatabase, make_world
from tests.support.citus import placed, roles_kept, stand_in
from tests.support.databases import copy_of
from tests.support.servers import TestServer
from tests.surfaces.cli_runner import Ran, Terminal, administered, called


@pytest.fixture
def place(server: TestServer, template: str) -> Iterator[TestDatabase]:
    with copy_of(server, template) as database, roles_kept(database.admin_dsn):
        yield database


def run(place: TestDatabase, *options: str, stdin: Terminal | str = "") -> Ran:
    return administered(place, "distribute", "world_agent", *options, stdin=stdin)


def test_a_plain_server_plans_and_does_no_more(place: TestDatabase) -> None:
    with psycopg.connect(place.admin_dsn) as connection:
        connection.execute('CREATE TABLE "bad\nSELECT 1;" (org_id uuid, rule_id uuid, '
                           "FOREIGN KEY (org_id, rule_id) REFERENCES worlds.rules)")  # fmt: skip
    planned = run(place, "--plan")
    assert planned.code == 0
    remarks = [line for line in planned.out.splitlines() if line.startswith("-- ")]
    assert "This server has no Citus" in planned.out
    assert sum("primary_key" in line for line in remarks) == 1
    # What a name holds stays a remark, or within quotes.
    assert "\nSELECT 1;" not in planned.out.replace("bad\nSELECT 1;\"'", "")
    data = run(place, "--plan", "--json").json()
    assert (data["citus"], data["distributed"]) == (False, False)
    assert {each["rule"] for each in data["broken"]} == {"primary_key", "tenant_null"}

    for options in ((), ("--yes",), ("--yes", "--json")):
        refused = run(place, *options)
        assert (refused.code, refused.out) == (6, "")
        assert "move-to-citus" in refused.err


def test_the_printed_plan_is_what_is_run(place: TestDatabase) -> None:
    script = run(place, "--plan").out
    stand_in(place)
    with psycopg.connect(place.admin_dsn, autocommit=True) as connection:
        connection.execute(script.encode())
    by_script = placed(place)
    assert len(by_script) == script.count("create_")
    # Afterwards the command finds everything done, and needs no word from anybody.
    again = run(place)
    assert (again.code, again.out.splitlines()[-1]) == (
        0,
        "Nothing to do: every table is where it belongs.",
    )
    with psycopg.connect(place.admin_dsn, autocommit=True) as connection:
        connection.execute("TRUNCATE pg_dist_partition RESTART IDENTITY")
    assert run(place, "--yes", "--json").json()["distributed"] is True
    assert placed(place) == by_script


def test_somebody_is_asked_first(place: TestDatabase) -> None:
    stand_in(place)
    silent = run(place)
    assert (silent.code, "--yes" in silent.err) == (2, True)
    no = run(place, stdin=Terminal("n\n"))
    assert (no.code, no.out.splitlines()[-1]) == (0, "Nothing was changed.")
    assert placed(place) == []
    yes = run(place, stdin=Terminal("y\n"))
    assert yes.code == 0
    assert yes.out.splitlines()[-1].startswith("Distributed. 21 tables by tenant")
    assert "Distribute world_agent?" in yes.err


def test_problems_are_listed_one_by_one(place: TestDatabase) -> None:
    stand_in(place)
    with psycopg.connect(place.admin_dsn) as connection:
        connection.execute("CREATE TABLE public.t (org_id uuid NOT NULL, rule_id uuid, "
                           "FOREIGN KEY (org_id, rule_id) REFERENCES worlds.rules)")  # fmt: skip
    refused = run(place, "--yes")
    assert refused.code == 6
    assert "primary_key · public.t" in refused.err
    assert "→ Give it one that begins with org_id" in refused.err
    (problem,) = run(place, "--yes", "--json").error()["problems"]
    assert problem["path"] == "public.t"


def test_a_memory_with_rows_moves_by_its_dump_in_the_order_of_the_page(
    embedded_server: EmbeddedServer,
    place: TestDatabase,
    empty_database: TestDatabase,
    tmp_path: Path,
) -> None:
    """Tables, the printed plan, rows, the rest; then the command finds everything in its place."""
    scope = anyio.run(remember, place)
    head, dump = str(tmp_path / "head.json"), str(tmp_path / "memory.dump")
    kept = called("verify", *scope, "--save-head", head, "--dsn", place.dsn)
    assert kept.code == 0, kept.err
    tool(embedded_server, "pg_dump", "--format=custom", f"--file={dump}", place.admin_dsn)
    plan = run(place, "--plan")
    assert "-- HOLDS ROWS: " in plan.out

    stand_in(empty_database)
    new = f"--dbname={empty_database.admin_dsn}"
    tool(embedded_server, "pg_restore", "--section=pre-data", new, dump)
    with psycopg.connect(empty_database.admin_dsn, autocommit=True) as connection:
        connection.execute(plan.out.encode())
    tool(embedded_server, "pg_restore", "--section=data", new, dump)
    tool(embedded_server, "pg_restore", "--section=post-data", new, dump)

    moved = run(empty_database)
    assert (moved.code, moved.err) == (0, "")
    assert moved.out.splitlines()[-1].startswith("Nothing to do")
    verified = called("verify", *scope, "--head", head, "--dsn", empty_database.dsn)
    assert verified.code == 0, verified.err


async def remember(place: TestDatabase) -> list[str]:
    """A note in a new world; the options that lead to it."""
    async with Idetic.open(place.dsn, admin_dsn=place.admin_dsn) as db:
        world = await make_world(db, await db.agent("world_agent"))
        await world.operator.prefer("Ask before a transfer is released.")
    return [
        *("--agent", "world_agent", "--as", "auditor:eve"),
        *("--anchor", f"org_id={world.org_id}", "--anchor", f"domain_id={world.domain_id}"),
    ]


def tool(server: EmbeddedServer, name: str, *arguments: str) -> None:
    """Run one of PostgreSQL's own programs, as they come with the embedded server."""
    programs = next(server.home.glob("postgresql-*"))
    done = subprocess.run(
        [str(programs / "bin" / name), *arguments],
        env={"LD_LIBRARY_PATH": str(programs / "lib")},
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.returncode == 0, done.stderr
