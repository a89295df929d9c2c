"""A database and the release that opens it: what fits is brought up to date, or it is refused."""

from __future__ import annotations

import psycopg
import pytest

from idetic import Idetic, errors
from idetic.store.connect import set_up
from idetic.store.migrator import digest_of, migrations
from tests.conftest import TestDatabase

pytestmark = pytest.mark.anyio


def applied(database: TestDatabase) -> list[tuple[int, str, str]]:
    with psycopg.connect(database.admin_dsn) as connection:
        return connection.execute(
            "SELECT number, name, digest FROM idetic.migrations ORDER BY number"
        ).fetchall()


async def test_a_database_keeps_the_digest_of_every_core_file(database: TestDatabase) -> None:
    expected = [(number, name, digest_of(name)) for number, name in migrations()]
    assert applied(database) == expected


@pytest.mark.parametrize("number", [number for number, _ in migrations()])
async def test_a_database_that_other_files_made_is_refused_and_left_alone(
    database: TestDatabase, number: int
) -> None:
    name = dict(migrations())[number]
    with psycopg.connect(database.admin_dsn) as connection:
        connection.execute(
            "UPDATE idetic.migrations SET digest = repeat('0', 64) WHERE number = %s", (number,)
        )
    before = applied(database)
    with pytest.raises(errors.DatabaseUnsupported, match=name) as refused:
        async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn):
            pass
    assert "idetic export" in str(refused.value)
    assert applied(database) == before


async def test_a_database_of_a_newer_release_is_refused(database: TestDatabase) -> None:
    with psycopg.connect(database.admin_dsn) as connection:
        connection.execute(
            "INSERT INTO idetic.migrations (number, name, digest) VALUES (9999, 'later', '')"
        )
    with pytest.raises(errors.DatabaseUnsupported, match="newer Idetic"):
        await set_up(database.admin_dsn)


async def test_what_is_missing_is_applied_once(empty_database: TestDatabase) -> None:
    await set_up(empty_database.admin_dsn)
    before = applied(empty_database)
    await set_up(empty_database.admin_dsn)
    assert applied(empty_database) == before
    assert [number for number, *_ in before] == [number for number, _ in migrations()]
