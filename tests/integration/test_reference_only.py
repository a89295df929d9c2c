"""Memory refers and never copies: what holds that, down to the schema."""

from __future__ import annotations

from uuid import uuid4

import psycopg
import pytest
from psycopg import errors as pg

from idetic import Idetic, Principal, Ref, Rule, Scope, errors
from idetic.context import Runbooks, Worlds
from idetic.spec.loader import load, shipped
from idetic.store.family import Family
from tests.conftest import RULE_TEXT, TestDatabase, World
from tests.support.scoped import bind
from tests.support.triggers import change_triggers

CHANGED = "Three operators check every wire, whatever its amount, and nobody may leave before."

_FOREIGN_KEYS = """
SELECT c.confrelid::regclass::text, c.confdeltype,
       (SELECT array_agg(a.attname ORDER BY k.n) FROM unnest(c.conkey) WITH ORDINALITY k(num, n)
        JOIN pg_attribute a ON a.attrelid = c.conrelid AND a.attnum = k.num)
FROM pg_constraint c WHERE c.conrelid = %s::regclass AND c.contype = 'f' ORDER BY 1
"""
_TEXT_COLUMNS = """
SELECT a.attname, t.typtype, t.typname FROM pg_attribute a JOIN pg_type t ON t.oid = a.atttypid
WHERE a.attrelid = %s::regclass AND a.attnum > 0 AND NOT a.attisdropped
  AND (t.typcategory = 'S' OR t.typname IN ('jsonb', 'envelope'))
"""
_SEEN = """
SELECT rule_text, rule_strength::text, pinned_version, current_version
FROM worlds.world_agent_memory_with_rule WHERE memory_id = %s
"""


# --- bounded text ---------------------------------------------------------------------------------


async def test_a_note_is_bounded_by_the_schema_itself(database: TestDatabase, world: World) -> None:
    """Whoever writes past the gateway meets the column's own bound, and so does the envelope."""
    kept = await world.operator.prefer("A plain note.")
    copy = """
        INSERT INTO worlds.world_agent_memory
        SELECT (jsonb_populate_record(m, jsonb_build_object('memory_id', gen_random_uuid())
                || %s::jsonb)).* FROM worlds.world_agent_memory m WHERE m.memory_id = %s
    """
    with psycopg.connect(database.admin_dsn) as connection:
        for made, bound in (
            ("""{"body_text": "%s"}""" % ("x" * 2_001), "note_bounded"),
            ("""{"envelope": {"a": "%s"}}""" % ("x" * 40_000), "envelope_bounded"),
        ):
            with pytest.raises(pg.CheckViolation) as caught:
                connection.execute(copy, (made, kept.entry_id))
            # A worker's error comes without the constraint's name in a field of its own.
            assert f'"{bound}"' in str(caught.value)
            connection.rollback()
        # Control: within the bounds the very same statement writes.
        assert connection.execute(copy, ("{}", kept.entry_id)).rowcount == 1


@pytest.mark.parametrize("name", ["world_agent", "operator_agent"])
async def test_no_wide_text_on_the_memory_table(
    database: TestDatabase, db: Idetic, name: str
) -> None:
    """The body is a bounded domain, the envelope too; the rest are names and claims."""
    await db.agent(name)
    family = Family(load(name))
    with psycopg.connect(database.admin_dsn) as connection:
        found = connection.execute(
            _TEXT_COLUMNS, (f"{family.schema}.{family.name}_memory",)
        ).fetchall()
    wide = {column for column, kind, _ in found if kind != "d"}
    # A claim is a part of the envelope again, within its bound; the others the store fills itself.
    told = {"claim_subject", "claim_attribute", "claim_value", "created_by", "provenance"}
    assert wide <= told | {"embed_error"}
    assert {column for column, kind, _ in found if kind == "d"} == {"body_text", "envelope"}


# --- junctions ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [n for n in shipped() if load(n).references.canonical])
async def test_references_are_foreign_keys_with_version_pins(
    database: TestDatabase, db: Idetic, name: str
) -> None:
    await db.agent(name)
    spec = load(name)
    tenant = spec.anchor.tenant.name
    for canonical in spec.references.canonical:
        junction = f"{Family(spec).prefix}_memory_{canonical.noun}_refs"
        with psycopg.connect(database.admin_dsn) as connection:
            found = {
                table: (rule, columns)
                for table, rule, columns in connection.execute(_FOREIGN_KEYS, (junction,))
            }
        restrict = "r"
        assert found[canonical.table] == (restrict, [tenant, canonical.key])
        assert found[canonical.versions] == (
            restrict,
            [tenant, canonical.key, f"{canonical.noun}_version"],
        )
        assert all(rule == restrict for rule, _ in found.values())


async def test_a_reference_names_what_exists_and_pins_its_version(world: World) -> None:
    await world.worlds.put_rule(world.org_id, world.world_id, CHANGED, rule_id=world.rule.id)
    async with world.memory.session() as session:
        for ref, version in ((Rule(world.rule.id), 2), (Rule(world.rule.id, 1), 1)):
            said = f"It was applied as version {version} has it."
            entry = (await session.observe(said, refs=[ref])).entry_id
            assert entry is not None
            (pinned,) = (await world.memory.get(entry)).refs
            assert (pinned.id, pinned.version) == (world.rule.id, version)
        for missing in (Rule(uuid4()), Rule(world.rule.id, 99)):
            with pytest.raises(errors.ReferenceNotFound):
                await session.observe("It was applied.", refs=[missing])
        with pytest.raises(errors.InputError):
            await session.observe("It was applied.", refs=[Ref("recipe", uuid4())])


async def test_what_memory_refers_to_cannot_be_deleted(
    database: TestDatabase, world: World
) -> None:
    async with world.memory.session() as session:
        await session.observe("It was applied.", refs=[world.rule])
        with psycopg.connect(database.admin_dsn) as connection:
            # Without the version's own protection: what is left is the reference.
            change_triggers(connection, "ALTER TABLE worlds.rule_versions DISABLE TRIGGER USER")
            # Which of the two it is depends on the server's version.
            with pytest.raises((pg.RestrictViolation, pg.ForeignKeyViolation)) as caught:
                connection.execute("DELETE FROM worlds.rule_versions")
    assert "world_agent_rule_refs_version" in str(caught.value)


# --- views ----------------------------------------------------------------------------------------


async def test_a_view_shows_canonical_content_beside_memory_as_it_reads_now(
    database: TestDatabase, world: World
) -> None:
    async with world.memory.session() as session:
        entry = (await session.observe("It was applied twice.", refs=[world.rule])).entry_id
        mine = Scope(
            "world_agent",
            {"org_id": world.org_id, "domain_id": world.domain_id},
            Principal.agent("explorer"),
        )

        def seen(scope: Scope) -> list[tuple[object, ...]]:
            with psycopg.connect(database.dsn) as connection:
                bind(connection, scope)
                return connection.execute(_SEEN, (entry,)).fetchall()

        assert seen(mine) == [(RULE_TEXT, "curated", 1, 1)]
        await world.worlds.put_rule(world.org_id, world.world_id, CHANGED, rule_id=world.rule.id)
        assert seen(mine) == [(CHANGED, "curated", 1, 2)]
        stranger = Scope(
            "world_agent",
            {"org_id": uuid4(), "domain_id": world.domain_id},
            Principal.agent("explorer"),
        )
        assert seen(stranger) == []
    with psycopg.connect(database.admin_dsn) as connection:
        kinds = connection.execute(
            """SELECT relkind FROM pg_class
               WHERE oid = 'worlds.world_agent_memory_with_rule'::regclass
               UNION SELECT 'm' FROM pg_matviews"""
        ).fetchall()
    assert kinds == [("v",)], "joined when read, materialised nowhere"


# --- the non-mirror list --------------------------------------------------------------------------


async def test_what_the_shipped_agents_declare_canonical_is_refused_verbatim(db: Idetic) -> None:
    """Every declared canonical table with a text: its rows' texts, and the rows written out."""
    org, domain, operator = uuid4(), uuid4(), uuid4()
    await db.agent("operator_agent")
    worlds = Worlds(db)
    world = await worlds.register(org, domain, "Payments")
    short = "Two operators look at every large wire."
    refs = {
        "world_agent": [
            await worlds.put_rule(org, world, RULE_TEXT),
            await worlds.put_rule(org, world, short),
        ],
        "operator_agent": [
            await Runbooks(db).put_runbook(operator, RULE_TEXT),
            await Runbooks(db).put_runbook(operator, short),
        ],
    }
    anchors = {
        "world_agent": {"org_id": org, "domain_id": domain},
        "operator_agent": {"operator_id": operator},
    }
    for name, (long_ref, short_ref) in refs.items():
        agent = await db.agent(name)
        memory = agent.bind(principal=Principal.agent("a"), **anchors[name])
        async with memory.session() as session:
            for text, ref in ((RULE_TEXT, long_ref), (short, short_ref)):
                with pytest.raises(errors.Refused) as caught:
                    await session.observe(text)
                assert caught.value.detail["id"] == str(ref.id)
            row = f'{{"{long_ref.noun}_id": "{long_ref.id}", "version": 1, "body_text": "Ask."}}'
            with pytest.raises(errors.RecordRefused):
                await session.observe(row)


async def test_an_entry_of_the_audit_chain_is_not_memory(world: World) -> None:
    """The ledger is on the non-mirror list: one of its links, copied into a note, is refused."""
    async with world.memory.session() as session:
        entry = (await session.observe("A plain note.")).entry_id
        assert entry is not None
        (link,) = await world.memory.history(entry)
        names = ("position", "transition", "decision", "reason", "receipt_id")
        with pytest.raises(errors.RecordRefused):
            await session.observe("\n".join(f"{name}: {getattr(link, name)}" for name in names))
