"""A transaction sends together what tasks ask of it at once; its last statement may end it."""

from __future__ import annotations

import asyncio
from uuid import uuid4

import anyio
import pytest

from idetic import Idetic, errors
from idetic.model import Scope
from idetic.store.database import Transaction
from idetic.store.driver import Rows
from idetic.store.templates import Statement
from tests.support import trace
from tests.support.trace import sending

pytestmark = pytest.mark.anyio
SHARED = True

ONE, TWO, WRONG = (Statement(f"SELECT {what}") for what in ("1", "2", "1 / 0"))


async def scope_of(db: Idetic) -> Scope:
    return (await trace.bound(db)).scope


async def test_what_tasks_ask_at_once_is_one_message(db: Idetic) -> None:
    scope = await scope_of(db)
    with sending() as sent:
        async with db.database.transaction(scope) as run:
            found = await asyncio.gather(run(ONE), run(TWO), run(ONE))
            assert [*found] == [[(1,)], [(2,)], [(1,)]]
    assert len(sent) == 2, "one for all three, and one for the commit"


async def test_control_one_after_the_other_each_is_a_message(db: Idetic) -> None:
    scope = await scope_of(db)
    with sending() as sent:
        async with db.database.transaction(scope) as run:
            assert [await run(ONE), await run(TWO), await run(ONE)] == [[(1,)], [(2,)], [(1,)]]
    assert len(sent) == 4


async def test_who_asks_while_a_message_is_under_way_travels_with_the_next(db: Idetic) -> None:
    scope = await scope_of(db)
    async with db.database.transaction(scope) as run:

        async def later() -> Rows:
            await anyio.sleep(0.05)
            return await run(TWO)

        slow = Statement("SELECT pg_sleep(0.2)::text")
        assert [*await asyncio.gather(run(slow), later())] == [[("",)], [(2,)]]


async def test_an_error_of_one_ends_all_of_them_and_nothing_stays(db: Idetic) -> None:
    scope, named = await scope_of(db), f"idetic.test_{uuid4().hex}"
    set_it = Statement(f"SELECT set_config('{named}', 'set', false)")
    with pytest.raises(errors.IdeticError):
        async with db.database.transaction(scope) as run:
            await asyncio.gather(run(set_it), run(WRONG))
    async with db.database.transaction(scope) as run:
        asked = Statement(f"SELECT coalesce(current_setting('{named}', true), '')")
        assert await run(asked) == [("",)], "on the same connection, the last that was given back"


async def test_a_task_that_is_left_behind_asks_nothing_more(db: Idetic) -> None:
    """Its connection may be another tenant's by then."""
    scope = await scope_of(db)

    async def later(run: Transaction) -> Rows:
        await anyio.sleep(0.1)
        return await run(ONE)

    with pytest.raises(ValueError, match="beside it"):  # noqa: PT012 - it is the block that fails
        async with db.database.transaction(scope) as run:
            left = asyncio.ensure_future(later(run))
            raise ValueError("What failed beside it.")
    with sending() as sent, pytest.raises(asyncio.CancelledError):
        await left
    assert sent == []


async def test_the_last_statement_brings_the_commit_along(db: Idetic) -> None:
    scope = await scope_of(db)
    with sending() as sent:
        async with db.database.transaction(scope) as run:
            run.end_with_next()
            assert await run(ONE) == [(1,)]
    assert len(sent) == 1
