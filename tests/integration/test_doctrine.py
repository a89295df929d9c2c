"""What the documents name and no other test shows: the tables, the cells, the contracts."""

from __future__ import annotations

import json
from dataclasses import replace
from uuid import UUID, uuid4

import psycopg
import pytest

from idetic import Claim, Decision, Idetic, Outcome, Principal, Tier, Typology, errors
from idetic.evidence import ContradictionStatus, SourceType
from idetic.spec.loader import load, shipped, validate
from idetic.spec.primitives import FusionMethod, Signal
from idetic.spec.retention import RetentionState
from tests.conftest import RULE_TEXT, TestDatabase, World, make_world
from tests.support.fake_embedder import FakeEmbedder
from tests.support.scoped import bind

pytestmark = pytest.mark.anyio
SHARED = True

MEMORY = "world_agent_memory"
# What ADR-058 lists, under the names of this house; NULL where the document says nullable.
COLUMNS = {
    MEMORY: "memory_id tier typology session_id interaction_id body_text envelope archived_at "
    "superseded_at superseded_by invalidated_at valid_at invalid_at embedding_id",
    f"{MEMORY}_rule_refs": "ref_id memory_id rule_id rule_version created_at",
    "world_agent_rule_contradictions": "contradiction_id memory_id rule_id provenance observed_at "
    "status resolution_notes",
    f"{MEMORY}_corroborations": "corroboration_id memory_id source_type source_ref "
    "corroborated_at notes",
    f"{MEMORY}_embeddings": "embedding_id memory_id profile_id",
}
_COPIED = """
    INSERT INTO worlds.world_agent_memory
    SELECT (jsonb_populate_record(m, jsonb_build_object('memory_id', gen_random_uuid())
        || %s::jsonb)).* FROM worlds.world_agent_memory m WHERE m.memory_id = %s
"""
NULLABLE = {
    MEMORY: {"session_id", "interaction_id", "archived_at", "superseded_at", "superseded_by",
             "invalidated_at", "embedding_id", "provenance"},
}  # fmt: skip


async def test_the_five_tables_and_what_they_are_made_of(
    world: World, database: TestDatabase
) -> None:
    with psycopg.connect(database.admin_dsn) as admin:
        rows = admin.execute(
            "SELECT table_name, column_name, is_nullable = 'YES', udt_name "
            "FROM information_schema.columns WHERE table_schema = 'worlds'"
        ).fetchall()
        values: dict[str, list[str]] = dict(
            admin.execute(
                "SELECT t.typname, array_agg(e.enumlabel::text ORDER BY e.enumsortorder) "
                "FROM pg_type t JOIN pg_enum e ON e.enumtypid = t.oid GROUP BY 1"
            ).fetchall()
        )
    found = {(table, column): (null, kind) for table, column, null, kind in rows}
    wanted = {(t, c) for t, names in COLUMNS.items() for c in names.split()}
    assert wanted - found.keys() == set()
    for table, names in NULLABLE.items():
        assert all(found[table, name][0] for name in names)
    assert not found[MEMORY, "body_text"][0]
    # The last corroboration is looked up, and no reference is an array on the row.
    mine = {column: kind for (table, column), (_, kind) in found.items() if table == MEMORY}
    assert not any("corroborated" in column for column in mine)
    assert not any(kind.startswith("_") for kind in mine.values())
    assert (mine["tier"], mine["typology"]) == ("tier", "typology")
    assert not any("role" in column for _, column in found), "a reference has no role"
    assert values["tier"] == [*Tier]
    assert values["typology"] == [*Typology]
    assert values["source_type"] == [*SourceType]
    assert set(values["contradiction_status"]) == set(ContradictionStatus)


async def test_a_cell_outside_the_mix_is_refused_by_the_gateway_alone(
    world: World, database: TestDatabase
) -> None:
    """The gateway holds the distribution; the schema keeps every cell and checks none."""
    assert world.agent.spec.typology.at(Tier.PERSISTENT) == (
        *(Typology.SEMANTIC, Typology.PROCEDURAL),
    )
    for tier in (Tier.INTERACTION, Tier.SESSION):
        assert world.agent.spec.typology.at(tier) == (Typology.EPISODIC,)
    with pytest.raises(errors.WritePolicyRefused, match="holds no episodic memory"):
        await world.memory.observe("An episode for good.")
    with psycopg.connect(database.admin_dsn) as admin:
        checks = admin.execute(
            "SELECT pg_get_constraintdef(oid) FROM pg_constraint "
            "WHERE contype = 'c' AND conrelid = 'worlds.world_agent_memory'::regclass"
        ).fetchall()
    assert checks
    assert not any("typology" in told for (told,) in checks)


async def test_every_shipped_agent_has_the_universal_tiers() -> None:
    for name in shipped():
        spec = load(name)
        assert all(spec.injection.at(tier).budget >= 0 for tier in Tier), name
        assert spec.typology.at(Tier.PERSISTENT), name
        assert spec.tiers.declared == tuple(Tier), name
        assert [*spec.tiers.names] == [*Tier], "no names of their own"
    assert [*Tier] == ["interaction", "session", "persistent"]


async def test_the_world_agents_anchor_and_its_provenance(world: World) -> None:
    """The tuple leads to the world; the version is remembered and hides nothing."""
    spec = world.agent.spec
    assert [key.name for key in spec.anchor.keys] == ["org_id", "domain_id"]
    async with world.memory.session() as session:
        old = await session.observe(
            "Cutoffs moved in the spring.", provenance={"world_model_version": "1"}
        )
        new = await session.observe("Cutoffs moved again in the autumn.")
        found = await session.recall("When did cutoffs move?", tiers=[Tier.SESSION])
    assert {old.entry_id, new.entry_id} == {hit.entry.id for hit in found}
    versions = {hit.entry.id: hit.entry.provenance.get("world_model_version") for hit in found}
    assert versions == {old.entry_id: "1", new.entry_id: None}
    with pytest.raises(errors.AnchorRefused):
        await world.agent.bind(
            org_id=world.org_id, domain_id=None, principal=world.memory.scope.principal
        ).observe("Nowhere.")


async def test_an_entry_has_the_ids_of_its_own_tier_and_the_root_of_its_anchor(
    world: World, database: TestDatabase
) -> None:
    """The world at every tier; a session's id from there down, and an interaction's within it."""
    kept = await world.operator.prefer("Two people look at it.")
    async with world.memory.session() as session, session.interaction() as turn:
        outer, inner = await session.observe("The desk is quiet."), await turn.observe("It rang.")
        wanted = {
            inner.entry_id: ("interaction", session.id, turn.id),
            outer.entry_id: ("session", session.id, None),
            kept.entry_id: ("persistent", None, None),
        }
        with psycopg.connect(database.admin_dsn) as admin:
            rows = admin.execute(
                "SELECT memory_id, world_id, tier::text, session_id, interaction_id "
                "FROM worlds.world_agent_memory WHERE org_id = %s",
                (world.org_id,),
            ).fetchall()
    assert {row[0]: row[2:] for row in rows} == wanted
    assert {row[1] for row in rows} == {world.world_id}


async def test_two_domains_of_an_org_are_two_anchors_and_an_auditor_may_leave_the_second_open(
    world: World,
) -> None:
    domain = uuid4()
    await world.worlds.register(world.org_id, domain, "Cards")
    there = replace(world, domain_id=domain)
    async with world.memory.session() as session:
        here = (await session.observe("Wires leave until noon.")).entry_id
        assert here is not None
        assert [entry.id for entry in await world.memory.list()] == [here]
        assert await there.memory.list() == []
        assert (await there.memory.recall("Until when do wires leave?")).hits == ()
        with pytest.raises(errors.EntryNotFound):
            await there.memory.get(here)
        await there.operator.prefer("Cards are shipped on Mondays.")
        both = world.agent.bind(org_id=world.org_id, principal=Principal.auditor("eve"))
        assert len(await both.list()) == 2
        # Who may not read across names both keys.
        with pytest.raises(errors.AnchorRefused):
            world.agent.bind(org_id=world.org_id, principal=Principal.agent("explorer"))


async def test_a_run_is_an_interaction_within_a_session_and_no_tier(world: World) -> None:
    async with world.memory.session() as session:
        runs = []
        for number in range(2):
            async with session.interaction() as run:
                seen = await run.observe(f"Run {number} scanned the queue.")
                assert seen.entry_id is not None
                entry = await world.memory.get(seen.entry_id)
                assert (entry.session_id, entry.interaction_id) == (session.id, run.id)
                runs.append(run.id)
        assert len(set(runs)) == 2
    for name in ("cycle", "run", "conversation"):
        with pytest.raises(errors.InputError, match="interaction, session, persistent"):
            await world.memory.list(tier=name)
        data = load("world_agent").as_data()
        data["tiers"][name] = data["tiers"]["session"]
        with pytest.raises(errors.SpecError, match="At most two tiers end"):
            validate(data)


@pytest.mark.alone
async def test_a_tier_counts_what_the_spec_says(world: World, database: TestDatabase) -> None:
    """One question, one preference and one note of the session: only the tiers' weights differ."""
    await world.operator.prefer("Wires leave until noon.")
    async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn) as db:
        for weight, wanted in ((1.0, 2), (0.01, 2), (0.0, 1)):
            data = load("world_agent").as_data()
            data["retrieval"]["tiers"]["session"] = weight
            memory = replace(world, agent=await db.agent(data, apply=True)).memory
            async with memory.session() as session:
                await session.observe("Wires leave until noon, the desk says.")
                hits = (await session.recall("Until when do wires leave?")).hits
            assert len(hits) == wanted, weight
            if weight < 1:
                assert hits[0].entry.tier is Tier.PERSISTENT, weight


async def test_the_world_agent_fuses_three_signals_by_rank_and_says_what_it_added(
    world: World,
) -> None:
    retrieval = world.agent.spec.retrieval
    assert (retrieval.fusion.method, retrieval.fusion.k) == (FusionMethod.RRF, 60)
    assert {Signal.ENVELOPE, Signal.SEMANTIC, Signal.DECAY} < set(retrieval.signals)
    for text in ("Wires leave until noon.", "Cards are shipped on Mondays."):
        await world.operator.prefer(text, claim=Claim(text, "is", "so"))
    recall = await world.memory.recall("Until when do wires leave?")
    weights = recall.weights
    for hit in recall:
        for signal, told in hit.signals.items():
            if told.contribution and told.rank is not None:
                assert told.contribution == pytest.approx(weights[signal] / (60 + told.rank))


async def test_a_weighted_score_adds_up_weights_times_values(database: TestDatabase) -> None:
    async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn) as db:
        agent = await db.agent({"agent": "clerk", "anchor.keys": "office:text"}, apply=True)
        assert agent.spec.retrieval.fusion.method is FusionMethod.WEIGHTED
        memory = agent.bind(office="north", principal=Principal.operator("ada"))
        for text in ("Wires leave until noon.", "Cards are shipped on Mondays."):
            await memory.prefer(text)
        recall = await memory.recall("Until when do wires leave?")
    assert len(recall.hits) == 2
    for hit in recall:
        wanted = {s: recall.weights[s] * (t.value or 0.0) for s, t in hit.signals.items()}
        assert {s: t.contribution for s, t in hit.signals.items()} == pytest.approx(wanted)
        assert hit.score == pytest.approx(sum(wanted.values()))


async def test_the_documents_kinds_of_action_are_linked_and_no_other(world: World) -> None:
    kept = (await world.operator.prefer("Two people look at it.")).entry_id
    assert kept is not None
    adr = ("rule_promotion", "change_set_acceptance", "published_decision")
    page = ("rule_promotion", "version_publication", "override_triage")
    for kind in sorted({*adr, *page}):
        receipt = await world.operator.link_action(uuid4(), kind, [kept])
        assert receipt.decision is Decision.ADD
    with pytest.raises(errors.InputError, match="not an action kind"):
        await world.operator.link_action(uuid4(), "coffee_break", [kept])


async def test_procedural_memory_is_promoted_to_nothing(world: World) -> None:
    wish = (await world.operator.prefer("Answer in one sentence.")).entry_id
    assert wish is not None
    with pytest.raises(errors.TransitionRefused, match="cannot be promoted"):
        await world.operator.dispose([wish], Outcome.PROMOTE, reason="it is right")


async def test_the_four_retention_states(world: World, database: TestDatabase) -> None:
    """Derived from what refers to an entry, never stored; ORPHANED has a test of its own."""
    plain, linked, gone = [
        (await world.operator.prefer(text, claim=Claim(text, "is", "so"))).entry_id
        for text in ("One stays.", "One is acted on.", "One goes.")
    ]
    assert plain
    assert linked
    assert gone
    await world.operator.link_action(uuid4(), "rule_promotion", [linked])
    await world.operator.tombstone(gone, reason="a mistake")
    with psycopg.connect(database.admin_dsn) as admin:
        states: dict[UUID, str] = dict(
            admin.execute(
                "SELECT memory_id, retention_state FROM worlds.world_agent_memory_retention"
            ).fetchall()
        )
    assert states[plain] == RetentionState.ACTIVE
    assert states[linked] == RetentionState.REFERENCED
    assert states[gone] == RetentionState.TOMBSTONED
    assert len(RetentionState) == 4


async def test_the_guards_floor_is_100_characters_and_its_bound_085(
    world: World, database: TestDatabase
) -> None:
    """Contracts and no settings: a copy below the floor passes, and so does what is less like.

    Straight at the trigger, because the gateway looks closer.
    """
    words = " ".join(f"clause{n}" for n in range(40))
    short, long = words[:99], f"{words[:98]}zq"
    assert (len(short), len(long)) == (99, 100)
    for text in (short, long):
        await world.worlds.put_rule(world.org_id, world.world_id, text)
    kept = (await world.operator.prefer("Ada prefers short answers.")).entry_id
    with psycopg.connect(database.admin_dsn) as connection:
        bind(connection, world.memory.scope)

        def taken(text: str) -> bool:
            try:
                with connection.transaction():
                    connection.execute(_COPIED, (json.dumps({"body_text": text}), kept))
            except psycopg.errors.CheckViolation:
                return False
            return True

        def likeness(text: str) -> float:
            asked = "SELECT similarity(%s, %s)"
            (found,) = connection.execute(asked, (text, RULE_TEXT)).fetchone() or (0.0,)
            return float(found)

        assert (taken(short), taken(long)) == (True, False)
        near = [f"{RULE_TEXT} {' '.join(f'zq{n}xv' for n in range(more))}" for more in range(12)]
        found = {likeness(text): taken(text) for text in near}
    assert found == {value: value <= 0.85 for value in found}
    assert len({value > 0.85 for value in found}) == 2, "both sides of the bound were tried"
    for key in ("threshold", "floor"):
        data = load("world_agent").as_data()
        data["leak_defence"][key] = 0.9
        with pytest.raises(errors.SpecError, match=key):
            validate(data)


async def test_another_agents_memory_and_scan_artifacts_are_not_mirrored(
    world: World,
) -> None:
    """Written out as the rows they are; what is concluded from them is memory."""
    entry = (await world.operator.prefer("Two people look at it.")).entry_id
    assert entry is not None
    kept = await world.operator.get(entry)
    row = {"entry_id": str(kept.id), "tier": kept.tier, "typology": kept.typology,
           "body_text": kept.body_text, "trust": kept.trust}  # fmt: skip
    artifact = {"scan_id": str(uuid4()), "file": "wires.py", "line": 41, "finding": "no check"}
    async with world.memory.session() as session:
        for written in (row, artifact):
            with pytest.raises(errors.RecordRefused):
                await session.observe(json.dumps(written))
        concluded = await session.observe("The scan found a wire path without the second check.")
        assert concluded.decision is Decision.ADD


async def test_the_world_agents_non_mirror_list_is_what_both_documents_name(world: World) -> None:
    """The union of both lists; what each names is refused by another test of its own."""
    page = ("World-model rule content", "Audit-chain entries", "Customer PII",
            "Override-pattern signal row bodies")  # fmt: skip
    adr = ("World-model rule content", "Spectral memory at any tier", "Canonical scan artifacts")
    assert set(world.agent.spec.references.non_mirror) == {*page, *adr}


@pytest.mark.alone
async def test_an_entry_points_at_its_vector_once_it_has_one(database: TestDatabase) -> None:
    opened = Idetic.open(database.dsn, admin_dsn=database.admin_dsn, embedder=FakeEmbedder())
    joined = (
        "SELECT count(*), count(m.embedding_id), count(e.memory_id) "
        "FROM worlds.world_agent_memory m LEFT JOIN worlds.world_agent_memory_embeddings e "
        "USING (embedding_id, memory_id)"
    )
    async with opened as db:
        world = await make_world(db, await db.agent("world_agent"))
        for embeds, wanted in ((False, (2, 0, 0)), (True, (2, 2, 2))):
            if embeds:
                await world.memory.embed()
            else:
                for text in ("Wires leave until noon.", "Cards are shipped on Mondays."):
                    await world.operator.prefer(text, claim=Claim(text, "is", "so"))
            with psycopg.connect(database.admin_dsn) as admin:
                assert admin.execute(joined).fetchone() == wanted


async def test_the_guard_is_a_trigger_with_the_documents_contracts(
    world: World, database: TestDatabase
) -> None:
    """Before insert and update of the text; below 100 characters nothing is compared."""
    with psycopg.connect(database.admin_dsn) as admin:
        triggers = admin.execute(
            "SELECT pg_get_triggerdef(oid) FROM pg_trigger WHERE NOT tgisinternal "
            "AND tgrelid = 'worlds.world_agent_memory'::regclass"
        ).fetchall()
    assert any("BEFORE INSERT OR UPDATE OF body_text" in told for (told,) in triggers)
    async with world.memory.session() as session:
        with pytest.raises(errors.ShadowRefused):
            await session.observe(RULE_TEXT)
        below = RULE_TEXT[:99]
        assert len(below) < 100
        await session.observe(below)
    kept = (await world.operator.prefer("Ada prefers short answers.")).entry_id
    with psycopg.connect(database.admin_dsn) as connection:
        bind(connection, world.memory.scope)
        with pytest.raises(psycopg.errors.lookup("23514")), connection.transaction():
            connection.execute(_COPIED, (json.dumps({"body_text": RULE_TEXT}), kept))
        connection.execute(_COPIED, (json.dumps({"body_text": below}), kept))
