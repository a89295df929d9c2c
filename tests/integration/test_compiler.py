"""A spec becomes a schema: shown first, applied once, and never at the price of a row."""

from __future__ import annotations

import copy
from collections.abc import AsyncIterator, Callable, Iterator
from dataclasses import dataclass
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import sql

from idetic import Claim, Decision, Idetic, MemorySpec, Principal, Ref, Rule, Scope, errors
from idetic.library.handles import Agent, Memory
from idetic.spec.loader import load, shipped
from idetic.store.family import Family
from idetic.store.plan import Plan, PlanAction
from tests.conftest import RULE_TEXT, TestDatabase, World, make_world
from tests.support.databases import copy_of
from tests.support.scoped import bind
from tests.support.servers import TestServer

pytestmark = pytest.mark.anyio

Change = Callable[[dict[str, Any]], None]


def changed(change: Change | None = None, name: str = "world_agent") -> MemorySpec:
    """A shipped spec with something about it changed."""
    data = copy.deepcopy(load(name).as_data())
    if change is not None:
        change(data)
    return load(data)


def steps(plan: Plan, *actions: PlanAction) -> set[tuple[str, str, str]]:
    return {(s.action.value, s.kind, s.name) for s in plan.steps if s.action in actions}


SNAPSHOT = (
    "SELECT * FROM idetic.spec_versions ORDER BY 1, 2",
    "SELECT * FROM idetic.compiled_objects ORDER BY 1, 2, 3",
    """SELECT attrelid::regclass::text, attname, atttypid::regtype::text
       FROM pg_attribute WHERE attrelid >= 16384 AND attnum > 0 ORDER BY 1, 2""",
    """SELECT oid, pg_get_functiondef(oid) FROM pg_proc
       WHERE oid >= 16384 AND prokind = 'f' ORDER BY 1""",
    """SELECT conname, pg_get_constraintdef(oid) FROM pg_constraint
       WHERE oid >= 16384 ORDER BY 1, 2""",
    "SELECT count(*) FROM worlds.world_agent_memory",
)


@dataclass(frozen=True)
class Opened:
    """An open database with the World Agent, and a way past every policy."""

    db: Idetic
    database: TestDatabase
    admin: psycopg.Connection
    world: World

    def snapshot(self) -> tuple[Any, ...]:
        """Everything a refused change must leave as it was."""
        return tuple(self.admin.execute(query).fetchall() for query in SNAPSHOT)


@pytest.fixture
async def opened(server: TestServer, template: str) -> AsyncIterator[Opened]:
    with (
        copy_of(server, template) as database,
        psycopg.connect(database.admin_dsn, autocommit=True) as admin,
    ):
        async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn) as db:
            world = await make_world(db, await db.agent("world_agent"))
            yield Opened(db, database, admin, world)


# --- applying ------------------------------------------------------------------------------


@pytest.mark.parametrize("name", shipped())
async def test_applying_twice_changes_nothing(opened: Opened, name: str) -> None:
    await opened.db.agent(name)
    before = opened.snapshot()
    plan = await opened.db.plan(name)
    again = await opened.db.apply(name)
    assert plan.empty
    assert again.empty
    assert (await opened.db.agent(name, apply=True)).version == 1
    assert opened.snapshot() == before


async def test_two_compilations_of_one_spec_are_equal(opened: Opened) -> None:
    """From YAML, from plain data, and as the database gives it back."""
    (stored,) = await opened.db.spec_versions("world_agent")
    for source in (load("world_agent").as_data(), stored.spec):
        assert (await opened.db.plan(source)).empty
    assert stored.digest == load("world_agent").digest


def _shorter(data: dict[str, Any]) -> None:
    data["backend"]["body_text_max"] = 1500


def _provenance(data: dict[str, Any]) -> None:
    data["anchor"]["provenance"].append("prompt_version")


def _cell(data: dict[str, Any]) -> None:
    data["typology"]["persistent"].append("episodic")
    data["promotion"]["deviations"] = []


def _no_corroborations(data: dict[str, Any]) -> None:
    data["references"]["corroborations"] = False
    data["typology"]["persistent"] = ["procedural"]


def _envelope(data: dict[str, Any]) -> None:
    data["retrieval"]["envelope"]["region"] = {"type": "hierarchy", "weight": 1.0}


def _purpose(data: dict[str, Any]) -> None:
    data["purpose"] = "The same agent, described in other words than before."


def _no_strength(data: dict[str, Any]) -> None:
    data["references"]["canonical"][0]["strength"] = None


def _no_contradictions(data: dict[str, Any]) -> None:
    data["references"]["canonical"][0]["contradictions"] = False


# For each change: what the plan must create, replace and keep. `None` stands for "whatever
# functions and views depend on it".
CHANGES: dict[str, tuple[Change, set[str], set[str] | None, set[str]]] = {
    "a shorter note": (_shorter, set(), {"domain world_agent_note"}, set()),
    "a provenance": (_provenance, set(), {"view world_agent_memory_current"}, set()),
    "a cell": (_cell, {"index world_agent_hnsw_persistent_episodic"}, set(), set()),
    "no corroborations": (
        _no_corroborations,
        set(),
        {
            "function world_agent_drop_v1",
            "function world_agent_members_v1",
            "function world_agent_settle_v1",
            "function world_agent_erase_v1",
            "function world_agent_strip_v1",
        },
        {
            "table world_agent_memory_corroborations",
            "trigger world_agent_memory_corroborations.removal",
            "trigger world_agent_memory_corroborations.rule_notes_guard",
            "trigger world_agent_memory_corroborations.written_once",
            "access world_agent_memory_corroborations",
            "access world_agent_memory_corroborations for the keeper",
            "access world_agent_memory_corroborations for the mover",
            "function world_agent_take_corroborations_v1",
            "index world_agent_hnsw_persistent_semantic",
        },
    ),
    "no contradictions": (
        _no_contradictions,
        set(),
        None,
        {
            "table world_agent_rule_contradictions",
            "index world_agent_rule_contradictions_open",
            "access world_agent_rule_contradictions",
        },
    ),
    "an envelope key": (_envelope, set(), set(), set()),
    "another purpose": (_purpose, set(), set(), set()),
    "no strength": (_no_strength, set(), None, set()),
}


@pytest.mark.parametrize(("change", "creates", "replaces", "keeps"), CHANGES.values(), ids=CHANGES)
async def test_a_changed_spec_is_shown_then_refused_then_applied(
    opened: Opened, change: Change, creates: set[str], replaces: set[str] | None, keeps: set[str]
) -> None:
    spec, world = changed(change), opened.world
    session = await world.memory.session().open()
    old = await session.observe("Written under version 1.", refs=[world.rule])
    before = opened.snapshot()

    plan = await opened.db.plan(spec)
    shown = {action: {f"{k} {n}" for _, k, n in steps(plan, action)} for action in PlanAction}
    assert (plan.from_version, plan.to_version, plan.empty) == (1, 2, False)
    assert shown[PlanAction.CREATE] == creates
    assert shown[PlanAction.KEEP] >= keeps
    assert shown[PlanAction.REFUSE] == set()
    if replaces is not None:
        assert shown[PlanAction.REPLACE] == replaces
        assert shown[PlanAction.KEEP] == keeps
    assert {name.split(" ", 1)[0] for name in shown[PlanAction.REPLACE]} <= {
        "domain", "function", "view", "trigger", "access",
    }  # fmt: skip

    with pytest.raises(errors.SpecChanged, match="version 1"):
        await opened.db.agent(spec)
    assert opened.snapshot() == before, "neither the plan nor the refusal changes anything"

    agent = await opened.db.agent(spec, apply=True)
    assert agent.version == 2
    assert (await opened.db.plan(spec)).empty
    assert [v.version for v in await opened.db.spec_versions("world_agent")] == [1, 2]
    await _still_works(opened, agent, old.entry_id)


async def _still_works(opened: Opened, agent: Agent, old: UUID | None) -> None:
    """Old entries are intact, new ones say which version they were written under."""
    world = opened.world
    anchor = {"org_id": world.org_id, "domain_id": world.domain_id}
    memory = agent.bind(principal=Principal.operator("ada"), **anchor)
    assert old
    entry = await memory.get(old)
    assert (entry.body_text, entry.spec_version) == ("Written under version 1.", 1)
    assert entry.refs == (world.rule,)
    session = await memory.session().open()
    new = await session.observe("Written under version 2.", refs=[Rule(world.rule.id)])
    with pytest.raises(errors.ShadowRefused):
        await session.observe(RULE_TEXT)
    await memory.prefer("Be brief.", claim=Claim("output", "style", "brief"))
    await memory.archive(old, reason="done")
    assert new.entry_id
    assert (await memory.get(new.entry_id)).spec_version == 2
    assert [link.transition for link in await memory.history(old)] == ["observed", "archived"]


async def test_what_a_change_adds_is_there_and_what_it_removes_is_kept(opened: Opened) -> None:
    def both(data: dict[str, Any]) -> None:
        _provenance(data)
        _envelope(data)
        _no_corroborations(data)

    agent = await opened.db.agent(changed(both), apply=True)
    memory = agent.bind(
        principal=Principal.agent("explorer"),
        org_id=opened.world.org_id,
        domain_id=opened.world.domain_id,
    )
    session = await memory.session().open()
    seen = await session.observe(
        "With all that is new.",
        envelope={"region": "emea/north"},
        provenance={"prompt_version": "p7", "world_model_version": "v12"},
    )
    entry = await memory.get(seen.entry_id)  # type: ignore[arg-type]
    assert entry.provenance == {"prompt_version": "p7", "world_model_version": "v12"}
    assert entry.envelope == {"region": "emea/north"}
    kept = opened.admin.execute("SELECT to_regclass('worlds.world_agent_memory_corroborations')")
    assert kept.fetchone() == ("worlds.world_agent_memory_corroborations",)
    back = await opened.db.plan("world_agent")
    assert "table world_agent_memory_corroborations" not in {
        f"{s.kind} {s.name}" for s in back.steps
    }
    assert (await opened.db.agent("world_agent", apply=True)).version == 3


async def test_a_shorter_note_is_refused_while_longer_ones_are_kept(opened: Opened) -> None:
    session = await opened.world.memory.session().open()
    await session.observe("word " * 350)
    before = opened.snapshot()
    with pytest.raises(errors.SpecError):
        await opened.db.agent(changed(_shorter), apply=True)
    assert opened.snapshot() == before


async def test_a_stored_spec_is_found_by_its_name(opened: Opened) -> None:
    def renamed(data: dict[str, Any]) -> None:
        data["agent"] = "second_agent"
        data["backend"]["family"] = "second_agent"

    await opened.db.agent(changed(renamed))
    agent = await opened.db.agent("second_agent")
    assert (agent.spec, agent.version) == (changed(renamed), 1)


# --- what is refused -------------------------------------------------------------------------


def _another_key(data: dict[str, Any]) -> None:
    data["anchor"]["keys"].append({"name": "team_id", "type": "uuid"})


def _another_type(data: dict[str, Any]) -> None:
    data["anchor"]["keys"][1]["type"] = "text"


def _another_order(data: dict[str, Any]) -> None:
    data["anchor"]["keys"][1]["nullable_for_queries"] = False
    data["anchor"]["keys"].reverse()


# The keys stand in the table of the anchors; the tenant, which leads them, in every table.
@pytest.mark.parametrize(
    ("change", "refused"),
    [
        (_another_key, {"table world_agent_memory_anchors"}),
        (_another_type, {"table world_agent_memory_anchors"}),
        (_another_order, {"table world_agent_memory_anchors", "table world_agent_memory"}),
    ],
)
async def test_a_change_of_the_anchor_is_refused_and_changes_nothing(
    opened: Opened, change: Change, refused: set[str]
) -> None:
    spec, before = changed(change), opened.snapshot()
    plan = await opened.db.plan(spec)
    assert refused <= {f"{s.kind} {s.name}" for s in plan.refusals}
    for attempt in (opened.db.apply(spec), opened.db.agent(spec, apply=True)):
        with pytest.raises(errors.PlanRefused, match="world_agent_memory"):
            await attempt
    with pytest.raises(errors.SpecError):
        await opened.db.agent(spec)
    assert opened.snapshot() == before
    session = await opened.world.memory.session().open()
    assert (await session.observe("As before.")).decision is Decision.ADD


async def test_so_is_another_order_of_keys_behind_the_tenant(opened: Opened) -> None:
    """An anchor's narrow key is computed in their order: all memory would be out of reach."""

    def three(data: dict[str, Any]) -> None:
        data["agent"] = data["backend"]["family"] = "third_agent"
        data["anchor"] |= {"root": None, "keys": [{"name": n, "type": "uuid"} for n in "abc"]}
        data["references"]["canonical"] = []
        data["leak_defence"] |= {"reasons": "with", "guard": "backstop"}

    def swapped(data: dict[str, Any]) -> None:
        three(data)
        data["anchor"]["keys"][1:] = reversed(data["anchor"]["keys"][1:])

    await opened.db.agent(changed(three))
    plan = await opened.db.plan(changed(swapped))
    assert "table third_agent_memory_anchors" in {f"{s.kind} {s.name}" for s in plan.refusals}
    with pytest.raises(errors.PlanRefused):
        await opened.db.agent(changed(swapped), apply=True)


async def test_a_family_belongs_to_one_agent(opened: Opened) -> None:
    def stolen(data: dict[str, Any]) -> None:
        data["agent"] = "other_agent"

    before = opened.snapshot()
    with pytest.raises(errors.PlanRefused, match="world_agent"):
        await opened.db.agent(changed(stolen))
    assert opened.snapshot() == before


# --- canonical tables of the user's own ---------------------------------------------------------

POLICY = """
CREATE SCHEMA policy;
CREATE TABLE policy.articles (
    org_id uuid NOT NULL, article_id uuid NOT NULL, content text NOT NULL,
    PRIMARY KEY (org_id, article_id));
"""


def policy_agent(**article: Any) -> MemorySpec:
    """The World Agent's spec over tables that have nothing to do with worlds."""

    def change(data: dict[str, Any]) -> None:
        data |= {"agent": "policy_agent", "title": "Policy Agent"}
        data["anchor"] |= {"root": None, "provenance": []}
        data["backend"] |= {"schema": "policy_memory", "family": "policy_agent"}
        data["references"]["canonical"] = [
            {"noun": "article", "table": "policy.articles", "key": "article_id", "body": "content"}
            | article
        ]

    return changed(change)


@dataclass(frozen=True)
class Policy:
    """The user's own context with one article in it."""

    agent: Agent
    org_id: UUID
    article: UUID

    def bind(self) -> Memory:
        principal = Principal.operator("ada")
        return self.agent.bind(principal=principal, org_id=self.org_id, domain_id=uuid4())


def put_article(opened: Opened, org_id: UUID, content: str = RULE_TEXT) -> UUID:
    article = uuid4()
    opened.admin.execute(
        "INSERT INTO policy.articles (org_id, article_id, content) VALUES (%s, %s, %s)",
        (org_id, article, content),
    )
    return article


async def test_the_users_own_tables_are_referenced_and_guarded(opened: Opened) -> None:
    opened.admin.execute(POLICY)
    policy = Policy(await opened.db.agent(policy_agent()), org := uuid4(), put_article(opened, org))
    memory = policy.bind()
    session = await memory.session().open()
    with pytest.raises(errors.ShadowRefused) as caught:
        await session.observe(RULE_TEXT.replace("two operators", "two  operators"))
    seen = await session.observe(
        "Nobody reads it.", refs=[Ref("article", policy.article)], idempotency_key="k"
    )
    with pytest.raises(errors.ReferenceNotFound):
        await session.observe("About nothing.", refs=[Ref("article", uuid4())])
    with pytest.raises(errors.InputError, match="not versioned"):
        await session.observe("Pinned.", refs=[Ref("article", policy.article, 1)])
    with pytest.raises(errors.InputError, match="rule"):
        await session.observe("Not ours.", refs=[Rule(policy.article)])
    assert caught.value.detail["id"] == str(policy.article)
    entry = await memory.get(seen.entry_id)  # type: ignore[arg-type]
    assert entry.refs == (Ref("article", policy.article, None),)
    await memory.prefer("Brief.", claim=Claim("o", "s", "brief"))
    full = await memory.prefer("Full.", claim=Claim("o", "s", "full"))
    assert full.decision is Decision.UPDATE


async def test_another_tenants_article_is_neither_referenced_nor_guarded(opened: Opened) -> None:
    opened.admin.execute(POLICY)
    agent = await opened.db.agent(policy_agent())
    theirs = Policy(agent, org := uuid4(), put_article(opened, org))
    mine = Policy(agent, uuid4(), theirs.article).bind()
    session = await mine.session().open()
    with pytest.raises(errors.ReferenceNotFound):
        await session.observe("Theirs.", refs=[Ref("article", theirs.article)])
    assert (await session.observe(RULE_TEXT)).decision is Decision.ADD


async def test_the_guard_is_not_blinded_by_row_level_security_of_the_users_own(
    opened: Opened,
) -> None:
    """Either applying says that the guard could not read the table, or the guard reads it."""
    opened.admin.execute(POLICY)
    opened.admin.execute(
        """ALTER TABLE policy.articles ENABLE ROW LEVEL SECURITY;
           CREATE POLICY own ON policy.articles
               USING (org_id = nullif(current_setting('policy.org', true), '')::uuid)"""
    )
    put_article(opened, org := uuid4())

    async def restate() -> None:
        agent = await opened.db.agent(policy_agent())
        session = await Policy(agent, org, uuid4()).bind().session().open()
        await session.observe(RULE_TEXT)

    with pytest.raises((errors.PlanRefused, errors.ShadowRefused)):
        await restate()


MISSING: dict[str, tuple[str, dict[str, Any], str]] = {
    "no schema": ("SELECT", {}, r"policy\.articles"),
    "no table": ("CREATE SCHEMA policy", {}, r"policy\.articles"),
    "no body": (POLICY, {"body": "wording"}, r"policy\.articles.*wording"),
    "no key": (POLICY, {"key": "paragraph_id"}, r"policy\.articles.*paragraph_id"),
    "no strength": (POLICY, {"strength": "weight"}, r"policy\.articles.*weight"),
    "no versions": (
        POLICY,
        {"versions": "policy.editions", "version": "edition"},
        r"policy\.editions",
    ),
    "another type": (
        POLICY + "ALTER TABLE policy.articles ALTER content TYPE varchar(2000)",
        {},
        r"policy\.articles.*content",
    ),
    "no unique key": (
        POLICY + "ALTER TABLE policy.articles DROP CONSTRAINT articles_pkey",
        {},
        r"policy\.articles.*org_id, article_id",
    ),
    "no tenant": (
        POLICY + "ALTER TABLE policy.articles RENAME org_id TO company_id",
        {},
        r"policy\.articles.*org_id",
    ),
    "no such table in a shipped context": (
        POLICY,
        {"table": "worlds.articles"},
        r"worlds\.articles",
    ),
    "no such column in a shipped context": (
        POLICY,
        {"table": "worlds.rules", "key": "rule_id", "body": "wording"},
        r"worlds\.rules.*wording",
    ),
}


@pytest.mark.parametrize(("made", "article", "named"), MISSING.values(), ids=MISSING)
async def test_what_a_canonical_table_lacks_is_named(
    opened: Opened, made: str, article: dict[str, Any], named: str
) -> None:
    opened.admin.execute(made.encode())
    before = opened.snapshot()
    with pytest.raises(errors.PlanRefused, match=named):
        await opened.db.agent(policy_agent(**article))
    assert opened.snapshot() == before


# --- what is made --------------------------------------------------------------------------


@pytest.fixture(scope="module")
def everything(server: TestServer, template: str) -> Iterator[psycopg.Connection]:
    """A database with every shipped spec, past every policy."""
    import anyio  # noqa: PLC0415 - a loop of its own, as in conftest

    with copy_of(server, template) as database:

        async def apply() -> None:
            async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn) as db:
                for name in shipped():
                    await db.agent(name)

        anyio.run(apply)
        with psycopg.connect(database.admin_dsn, autocommit=True) as connection:
            yield connection


@pytest.mark.parametrize("change", ["UPDATE", "DELETE", "TRUNCATE"])
@pytest.mark.parametrize("role", ["superuser", "idetic_owner", "idetic_app"])
def test_a_stored_spec_version_is_there_for_good(
    everything: psycopg.Connection, change: str, role: str
) -> None:
    acting = everything.info.user if role == "superuser" else role
    statements = {
        "UPDATE": "UPDATE idetic.spec_versions SET applied_by = 'nobody'",
        "DELETE": "DELETE FROM idetic.spec_versions",
        "TRUNCATE": "TRUNCATE idetic.spec_versions",
    }
    refusal = "permission denied" if role == "idetic_app" else r"idetic\.append_only"
    with everything.transaction(force_rollback=True):
        everything.execute(sql.SQL("SET LOCAL ROLE {}").format(sql.Identifier(acting)))
        with pytest.raises(psycopg.Error, match=refusal), everything.transaction():
            everything.execute(statements[change].encode())
    stored = everything.execute("SELECT agent FROM idetic.spec_versions ORDER BY 1").fetchall()
    assert stored == [(name,) for name in sorted(shipped())]


@pytest.mark.parametrize("name", shipped())
def test_each_cell_has_its_partial_vector_index(everything: psycopg.Connection, name: str) -> None:
    spec = load(name)
    found = everything.execute(
        """SELECT pg_get_expr(i.indpred, i.indrelid) FROM pg_index i
           JOIN pg_class x ON x.oid = i.indexrelid JOIN pg_am a ON a.oid = x.relam
           WHERE i.indrelid = %s::regclass AND a.amname = 'hnsw'""",
        (f"{Family(spec).schema}.{Family(spec).name}_memory_embeddings",),
    )
    wanted = {
        f"((tier = '{tier}'::idetic.tier) AND (typology = '{typology}'::idetic.typology))"
        for tier, typology in spec.typology.cells()
    }
    assert {predicate for (predicate,) in found} == wanted


@pytest.mark.parametrize("name", shipped())
def test_each_canonical_body_has_its_trigram_index(
    everything: psycopg.Connection, name: str
) -> None:
    spec = load(name)
    guarded = [canonical for canonical in spec.references.canonical if canonical.body]
    for canonical in guarded:
        found = everything.execute(
            "SELECT pg_get_indexdef(indexrelid) FROM pg_index WHERE indrelid = %s::regclass",
            (canonical.table,),
        ).fetchall()
        (index,) = [text for (text,) in found if "gist_trgm_ops" in text]
        lead = ", ".join(filter(None, (spec.anchor.tenant.name, canonical.scope)))
        size = f"cardinality(show_trgm({canonical.body}))"
        assert f"USING gist ({lead}, {size}, {canonical.body} " in index
        assert "siglen='1024'" in index
    unguarded = ("assistant_agent", "framework_agent", "persona_agent")
    assert bool(guarded) == (name not in unguarded)


# --- the guard's plan ------------------------------------------------------------------------


def test_the_guard_reaches_its_index_when_the_application_asks(
    server: TestServer, template: str
) -> None:
    """With 5,000 rules, as the application role, the look-up inside the definer function."""
    org, world, notices = uuid4(), uuid4(), []
    with (
        copy_of(server, template) as database,
        psycopg.connect(database.admin_dsn, autocommit=True) as connection,
    ):
        connection.execute(
            """INSERT INTO worlds.worlds (org_id, domain_id, world_id, name, created_at)
               VALUES (%s, gen_random_uuid(), %s, 'Payments', now())""",
            (org, world),
        )
        connection.execute(
            """INSERT INTO worlds.rules (org_id, rule_id, world_id, version, body_text,
                                         source_strength, changed_at)
               SELECT %s, gen_random_uuid(), %s, 1, body, 'curated', now()
               FROM (SELECT string_agg(md5(n::text || w::text), ' ') AS body
                     FROM generate_series(1, 5000) n, generate_series(1, 5) w GROUP BY n) made""",
            (org, world),
        )
        connection.execute("ANALYZE worlds.rules")
        connection.add_notice_handler(lambda notice: notices.append(notice.message_primary or ""))
        connection.execute(
            """LOAD 'auto_explain'; SET auto_explain.log_min_duration = 0;
               SET auto_explain.log_nested_statements = on; SET client_min_messages = log"""
        )
        anchor = {"org_id": org, "domain_id": uuid4()}
        scope = Scope("world_agent", anchor, Principal.agent("explorer"))
        with connection.transaction():
            connection.execute("SET LOCAL ROLE idetic_app")
            bind(connection, scope)
            found = connection.execute(
                "SELECT FROM worlds.world_agent_rule_shadow_v1(%s, %s, %s) s WHERE s IS NOT NULL",
                (org, world, RULE_TEXT),
            ).fetchall()
    plans = [text for text in notices if "worlds.rules" in text or "on rules" in text]
    assert found == []
    assert plans, notices
    for plan in plans:
        assert "world_agent_rule_shadow_idx" in plan, plan
        assert "Seq Scan on rules" not in plan, plan


# --- whatever the user names, and wherever the database comes from --------------------------------


@pytest.mark.parametrize("key", ["memory", "receipt", "salt", "hash", "detail", "ref_id", "region"])
async def test_every_declared_envelope_key_counts_when_a_request_is_repeated(
    opened: Opened, key: str
) -> None:
    """A repeated idempotency key with another value is another body, whatever the key is called."""

    def declared(data: dict[str, Any]) -> None:
        data["retrieval"]["envelope"][key] = {"type": "scalar", "weight": 1.0}

    agent = await opened.db.agent(changed(declared), apply=True)
    memory = agent.bind(
        principal=Principal.agent("explorer"),
        org_id=opened.world.org_id,
        domain_id=opened.world.domain_id,
    )
    session = await memory.session().open()
    await session.observe("Once.", envelope={key: "one"}, idempotency_key="k")
    again = await session.observe("Once.", envelope={key: "one"}, idempotency_key="k")
    with pytest.raises(errors.IdempotencyConflict):
        await session.observe("Once.", envelope={key: "two"}, idempotency_key="k")
    assert again.replayed


async def test_a_restored_database_takes_a_new_spec(database: TestDatabase) -> None:
    """A copy or a dump does not carry what was granted on the database itself."""
    async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn) as db:
        assert (await db.agent("operator_agent")).version == 1


@pytest.mark.parametrize("schema", ["extensions", "my-extensions"])
async def test_extensions_may_live_in_a_schema_of_their_own(
    empty_database: TestDatabase, schema: str
) -> None:
    with psycopg.connect(empty_database.admin_dsn, autocommit=True) as connection:
        connection.execute(sql.SQL("CREATE SCHEMA {}").format(sql.Identifier(schema)))
        for extension in ("vector", "pg_trgm", "btree_gist"):
            connection.execute(
                sql.SQL("CREATE EXTENSION {} SCHEMA {}").format(
                    sql.Identifier(extension), sql.Identifier(schema)
                )
            )
    opened = Idetic.open(empty_database.dsn, admin_dsn=empty_database.admin_dsn)
    async with opened as db:
        world = await make_world(db, await db.agent("world_agent"))
        session = await world.memory.session().open()
        with pytest.raises(errors.ShadowRefused):
            await session.observe(RULE_TEXT)
        assert (await session.observe("Fine.", refs=[world.rule])).decision is Decision.ADD
