"""Forgetting one fact, listing anchors, and the document for a user."""

from __future__ import annotations

import json
from pathlib import Path
from uuid import UUID, uuid4

import psycopg
import pytest

from idetic import Claim, Decision, EntryState, Principal, Tier, errors
from idetic.library.handles import Memory
from idetic.lifecycle.forgetting import chosen
from idetic.transfer.disclosure import DisclosureForm
from tests.conftest import make_world
from tests.integration.test_erasure import hits
from tests.integration.test_retention import House
from tests.integration.test_retention import house as house  # noqa: PLC0414 - the fixture

pytestmark = pytest.mark.anyio
SHARED = True

LINEAGE = "worlds.world_agent_memory_lineage"


async def made_of_two(house: House) -> tuple[UUID, UUID, UUID]:
    """An entry of a session, made of two notes that an action keeps: (one, other, made)."""
    session = await house.world.memory.session().open()
    turn = await session.interaction().open()
    claim = Claim("ada", "avoids", "peanuts")
    first = await turn.observe("Ada avoids peanuts.", claim=claim)
    second = await turn.observe("She cannot have those.", claim=claim)
    assert first.entry_id
    assert second.entry_id
    keep = [first.entry_id, second.entry_id]
    await house.operator.link_action(uuid4(), "published_decision", keep)
    await turn.close()
    (made,) = await session.list(tier=Tier.SESSION)
    return first.entry_id, second.entry_id, made.id


async def test_a_fact_goes_with_what_was_made_of_it_and_one_receipt_lists_them(
    house: House,
) -> None:
    other = await house.entry("Words are fine too.", Claim("editor", "prefers", "words"))
    one, beside, made = await made_of_two(house)
    await house.operator.archive(made, reason="peanuts are off the table")
    assert hits(house, "peanut")
    done = await house.operator.forget(one, reason="request 17")
    assert (set(done.entries), done.spared) == ({one, made}, ())
    assert (done.found, done.receipt.decision) == (True, Decision.DELETE)
    assert (await house.operator.get(one)).body_text == ""
    assert (await house.operator.get(beside)).body_text == "She cannot have those."
    assert (await house.operator.get(other)).state is EntryState.CURRENT
    # What is left says it in the other note's claim alone.
    assert set(hits(house, "peanut")) == {"worlds.world_agent_memory"}
    auditor = house.world.bind(Principal.auditor("eve"))
    assert (await auditor.verify()).intact
    again = await house.operator.forget(one, reason="request 17")
    assert (again.found, again.receipt.decision) == (False, Decision.NOOP)


@pytest.mark.alone
async def test_with_its_sources_nothing_is_left_to_conclude_it_from(house: House) -> None:
    one, beside, made = await made_of_two(house)
    done = await house.operator.forget(made, reason="request 17", sources=True)
    assert set(done.entries) == {one, beside, made}
    assert hits(house, "peanut") == {}


async def test_what_has_other_sources_and_none_of_its_words_is_spared_and_named(
    house: House,
) -> None:
    one = await house.entry("Ada avoids peanuts.", Claim("ada", "avoids", "peanuts"))
    other = await house.entry("The kitchen closes at ten.", Claim("kitchen", "closes", "ten"))
    made = await house.entry("Dinner is early.", Claim("dinner", "is", "early"))
    with psycopg.connect(house.database.admin_dsn) as connection:
        for source in (one, other):
            connection.execute(
                f"INSERT INTO {LINEAGE} (org_id, anchor_id, memory_id, source_id, relation, origin,"  # noqa: S608
                " trust, observed_at) SELECT org_id, anchor_id, memory_id, %s, 'compounded',"
                " origin, trust, created_at FROM worlds.world_agent_memory WHERE memory_id = %s",
                (source, made),
            )
    done = await house.operator.forget(one, reason="request 17")
    assert (done.entries, done.spared) == ((one,), (made,))
    assert (await house.operator.get(made)).body_text == "Dinner is early."
    replayed = await house.operator.forget(other, reason="request 18", idempotency_key="k")
    assert replayed == await house.operator.forget(other, reason="request 18", idempotency_key="k")
    assert made in replayed.entries, "nothing is left that it rests on"


def test_what_goes_is_decided_from_sources_and_words() -> None:
    a, b, c, d, e = sorted(uuid4() for _ in range(5))
    # b of a alone; c of a and another; d of c alone; e of c and another, with a word.
    other = uuid4()
    pairs = [(b, a), (c, a), (c, other), (d, c), (e, c), (e, other)]
    assert chosen([a], pairs, {e}) == ({a, b, e}, {c})
    assert chosen([a], pairs, {c}) == ({a, b, c, d}, {e})


async def test_forgetting_needs_the_capability_and_an_entry_that_is_here(house: House) -> None:
    entry_id = await house.entry()
    with pytest.raises(errors.CapabilityRefused, match="may not erase"):
        await house.world.memory.forget(entry_id, reason="r")
    with pytest.raises(errors.EntryNotFound):
        await house.operator.forget(uuid4(), reason="r")
    other = await make_world(house.db, house.world.agent)
    with pytest.raises(errors.EntryNotFound):
        await other.operator.forget(entry_id, reason="r")
    assert (await house.operator.get(entry_id)).body_text, "the control: it is still there"


@pytest.mark.alone
async def test_a_person_who_only_spoke_is_found_and_their_name_goes(house: House) -> None:
    session = await house.world.memory.session().open()
    await session.observe("Call before noon.", speaker="Zora Quell")
    assert hits(house, "zora")
    done = await house.operator.erase("Zora Quell", reason="request 17")
    assert len(done.entries) == 1
    assert hits(house, "zora", "noon") == {}


# --- anchors -------------------------------------------------------------------------------------


def across(house: House) -> Memory:
    return house.world.agent.bind(org_id=house.world.org_id, principal=Principal.auditor("eve"))


async def test_the_anchors_of_a_tenant_are_listed_and_never_another_ones(house: House) -> None:
    other = await make_world(house.db, house.world.agent)
    await other.operator.prefer("Elsewhere.")
    domains = {house.world.domain_id}
    await house.entry()
    for _ in range(2):
        domain = uuid4()
        await house.world.worlds.register(house.world.org_id, domain, "another")
        memory = house.world.agent.bind(
            org_id=house.world.org_id, domain_id=domain, principal=Principal.operator("ada")
        )
        await memory.prefer("Be brief.")
        domains.add(domain)
    found = await across(house).anchors()
    assert {one.keys["domain_id"] for one in found} == domains
    assert {one.keys["org_id"] for one in found} == {house.world.org_id}
    assert [(one.entries, one.events) for one in found] == [(1, None)] * 3
    assert all(one.first_write and one.last_write for one in found)
    page = await across(house).anchors(limit=2)
    rest = await across(house).anchors(limit=2, after=page[-1].id)
    assert [*page, *rest] == found
    elsewhere = house.world.agent.bind(org_id=other.org_id, principal=Principal.auditor("eve"))
    assert [one.keys["domain_id"] for one in await elsewhere.anchors()] == [other.domain_id], (
        "the control: whoever is bound to the other tenant sees it"
    )
    with pytest.raises(errors.CapabilityRefused):
        await house.operator.anchors()


# --- the document for a user ---------------------------------------------------------------------


async def test_a_user_gets_everything_about_them_and_nothing_of_others(
    house: House, tmp_path: Path
) -> None:
    other = await make_world(house.db, house.world.agent)
    await other.operator.prefer("A stranger likes figs.")
    one, _, made = await made_of_two(house)
    await house.operator.context("what does ada avoid")
    chunks = [chunk async for chunk in house.upkeep.disclosure()]
    told = json.loads(b"".join(chunks))
    assert told["about"]["org_id"] == str(house.world.org_id)
    by_id = {entry["id"]: entry for entry in told["entries"]}
    assert by_id[str(one)]["text"] == "Ada avoids peanuts."
    assert [s["id"] for s in by_id[str(made)]["made_of"]]
    assert told["actions"][0]["kind"] == "published_decision"
    assert "figs" not in json.dumps(told)
    page = tmp_path / "ada.md"
    size = await house.upkeep.disclose_to(page, form=DisclosureForm.MARKDOWN)
    text = page.read_text("utf-8")
    assert len(text.encode()) == size
    assert "> Ada avoids peanuts." in text
    assert page.stat().st_mode & 0o077 == 0
    with pytest.raises(errors.InputError, match="already"):
        await house.upkeep.disclose_to(page)
    with pytest.raises(errors.CapabilityRefused):
        _ = [chunk async for chunk in house.world.memory.disclosure()]
    theirs = other.bind(Principal.maintenance("sweeper"))
    assert b"figs" in b"".join([chunk async for chunk in theirs.disclosure()]), "the control"
