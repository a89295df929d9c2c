"""The command line within one tenant: no word of another's, whatever ids are typed.

The controls take the protections away, and then the same commands do show them.
"""

from __future__ import annotations

from collections.abc import Iterator

import psycopg
import pytest
from psycopg import sql

from tests.security.test_mcp_isolation import Planted, _plant, seen, state
from tests.support.aside import run
from tests.support.catalog import tables_of
from tests.support.databases import copy_of
from tests.support.servers import TestServer
from tests.surfaces.cli_runner import called


@pytest.fixture
def planted(server: TestServer, template: str) -> Iterator[Planted]:
    with copy_of(server, template) as database:
        yield run(_plant, database)


def asked(planted: Planted, *words: str, who: str = "operator:ada") -> str:
    scope = [*planted.house.mine.scope_words, "--as", who, "--dsn", planted.house.database.dsn]
    ran = called(*words, *scope)
    assert "Traceback" not in ran.err
    return ran.out + ran.err


def walk(planted: Planted) -> str:
    """Every command that reads or writes memory, with every id of theirs."""
    said = [asked(planted, "list", "--json"), asked(planted, "list", "--limit", "1000")]
    for word in (*planted.words, "Their note", "Their preference"):
        # Not as JSON, which repeats the question.
        said += [asked(planted, "recall", word), asked(planted, "context", word)]
    for entry in map(str, (planted.note, planted.preference)):
        said.append(asked(planted, "history", entry, "--json"))
        said.append(asked(planted, "dispose", "archive", entry, "--reason", "mine now"))
    session, action = str(planted.session), str(planted.action)
    said += [
        asked(planted, "context", "note", "--session", session),
        asked(planted, "observe", "I was here.", "--session", session),
        asked(planted, "close", session),
        asked(planted, "contradictions", "--json"),
        asked(planted, "disposition", "--json"),
        asked(planted, "explain", action, "--json", who="auditor:ben"),
        asked(planted, "verify", "--json", who="auditor:ben"),
        asked(planted, "erase", planted.words[0], "--reason", "mine", "--yes", "--json"),
        asked(planted, "embed", "--json", who="maintenance:m"),
    ]
    return "\n".join(said)


def test_no_canary_and_nothing_of_theirs_is_touched(planted: Planted) -> None:
    before = state(planted)
    assert seen(walk(planted), planted) == []
    assert state(planted) == before


def policies_off(planted: Planted) -> None:
    with psycopg.connect(planted.house.database.admin_dsn) as admin:
        for table in tables_of(admin, "worlds"):
            off = sql.SQL("ALTER TABLE {} DISABLE ROW LEVEL SECURITY")
            admin.execute(off.format(sql.Identifier("worlds", table.name)))


@pytest.mark.usefixtures("no_predicate")
def test_nor_with_the_predicate_forgotten(planted: Planted) -> None:
    assert seen(asked(planted, "list", "--json"), planted) == []


def test_nor_with_row_level_security_off(planted: Planted) -> None:
    policies_off(planted)
    assert seen(asked(planted, "list", "--json"), planted) == []


@pytest.mark.usefixtures("no_predicate")
def test_control_with_neither_they_are_seen(planted: Planted) -> None:
    policies_off(planted)
    assert set(seen(asked(planted, "list", "--json"), planted)) == set(planted.words)


def test_control_in_their_own_scope_they_are_seen(planted: Planted) -> None:
    scope = [*planted.house.theirs.scope_words, "--as", "operator:ada"]
    ran = called("list", "--json", *scope, "--dsn", planted.house.database.dsn)
    assert set(seen(ran.out, planted)) == set(planted.words)
