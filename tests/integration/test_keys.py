"""API keys as their holder meets them: they stand for a scope, and they end."""

from __future__ import annotations

from datetime import timedelta
from uuid import uuid4

import pytest

from idetic import Capability, Claim, Idetic, errors
from idetic.keys import KeyState, new_key
from tests.conftest import TestDatabase
from tests.support.clock import START
from tests.support.key_house import House

pytestmark = pytest.mark.anyio
SHARED = True

BRIEF = Claim("output", "style", "brief")


async def test_a_key_stands_for_its_scope(house: House) -> None:
    made = await house.key()
    memory = await house.db.authenticate(made.key)
    assert memory.scope == house.world.operator.scope
    assert memory.scope.capabilities is None
    receipt = await memory.prefer("Be brief.", claim=BRIEF)
    assert [entry.id for entry in await house.world.memory.list()] == [receipt.entry_id]


async def test_a_key_holds_in_another_process_too(house: House, database: TestDatabase) -> None:
    made = await house.key()
    # No admin login here: authenticating needs nothing but the application's.
    async with Idetic.open(database.dsn, clock=house.clock) as other:
        assert (await other.authenticate(made.key)).scope == house.world.operator.scope


async def test_one_answer_for_unknown_wrong_expired_and_revoked(house: House) -> None:
    held = await house.key()
    expiring = await house.key(expires_at=START + timedelta(days=1))
    revoked = await house.key()
    await house.db.authenticate(revoked.key)
    await house.db.keys.revoke(revoked.id)
    house.clock.advance(days=1)
    forged = new_key(held.id)
    said = {
        await house.refused(key)
        for key in (new_key(uuid4()).key, forged.key, expiring.key, revoked.key)
    }
    assert said == {str(errors.KeyRefused())}
    await house.db.authenticate(held.key)


@pytest.mark.alone
async def test_a_typo_is_told_without_the_database(db: Idetic, house: House) -> None:
    made = await house.key()
    await db.close()
    with pytest.raises(errors.KeyRefused, match="mistyped"):
        await house.db.authenticate(made.key[:-1] + ("a" if made.key[-1] != "a" else "b"))
    with pytest.raises(errors.DatabaseClosed):
        await house.db.authenticate(made.key)


async def test_a_revoked_key_stops_at_once_and_for_good(house: House) -> None:
    made = await house.key()
    await house.db.authenticate(made.key)
    await house.db.keys.revoke(made.id)
    await house.refused(made.key)
    first = await house.known(made)
    house.clock.advance(hours=1)
    await house.db.keys.revoke(made.id)
    assert (await house.known(made)).revoked_at == first.revoked_at, "twice is fine"
    house.clock.advance(days=-30)
    await house.refused(made.key)


async def test_an_expired_key_stops_on_the_moment(house: House) -> None:
    made = await house.key(expires_at=START + timedelta(hours=2))
    house.clock.advance(hours=2, seconds=-1)
    await house.db.authenticate(made.key)
    house.clock.advance(seconds=1)
    await house.refused(made.key)


async def test_a_rotated_key_holds_until_its_grace_is_over(house: House) -> None:
    old = await house.key(only=[Capability.READ])
    new = await house.db.keys.rotate(old.id, grace=timedelta(hours=6))
    both = [await house.db.authenticate(each.key) for each in (old, new)]
    assert both[0].scope == both[1].scope
    assert both[1].scope.capabilities == frozenset({Capability.READ})
    assert (await house.known(new)).rotated_from == old.id
    house.clock.advance(hours=6)
    await house.refused(old.key)
    await house.db.authenticate(new.key)


async def test_without_a_grace_the_old_key_is_revoked(house: House) -> None:
    old = await house.key()
    new = await house.db.keys.rotate(old.id, grace=timedelta(0))
    assert (await house.known(old)).state(house.clock.now()) is KeyState.REVOKED
    house.clock.advance(days=-1)  # a process whose clock lags behind
    await house.refused(old.key)
    await house.db.authenticate(new.key)


async def test_rotation_never_makes_a_key_live_longer(house: House) -> None:
    ending = START + timedelta(hours=1)
    old = await house.key(expires_at=ending)
    new = await house.db.keys.rotate(old.id, grace=timedelta(days=1))
    assert (await house.known(old)).expires_at == ending
    assert (await house.known(new)).expires_at == ending
    later = START + timedelta(days=30)
    told = await house.db.keys.rotate(new.id, expires_at=later)
    assert (await house.known(told)).expires_at == later


async def test_a_key_is_rotated_once_and_only_while_it_holds(house: House) -> None:
    rotated, revoked = await house.key(), await house.key()
    expired = await house.key(expires_at=START + timedelta(hours=1))
    await house.db.keys.rotate(rotated.id)
    await house.db.keys.revoke(revoked.id)
    house.clock.advance(hours=1)
    for made in (rotated, revoked, expired):
        with pytest.raises(errors.TransitionRefused):
            await house.db.keys.rotate(made.id)
    for change in (house.db.keys.rotate, house.db.keys.revoke):
        with pytest.raises(errors.NotFound, match="no such key"):
            await change(uuid4())
