"""What a key can never do, be made of, or give away."""

from __future__ import annotations

import logging
from datetime import datetime, timedelta
from uuid import uuid4

import psycopg
import pytest

from idetic import Capability, Claim, Idetic, Principal, errors, open_sync
from idetic.spec.loader import load
from tests.conftest import TestDatabase
from tests.support.clock import START
from tests.support.key_house import House
from tests.support.triggers import without_triggers

pytestmark = pytest.mark.anyio
SHARED = True

BRIEF = Claim("output", "style", "brief")


async def test_capabilities_only_narrow(house: House) -> None:
    entry = await house.world.operator.prefer("Be brief.", claim=BRIEF)
    assert entry.entry_id
    made = await house.key(only=[Capability.READ, Capability.OBSERVE])
    memory = await house.db.authenticate(made.key)
    assert len(await memory.list()) == 1
    async with memory.session() as session:
        await session.observe("Seen.")
        with pytest.raises(errors.CapabilityRefused, match="The spec would allow it"):
            await session.prefer("Be full.")
    for refused in (
        memory.archive(entry.entry_id, reason="no"),
        memory.tombstone(entry.entry_id, reason="no"),
        memory.undo(entry, reason="no"),
        memory.reconcile(),
    ):
        with pytest.raises(errors.CapabilityRefused):
            await refused


async def test_a_key_never_grants_what_the_spec_does_not(
    house: House, database: TestDatabase
) -> None:
    with pytest.raises(errors.CapabilityRefused, match="archive"):
        await house.key(Principal.customer("cora"), only=[Capability.READ, Capability.ARCHIVE])
    made = await house.key(Principal.customer("cora"), only=[Capability.READ])
    with psycopg.connect(database.admin_dsn) as connection:
        # Somebody with the database in hand writes more into the row: the spec still decides.
        without_triggers(connection)
        connection.execute(
            "UPDATE idetic.api_keys SET capabilities = %s WHERE key_id = %s",
            ([*Capability, "fly"], made.id),
        )
    memory = await house.db.authenticate(made.key)
    assert memory.scope.capabilities == frozenset(Capability)
    with pytest.raises(errors.CapabilityRefused, match="customer principal may not"):
        await memory.archive(uuid4(), reason="no")


@pytest.mark.alone
async def test_a_spec_that_grants_less_narrows_keys_at_once(house: House) -> None:
    made = await house.key()
    memory = await house.db.authenticate(made.key)
    await memory.prefer("Be brief.", claim=BRIEF)
    spec = load("world_agent").as_data()
    spec["visibility"]["principals"]["operator"].remove("prefer")
    await house.db.agent(spec, apply=True)
    narrowed = await house.db.authenticate(made.key)
    assert narrowed.agent.version == memory.agent.version + 1
    with pytest.raises(errors.CapabilityRefused):
        await narrowed.prefer("Be full.")


async def test_when_a_key_was_used_is_known_by_the_hour(house: House) -> None:
    made = await house.key()
    assert (await house.known(made)).last_used_at is None
    await house.db.authenticate(made.key)
    assert (await house.known(made)).last_used_at == START
    house.clock.advance(minutes=59)
    await house.db.authenticate(made.key)
    assert (await house.known(made)).last_used_at == START
    later = house.clock.advance(minutes=2)
    await house.refused(made.key[:31] + made.key[31:][::-1])
    assert (await house.known(made)).last_used_at == START
    await house.db.authenticate(made.key)
    assert (await house.known(made)).last_used_at == later


@pytest.mark.alone
async def test_the_list_says_everything_but_the_key(house: House) -> None:
    made = await house.key(only=[Capability.READ])
    (known,) = await house.db.keys.list("world_agent")
    assert (known.id, known.agent) == (made.id, "world_agent")
    assert known.principal == Principal.operator("ada")
    assert known.capabilities == frozenset({Capability.READ})
    assert set(known.anchor.values()) == {str(value) for value in house.anchor.values()}
    assert known.created_at == START
    assert made.key.split("_")[2] not in repr(known)
    assert await house.db.keys.list("operator_agent") == []


@pytest.mark.alone
async def test_a_key_is_nowhere_but_with_its_holder(
    house: House, database: TestDatabase, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.DEBUG):
        made = await house.key()
        await house.db.authenticate(made.key)
        new = await house.db.keys.rotate(made.id, grace=timedelta(0))
        said = await house.refused(made.key)
    with psycopg.connect(database.admin_dsn) as connection:
        rows = connection.execute("SELECT t::text FROM idetic.api_keys t").fetchall()
    assert len(rows) == 2
    everything = f"{rows}{said}{caplog.text}{made!r}{await house.db.keys.list()!r}"
    for key in (made.key, new.key):
        secret = key.split("_")[2]
        assert secret not in everything
        assert secret.encode().hex() not in everything


@pytest.mark.parametrize(
    ("changed", "kind"),
    [
        ({"anchor": {}}, errors.AnchorRefused),
        ({"anchor": {"org_id": "x", "domain_id": "y"}}, errors.AnchorRefused),
        ({"anchor": None}, errors.InputError),
        ({"agent": "nobody"}, errors.SpecNotFound),
        ({"agent": None}, errors.SpecNotFound),
        ({"principal": "ada"}, errors.AnchorRefused),
        ({"capabilities": []}, errors.InputError),
        ({"capabilities": ["fly"]}, errors.InputError),
        ({"capabilities": "read"}, errors.InputError),
        ({"capabilities": 7}, errors.InputError),
        ({"capabilities": ["maintain"]}, errors.CapabilityRefused),
        ({"expires_at": START}, errors.InputError),
        ({"expires_at": datetime(2030, 1, 1)}, errors.InputError),  # noqa: DTZ001
        ({"expires_at": "tomorrow"}, errors.InputError),
    ],
    ids=str,
)
async def test_what_no_key_can_be_made_of(
    house: House, changed: dict[str, object], kind: type[errors.IdeticError]
) -> None:
    given = {"agent": "world_agent", "principal": Principal.operator("ada"), "anchor": house.anchor}
    before = await house.db.keys.list()
    with pytest.raises(kind):
        await house.db.keys.create(**{**given, **changed})  # type: ignore[arg-type]
    assert await house.db.keys.list() == before


@pytest.mark.parametrize("grace", [timedelta(seconds=-1), timedelta(days=91), 5, None], ids=str)
async def test_a_grace_is_bounded(house: House, grace: object) -> None:
    made = await house.key()
    with pytest.raises(errors.InputError):
        await house.db.keys.rotate(made.id, grace=grace)  # type: ignore[arg-type]


async def test_managing_keys_needs_the_admin_login(house: House, database: TestDatabase) -> None:
    made = await house.key()
    async with Idetic.open(database.dsn) as db:
        for refused in (db.keys.list(), db.keys.revoke(made.id), db.keys.rotate(made.id)):
            with pytest.raises(errors.CapabilityRefused, match="may not manage keys"):
                await refused
    await house.db.authenticate(made.key)


def test_the_same_without_await(database: TestDatabase) -> None:
    with open_sync(database.dsn, admin_dsn=database.admin_dsn) as db:
        made = db.keys.create(
            agent="world_agent",
            principal=Principal.operator("ada"),
            anchor={"org_id": uuid4(), "domain_id": uuid4()},
        )
        assert db.authenticate(made.key).list() == []
        db.keys.revoke(made.id)
        with pytest.raises(errors.KeyRefused):
            db.authenticate(made.key)
