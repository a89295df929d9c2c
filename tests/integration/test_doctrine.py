"""What the documents name and no other test shows: the tables, the cells, the contracts."""

from __future__ import annotations

from uuid import UUID, uuid4

import psycopg
import pytest

from idetic import Claim, Decision, Idetic, Outcome, Principal, Tier, Typology, errors
from idetic.evidence import ContradictionStatus, SourceType
from idetic.spec.loader import load, shipped
from idetic.spec.primitives import FusionMethod, Signal
from idetic.spec.retention import RetentionState
from tests.conftest import RULE_TEXT, TestDatabase, World
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
    with pytest.raises(errors.WritePolicyRefused):
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


async def test_the_documents_three_kinds_of_action_are_linked_and_no_other(world: World) -> None:
    kept = (await world.operator.prefer("Two people look at it.")).entry_id
    assert kept is not None
    for kind in ("rule_promotion", "change_set_acceptance", "published_decision"):
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
    copied = """
        INSERT INTO worlds.world_agent_memory
        SELECT (jsonb_populate_record(m, jsonb_build_object('memory_id', gen_random_uuid(),
            'body_text', %s::text))).* FROM worlds.world_agent_memory m WHERE m.memory_id = %s
        """
    with psycopg.connect(database.admin_dsn) as connection:
        bind(connection, world.memory.scope)
        with pytest.raises(psycopg.errors.lookup("23514")), connection.transaction():
            connection.execute(copied, (RULE_TEXT, kept))
        connection.execute(copied, (below, kept))
