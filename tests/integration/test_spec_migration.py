"""A structural change of a spec: memory moves into another family, and nothing of it is lost."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
import yaml

from idetic import Claim, Idetic, Principal, Ref, Rule, Tier, errors
from idetic.audit.findings import Verified
from idetic.library.handles import Memory
from idetic.spec.loader import load
from idetic.store.plan import PlanAction
from tests.conftest import RULE_TEXT, TestDatabase, World
from tests.support.migrating_process import POINTS, killed
from tests.support.moving import exported, live, rows_of
from tests.support.triggers import without_triggers

pytestmark = pytest.mark.anyio

Change = Callable[[dict[str, Any]], None]
ADA, BEN = Principal.operator("ada"), Principal.auditor("ben")
DESK = uuid4()


def changed(*changes: Change, family: str = "world_agent_two") -> dict[str, Any]:
    """The World Agent's spec with changes, in a family of its own."""
    data = load("world_agent").as_data()
    data["backend"]["family"] = family
    for change in changes:
        change(data)
    return data


def anchor(world: World) -> dict[str, UUID]:
    return {"org_id": world.org_id, "domain_id": world.domain_id}


async def bound(db: Idetic, spec: Any, keys: Mapping[str, Any], who: Principal = ADA) -> Memory:
    return (await db.agent(spec)).bind(principal=who, **keys)


async def verified(db: Idetic, spec: Any, keys: Mapping[str, Any], head: Any = None) -> Verified:
    found = await (await bound(db, spec, keys, BEN)).verify(head)
    assert isinstance(found, Verified)
    return found


def memory_rows(data: bytes) -> list[bytes]:
    """The rows of an export but for the specs, of which there is one more."""
    return [row for row in rows_of(data) if not row.startswith(b'{"kind": "specs"')]


def pinned(data: bytes) -> set[int | None]:
    """The versions that the references of an export name."""
    rows = [json.loads(row) for row in rows_of(data) if b'"kind": "rule_refs"' in row]
    return {row["row"].get("rule_version") for row in rows}


# --- the chain, to the byte -----------------------------------------------------------------------


async def test_all_of_an_anchor_moves_to_the_byte_and_both_verify(world: World, db: Idetic) -> None:
    kept = await live(world)
    told = await world.operator.history(kept)
    before = await exported(world.operator, vectors=True)
    head = await world.bind(BEN).head()

    done = await db.migrate(changed())
    assert (done.done, done.moved, done.anchors, done.links) == (True, 1, 1, head.position)
    new = await bound(db, "world_agent@2", anchor(world))
    assert memory_rows(await exported(new, vectors=True)) == memory_rows(before)
    found = await verified(db, "world_agent@2", anchor(world), head)
    assert (found.intact, found.links) == (True, head.position + 1), "the kept head still fits"
    assert [link.hash for link in await new.history(kept)] == [link.hash for link in told]

    old = await bound(db, "world_agent@1", anchor(world))
    assert (await verified(db, "world_agent@1", anchor(world), head)).links == head.position
    assert await exported(old, vectors=True) != before, "it names the new version, too"
    assert memory_rows(await exported(old, vectors=True)) == memory_rows(before)


async def test_memory_lives_on_where_it_moved_to_and_is_closed_where_it_was(
    world: World, db: Idetic
) -> None:
    kept = await live(world)
    await db.migrate(changed())
    new = await bound(db, changed(), anchor(world))
    again = await new.prefer(
        "Ask before releasing.", claim=Claim("wire", "release", "ask"), idempotency_key="second"
    )
    assert again.replayed, "idempotency keys came along"
    assert (await new.prefer("Two.", claim=Claim("summary", "length", "2"))).superseded == kept
    with pytest.raises(errors.ShadowRefused):
        await new.prefer(RULE_TEXT, claim=Claim("a", "b", "c"))
    assert (await new.recall("release wire alone")).entries
    assert (await verified(db, changed(), anchor(world))).intact

    old = await bound(db, "world_agent@1", anchor(world))
    assert (await old.get(kept)).body_text == "Sum up in one line."
    for refused in (
        old.prefer("Three.", claim=Claim("summary", "length", "3")),
        old.archive(kept, reason="no longer"),
        world.memory.session().open(),
    ):
        with pytest.raises(errors.MemoryMoved, match="has moved to another family"):
            await refused
    with pytest.raises(errors.SpecChanged, match="by version 2"):
        await db.agent("world_agent")
    for wanted in ("world_agent", changed(family="world_agent_three")):
        with pytest.raises(errors.PlanRefused):
            await db.apply(wanted)


async def test_whoever_is_erased_is_erased_where_memory_was_too(world: World, db: Idetic) -> None:
    stated = await world.operator.prefer("Zora wants figures.", claim=Claim("z", "wants", "f"))
    assert stated.entry_id is not None
    await db.migrate(changed())
    for version in ("world_agent@1", "world_agent@2"):
        memory = await bound(db, version, anchor(world))
        assert (await memory.erase("Zora", reason="asked for")).entries == (stated.entry_id,)
        assert (await memory.get(stated.entry_id)).body_text == ""
        assert (await verified(db, version, anchor(world))).intact


async def test_memory_moves_again_and_the_first_head_still_fits(world: World, db: Idetic) -> None:
    await live(world)
    head = await world.bind(BEN).head()
    for family in ("world_agent_two", "world_agent_three"):
        await db.migrate(changed(family=family))
    found = await verified(db, "world_agent@3", anchor(world), head)
    assert (found.intact, found.links) == (True, head.position + 2)


@pytest.mark.parametrize(
    ("column", "value", "why"),
    [
        ("to", '{"agent": "world_agent", "family": "worlds.other", "anchor": []}', "do not lead"),
        ("from", '{"family": 1}', "its hash is not that of its content"),
    ],
)
async def test_control_a_chain_that_was_moved_elsewhere_does_not_verify_here(
    world: World, db: Idetic, database: TestDatabase, column: str, value: str, why: str
) -> None:
    await live(world)
    await db.migrate(changed())
    with psycopg.connect(database.admin_dsn) as connection:
        without_triggers(connection)
        connection.execute(
            """UPDATE worlds.world_agent_two_memory_ledger
               SET detail = jsonb_set(detail, ARRAY[%s], %s::jsonb)
               WHERE transition = 'anchor_imported'""",
            (column, value),
        )
    found = await verified(db, "world_agent@2", anchor(world))
    assert any(why in problem.why for problem in found.problems)


async def test_an_anchor_that_does_not_verify_stays(
    world: World, db: Idetic, database: TestDatabase
) -> None:
    kept = await live(world)
    with psycopg.connect(database.admin_dsn) as connection:
        without_triggers(connection)
        connection.execute(
            "UPDATE worlds.world_agent_memory SET body_text = 'x' WHERE memory_id = %s", (kept,)
        )
    with pytest.raises(errors.PlanRefused, match="does not verify"):
        await db.migrate(changed())
    assert await db.abandon_migration("world_agent")
    await world.operator.prefer("Three.", claim=Claim("b", "c", "d"))


# --- what has to move, and what need not ----------------------------------------------------------


def _unversioned(data: dict[str, Any]) -> None:
    data["agent"] = data["backend"]["family"] = "clerk"
    for part in ("versions", "version"):
        del data["references"]["canonical"][0][part]


def _versioned(data: dict[str, Any]) -> None:
    data["agent"], data["backend"]["family"] = "clerk", "clerk_two"


async def test_references_to_what_has_versions_now_name_the_current_one(
    world: World, db: Idetic
) -> None:
    memory = await bound(db, changed(_unversioned), anchor(world))
    refs = [Rule(world.rule.id)]
    first = await memory.prefer("Ask first.", claim=Claim("a", "b", "c"), refs=refs)
    assert pinned(await exported(memory)) == {None}
    with pytest.raises(errors.PlanRefused, match="idetic spec migrate"):
        await db.apply(
            changed(_versioned, family="clerk")
            | {"backend": memory.agent.spec.as_data()["backend"]}
        )

    await db.migrate(changed(_versioned))
    new = await bound(db, "clerk@2", anchor(world))
    assert pinned(await exported(new)) == {1}
    assert first.entry_id is not None
    assert (await new.get(first.entry_id)).refs == (Rule(world.rule.id, 1),)
    for version in ("clerk@2", "clerk@1"):
        assert (await verified(db, version, anchor(world))).intact

    with pytest.raises(errors.PlanRefused, match="rule_version would be lost"):
        await db.migrate(changed(_unversioned, _in_family("clerk_three")))


def _in_family(family: str) -> Change:
    def change(data: dict[str, Any]) -> None:
        data["backend"]["family"] = family

    return change


def _no_corroborations(data: dict[str, Any]) -> None:
    data["references"]["corroborations"] = False
    data["typology"]["persistent"] = ["procedural"]
    data["gates"] = [gate for gate in data["gates"] if gate["boundary"] != "promotion"]


async def test_what_the_changed_spec_has_no_place_for_is_not_left_behind(
    world: World, db: Idetic
) -> None:
    await live(world)
    wanted = changed(_no_corroborations)
    with pytest.raises(errors.PlanRefused, match="corroborations: them would be lost"):
        await db.migrate(wanted)
    with pytest.raises(errors.MemoryMoved, match="is moved to another family"):
        await world.operator.prefer("Meanwhile.", claim=Claim("b", "c", "d"))
    with pytest.raises(errors.PlanRefused, match="Another migration"):
        await db.migrate(changed())
    assert await db.abandon_migration("world_agent")
    assert not await db.abandon_migration("world_agent")
    await world.operator.prefer("Afterwards.", claim=Claim("b", "c", "d"))
    assert (await db.migrate(changed())).moved == 1, "another family takes what this one could not"


def _one_more_noun(data: dict[str, Any]) -> None:
    first = data["references"]["canonical"][0]
    data["references"]["canonical"].append({**first, "noun": "guideline", "contradictions": False})


async def test_a_noun_more_needs_no_move_and_moves_with_one(world: World, db: Idetic) -> None:
    await live(world)
    here = changed(_one_more_noun, family="world_agent")
    assert {step.action for step in (await db.plan(here)).steps} <= {
        PlanAction.CREATE, PlanAction.REPLACE,
    }  # fmt: skip
    await db.migrate(changed(_one_more_noun))
    new = await bound(db, "world_agent@2", anchor(world))
    with pytest.raises(errors.ReferenceNotFound):
        await new.prefer("So.", claim=Claim("e", "f", "g"), refs=[_guideline(uuid4())])
    await new.prefer("So.", claim=Claim("e", "f", "g"), refs=[_guideline(world.rule.id)])
    assert (await verified(db, "world_agent@2", anchor(world))).intact


def _guideline(row_id: UUID) -> Ref:
    return Ref("guideline", row_id)


# --- other anchors --------------------------------------------------------------------------------


def guide(*keys: str, family: str = "guide") -> dict[str, Any]:
    spec = load({"agent": "guide", "anchor": {"keys": list(keys)}}).as_data()
    spec["backend"]["family"] = family
    return spec


WITH_DESK = guide("team_id:uuid", "desk_id:uuid", family="guide_desks")


@dataclass(frozen=True)
class Teams:
    """Three teams with a life each, and the heads of their chains."""

    db: Idetic
    ids: tuple[UUID, ...]
    heads: tuple[Any, ...]

    async def of(self, number: int, version: int = 2, who: Principal = ADA, **more: Any) -> Memory:
        keys = {"team_id": self.ids[number], **more}
        return await bound(self.db, f"guide@{version}", keys, who)

    async def verified(self, number: int, version: int = 2, **more: Any) -> Verified:
        """As the head that was kept of it says."""
        keys = {"team_id": self.ids[number], **more}
        return await verified(self.db, f"guide@{version}", keys, self.heads[number])


def known(team: int) -> set[str]:
    """What a team's memory has: a preference, and what waits for a second source."""
    return {f"Be brief, {team}.", f"Team {team} met on Friday."}


@pytest.fixture
async def teams(db: Idetic) -> Teams:
    ids, heads = (uuid4(), uuid4(), uuid4()), []
    for number, team in enumerate(ids):
        memory = await bound(db, guide("team_id:uuid"), {"team_id": team})
        async with memory.session() as session:
            await session.observe(f"Team {number} met on Friday.")
        await memory.prefer(f"Be brief, {number}.", claim=Claim("tone", "is", "brief"))
        auditor = await bound(db, "guide", {"team_id": team}, BEN)
        heads.append(await auditor.head())
    return Teams(db, ids, tuple(heads))


async def test_every_anchor_gets_a_value_for_the_new_key(teams: Teams) -> None:
    own = uuid4()
    whose = {"team_id": teams.ids[0]}
    key = (await teams.db.keys.create(agent="guide", principal=ADA, anchor=whose)).id
    mapping = [{"team_id": str(teams.ids[1]), "desk_id": own}]
    seen: list[tuple[int, int]] = []
    planned = await teams.db.migrate(
        WITH_DESK, default={"desk_id": DESK}, mapping=mapping, dry_run=True
    )
    assert (planned.anchors, planned.done, planned.version) == (3, False, 2)
    assert await (await teams.of(0, 1, BEN)).head() == teams.heads[0], "nothing was changed"

    done = await teams.db.migrate(
        WITH_DESK, default={"desk_id": str(DESK)}, mapping=mapping,
        progress=lambda done, of: seen.append((done, of)),
    )  # fmt: skip
    assert (done.moved, done.keys) == (3, (str(key),))
    assert seen == sorted(seen)
    assert seen[-1] == (done.links, done.links)
    for number, desk in enumerate((DESK, own, DESK)):
        new = await teams.of(number, desk_id=desk)
        assert {e.body_text for e in await new.list()} == known(number)
        assert (await teams.verified(number, desk_id=desk)).intact
        assert (await teams.verified(number, 1)).intact
        with pytest.raises(errors.InputError, match="another chain"):
            await (await teams.of(number, who=BEN, desk_id=desk)).verify(teams.heads[number - 1])
    assert (await teams.db.migrate(WITH_DESK)).moved == 0, "it is done"


async def test_what_was_moved_can_be_exported_and_taken_in_elsewhere(
    teams: Teams, empty_database: TestDatabase, tmp_path: Path
) -> None:
    await teams.db.migrate(WITH_DESK, default={"desk_id": DESK})
    path = tmp_path / "team.jsonl"
    await (await teams.of(0, desk_id=DESK)).export_to(path)
    dsn, admin = empty_database.dsn, empty_database.admin_dsn
    async with Idetic.open(dsn, admin_dsn=admin) as elsewhere:
        assert await elsewhere.apply_specs(path) == 2
        there = Teams(elsewhere, teams.ids, teams.heads)
        await (await there.of(0, desk_id=DESK)).import_from(path)
        assert (await there.verified(0, desk_id=DESK)).intact


WRONG: dict[str, tuple[Any, dict[str, Any]]] = {
    "has no desk_id": (WITH_DESK, {}),
    "no new anchor key called chair_id": (WITH_DESK, {"default": {"chair_id": "1"}}),
    "desk_id is not a UUID": (WITH_DESK, {"default": {"desk_id": "no id"}}),
    "both versions have the family": (guide("team_id:uuid", "desk_id:uuid"), {}),
    "the anchor key team_id would have another type": (guide("team_id:text", family="g2"), {}),
    "the tenant, team_id, must stay": (guide("desk_id:uuid", "team_id:uuid", family="g2"), {}),
    "holds no memory of scribe": ({"agent": "scribe", "anchor": {"keys": ["team_id"]}}, {}),
}


async def test_what_cannot_be_done_is_refused_before_anything_is(teams: Teams) -> None:
    for why, (spec, given) in WRONG.items():
        with pytest.raises(errors.IdeticError, match=why):
            await teams.db.migrate(spec, **given)
    await (await teams.of(0, 1)).prefer("As before.", claim=Claim("a", "b", "c"))


async def test_two_anchors_never_become_one(teams: Teams) -> None:
    await teams.db.migrate(WITH_DESK, default={"desk_id": DESK})
    other = await teams.of(0, desk_id=uuid4())
    await other.prefer("Another desk.", claim=Claim("a", "b", "c"))
    with pytest.raises(errors.PlanRefused, match="Two anchors would become one"):
        await teams.db.migrate(guide("team_id:uuid", family="guide_three"))
    await other.prefer("Still open.", claim=Claim("d", "e", "f"))


# --- killed ---------------------------------------------------------------------------------------


async def test_a_migration_that_is_killed_again_and_again_loses_nothing(
    teams: Teams, database: TestDatabase, tmp_path: Path
) -> None:
    path = tmp_path / "guide.yaml"
    path.write_text(yaml.safe_dump(WITH_DESK), "utf-8")
    for point in POINTS:
        assert killed(database, path, point, str(DESK)) == -9, point
        assert (await teams.verified(0, 1)).intact, point
        old = await teams.of(0, 1)
        assert {e.body_text for e in await old.list()} == known(0)
        if point != next(iter(POINTS)):
            with pytest.raises(errors.MemoryMoved):
                await old.prefer("Meanwhile.", claim=Claim("a", "b", "c"))
    done = await teams.db.migrate(path, default={"desk_id": str(DESK)})
    assert (done.done, done.moved, done.version) == (True, 0, 2)
    for number, head in enumerate(teams.heads):
        new = await teams.of(number, desk_id=DESK)
        assert {e.body_text for e in await new.list()} == known(number)
        found = await teams.verified(number, desk_id=DESK)
        assert (found.intact, found.links) == (True, head.position + 1)
        assert (await teams.verified(number, 1)).intact
    assert len(await teams.db.spec_versions("guide")) == 2


async def test_tiers_need_no_move(db: Idetic) -> None:
    two = guide("team_id:uuid")
    del two["tiers"]["interaction"], two["typology"]["interaction"]
    del two["retrieval"]["tiers"]["interaction"], two["injection"]["interaction"]
    memory = await bound(db, two, {"team_id": uuid4()})
    async with memory.session() as session:
        await session.observe("Two tiers.")
    agent = await db.agent(guide("team_id:uuid"), apply=True)
    memory = agent.bind(principal=ADA, **memory.scope.anchor)
    async with memory.session() as session, session.interaction() as turn:
        await turn.observe("Three.")
        # What the closed session said waits for a second source.
        assert [(e.body_text, e.tier, e.candidate) for e in await memory.list()] == [
            ("Three.", Tier.INTERACTION, False),
            ("Two tiers.", Tier.PERSISTENT, True),
        ]
