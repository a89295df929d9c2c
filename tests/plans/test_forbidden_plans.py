"""Whatever forbids a kind of plan switches JIT off with it.

A forbidden node that is needed all the same counts as very dear, and what is dear is compiled: on
PostgreSQL 15 with `jit = on`, its default, a recall over 1,000 entries took 2,113 ms and without
it 9. The embedded server has no JIT at all, so nothing else here would tell.
"""

from __future__ import annotations

from collections.abc import Mapping

import psycopg
import pytest

from idetic.store import anchor_scans, recall_statement
from tests.conftest import TestDatabase

_FORBIDS = "enable_"


def careless(settings: Mapping[str, str]) -> bool:
    """Whether settings forbid a plan and leave JIT as it is."""
    forbidding = any(name.startswith(_FORBIDS) and v == "off" for name, v in settings.items())
    return forbidding and settings.get("jit") != "off"


def configured(database: TestDatabase) -> dict[str, dict[str, str]]:
    """The settings of every function that has some."""
    with psycopg.connect(database.admin_dsn) as admin:
        rows = admin.execute(
            "SELECT oid::regprocedure::text, proconfig FROM pg_proc WHERE proconfig IS NOT NULL"
        ).fetchall()
    return {name: dict(one.split("=", 1) for one in settings) for name, settings in rows}


def test_functions_that_forbid_plans_switch_jit_off(database: TestDatabase) -> None:
    found = configured(database)
    forbidding = [n for n, held in found.items() if any(k.startswith(_FORBIDS) for k in held)]
    assert len(forbidding) >= 4, "the guard's three and the look-up of similar texts"
    assert [name for name, held in found.items() if careless(held)] == []


@pytest.mark.parametrize("settings", [recall_statement._SETTINGS, anchor_scans._INDEXED])
def test_statements_that_forbid_plans_switch_jit_off(settings: dict[str, str]) -> None:
    assert not careless(settings)
    left = {name: value for name, value in settings.items() if name != "jit"}
    assert careless(left), "control"
