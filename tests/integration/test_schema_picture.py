"""The picture of the tables in the documentation is the catalog's."""

from __future__ import annotations

import psycopg

from tests.conftest import TestDatabase
from tests.support.schema_picture import PICTURE, draw


def test_the_picture_of_the_tables_is_what_the_catalog_says(database: TestDatabase) -> None:
    with psycopg.connect(database.admin_dsn) as connection:
        drawn = draw(connection)
    assert PICTURE.read_text("utf-8") == drawn, "run: make drawings"


def test_control_another_foreign_key_is_another_picture(database: TestDatabase) -> None:
    with psycopg.connect(database.admin_dsn) as connection:
        connection.execute(
            "ALTER TABLE worlds.world_agent_memory_reads DROP CONSTRAINT world_agent_reads_pkey"
        )
        assert draw(connection) != PICTURE.read_text("utf-8")
        connection.rollback()
