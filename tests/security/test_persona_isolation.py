"""The Actor neither sees nor infers what the Subconscious remembers.

The document's promises, each with a control in which the protection is off and the check turns red:
retrieval returns no row of the Subconscious, vector queries never touch its collection (by the
database's own statistics), and its role reaches nothing. (The third, that prompts hold nothing of
it, is checked where prompts are made.) Then inference: counts, positions, ids, errors, violations.
"""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from datetime import UTC, datetime
from itertools import pairwise
from typing import Any
from uuid import UUID, uuid4

import psycopg
import pytest
from psycopg import errors as pg
from psycopg import sql
from psycopg.conninfo import conninfo_to_dict

from idetic import Idetic, IdeticError
from idetic.errors import CapabilityRefused
from idetic.persona.events import EventDraft, EventKind, Persona
from idetic.persona.identity import default_heuristics
from idetic.persona.notes import OperationalNote
from idetic.persona.persona_memory import PersonaMemory
from idetic.persona.views import ActorMemoryView
from idetic.store import scope as scoping
from idetic.store.templates import Statement
from tests.conftest import TestDatabase
from tests.support.catalog import functions_of, relations_of, tables_of
from tests.support.clock import START, SettableClock
from tests.support.fake_embedder import FakeEmbedder
from tests.support.persona import TENANT, pool_of, remembering, scope_of, table_of, task, thought
from tests.support.servers import TestServer

pytestmark = pytest.mark.anyio
TEMPLATE = "persona_template"

CANARY = "zanzibar"
SECRET = f"The {CANARY} plan: the user distrusts Friday deployments."
ACTOR, SUBCONSCIOUS, STEWARD = "idetic_actor", "idetic_subconscious", "idetic_steward"
# Each persona's family has a schema of its own.
ACTORS, THEIRS = "persona_actor", "persona_subconscious"
EVER = (datetime(2000, 1, 1, tzinfo=UTC), datetime(2100, 1, 1, tzinfo=UTC))


@pytest.fixture
async def db(database: TestDatabase) -> AsyncIterator[Idetic]:
    opened = Idetic.open(
        database.dsn, admin_dsn=database.admin_dsn, clock=SettableClock(), embedder=FakeEmbedder()
    )
    async with opened as db:
        yield db


@pytest.fixture
async def memory(db: Idetic) -> PersonaMemory:
    """Three tasks of the Actor's, and two loops of the Subconscious's with canaries in them."""
    memory = await remembering(db)
    for number in range(3):
        await task(memory, f"When does train {number} leave?", f"Train {number} leaves at noon.")
        await thought(memory, SECRET, f"{CANARY} again, about train {number}")
    return memory


@pytest.fixture
def admin(database: TestDatabase) -> Iterator[psycopg.Connection]:
    with psycopg.connect(database.admin_dsn) as connection:
        yield connection


class _Peeking(ActorMemoryView):
    """Sabotage: an Actor's view on the Subconscious's stores; nobody leaves notes there."""

    async def operational_notes(self, *, limit: int = 20) -> list[OperationalNote]:
        return []


def peeking(memory: PersonaMemory) -> ActorMemoryView:
    """The view that peeks, with the Subconscious's rights."""
    return _Peeking(memory.stores[Persona.SUBCONSCIOUS], memory.identity)


# --- retrieval returns no row of the Subconscious ------------------------------------------------


async def leaks(view: ActorMemoryView, memory: PersonaMemory) -> set[str]:
    """By which ways of asking this view gives away anything of the Subconscious's."""
    theirs = await memory.subconscious.tail()
    loose = default_heuristics(Persona.ACTOR).model_copy(update={"threshold": 0})
    found: dict[str, list[Any]] = {
        "get_by_id": [await view.get_by_id(event.id) for event in theirs],
        "get_range": list((await view.get_range(*EVER)).events),
        "tail": list(await view.tail()),
        "loop": [event for one in theirs for event in await view.loop(one.loop_id)],
        "entry_of": [await view.entry_of(event.id) for event in theirs],
        "rag_query": [hit.entry for hit in await view.rag_query(SECRET, limit=100)],
        "fuzzy_query": [one.entry for one in await view.fuzzy_query(SECRET, loose)],
        "window": list(await view.window(1_000)),
        "notes": list(await view.operational_notes()),
    }
    return {way for way, rows in found.items() if any(map(_is_theirs, rows))}


def _is_theirs(row: Any) -> bool:
    if row is None:
        return False
    said = f"{getattr(row, 'content', '')} {getattr(row, 'summary', '')} {getattr(row, 'text', '')}"
    return CANARY in said or getattr(row, "persona", None) is Persona.SUBCONSCIOUS


async def test_the_actors_retrieval_never_returns_rows_of_the_subconscious(
    memory: PersonaMemory,
) -> None:
    assert await leaks(memory.actor, memory) == set()
    answered = await memory.actor.rag_query("When does train 1 leave?")
    assert answered.hits, "control: it finds its own"
    assert answered.collections == ("help-desk__actor__ltm",)


async def test_control_a_view_that_peeks_is_found_out(memory: PersonaMemory) -> None:
    found = await leaks(peeking(memory), memory)
    assert found >= {"get_by_id", "get_range", "tail", "loop", "entry_of", "rag_query", "window"}
    assert "fuzzy_query" in found


async def test_the_subconscious_sees_both_merged_by_score(memory: PersonaMemory) -> None:
    answered = await memory.subconscious.rag_query("train noon", limit=100)
    scores = [hit.score for hit in answered]
    assert {hit.entry.persona for hit in answered} == set(Persona)
    assert scores == sorted(scores, reverse=True)
    assert set(answered.collections) == {"help-desk__actor__ltm", "help-desk__subconscious__ltm"}
    everything = default_heuristics(Persona.SUBCONSCIOUS).model_copy(update={"threshold": 0})
    loops = await memory.subconscious.fuzzy_query("train", everything)
    assert {one.entry.persona for one in loops} == set(Persona)
    mine = (await memory.actor.tail(limit=1))[0]
    assert await memory.subconscious.get_by_id(mine.id) == mine


# --- vector queries never touch its collection ---------------------------------------------------

_TOUCHED = """
SELECT coalesce(sum(t.seq_scan + coalesce(t.idx_scan, 0) + t.n_tup_ins + t.n_tup_upd), 0)
    + (SELECT coalesce(sum(i.idx_scan), 0) FROM pg_stat_user_indexes i WHERE i.schemaname = %(s)s)
FROM pg_stat_user_tables t WHERE t.schemaname = %(s)s
"""


async def touched(memory: PersonaMemory, admin: psycopg.Connection, schema: str) -> int:
    """How often tables and indexes of a schema were touched, by the database's own count."""
    for persona in Persona:
        async with pool_of(memory, persona).reading() as connection:
            await connection.execute("SELECT pg_stat_force_next_flush()")
    admin.rollback()
    row = admin.execute(_TOUCHED, {"s": schema}).fetchone()
    assert row is not None
    return int(row[0])


async def test_the_actors_vector_queries_never_touch_the_subconscious_collection(
    memory: PersonaMemory, admin: psycopg.Connection
) -> None:
    theirs, own = [await touched(memory, admin, s) for s in (THEIRS, ACTORS)]
    for number in range(10):
        await memory.actor.rag_query(f"{SECRET} {number}")
        await memory.actor.fuzzy_query(SECRET)
        await memory.actor.get_range(*EVER)
        await task(memory, "When?", "At noon.")
    assert await touched(memory, admin, THEIRS) == theirs
    assert await touched(memory, admin, ACTORS) > own, "control: what it touches is counted"
    answers = await memory.actor.rag_query(SECRET), await memory.subconscious.rag_query(SECRET)
    assert await touched(memory, admin, THEIRS) > theirs, "control: so would theirs be"
    named = [f"{memory.agent_id}__{persona}__ltm" for persona in ("actor", "subconscious")]
    assert [sorted(answer.collections) for answer in answers] == [named[:1], named]


# --- the role ------------------------------------------------------------------------------------


def reached(admin: psycopg.Connection, role: str, schema: str) -> set[str]:
    """Which tables and functions of a schema a role may use in any way."""
    statements = {
        f"{verb} {relation}": sql.SQL(text).format(t=sql.Identifier(schema, relation))
        for relation in relations_of(admin, schema)
        for verb, text in {
            "SELECT": "SELECT FROM {t} LIMIT 1",
            "INSERT": "INSERT INTO {t} DEFAULT VALUES",
            "UPDATE": "UPDATE {t} SET tenant_id = tenant_id",
            "DELETE": "DELETE FROM {t}",
            "TRUNCATE": "TRUNCATE {t}",
            "LOCK": "LOCK TABLE {t} IN ACCESS SHARE MODE",
        }.items()
    } | {f.name: sql.SQL(f.call) for f in functions_of(admin, schema)}
    assert statements
    found = set()
    for name, statement in statements.items():
        admin.rollback()
        admin.execute(sql.SQL("SET LOCAL ROLE {}").format(sql.Identifier(role)))
        try:
            admin.execute(statement)
        except pg.InsufficientPrivilege as error:
            # A policy refuses a row to somebody who has the right to write one.
            if "row-level security" in str(error):
                found.add(name)
        except (pg.ObjectNotInPrerequisiteState, pg.WrongObjectType):
            pass  # a view takes no rows from anybody
        except psycopg.Error:
            found.add(name)
        else:
            found.add(name)
        finally:
            admin.rollback()
    return found


async def test_the_actors_role_reaches_nothing_of_the_subconscious(
    memory: PersonaMemory, admin: psycopg.Connection
) -> None:
    assert reached(admin, ACTOR, THEIRS) == set()
    own_ones = {"SELECT persona_agent_actor_log", "persona_agent_actor_record_v1"}
    assert reached(admin, ACTOR, ACTORS) >= own_ones, "control: its own it does"
    asking = Statement("SELECT current_user")
    (own,) = await pool_of(memory, Persona.ACTOR).run(scope_of(TENANT, "a"), asking)
    assert own == (ACTOR,)
    asked = "SELECT r.rolname FROM pg_roles r WHERE pg_has_role(%s, r.oid, 'MEMBER') ORDER BY 1"
    assert admin.execute(asked, (ACTOR,)).fetchall() == [(ACTOR,)], "it can become nobody else"


async def test_control_a_grant_to_the_actors_role_is_found(
    memory: PersonaMemory, admin: psycopg.Connection
) -> None:
    log = table_of("subconscious", "log")
    admin.execute(f"GRANT USAGE ON SCHEMA {THEIRS} TO {ACTOR}")
    admin.execute(f"GRANT SELECT ON {log} TO {ACTOR}")
    admin.commit()
    name = log.split(".")[1]
    assert reached(admin, ACTOR, THEIRS) == {f"SELECT {name}", f"LOCK {name}"}


async def test_the_subconscious_role_reads_both_and_writes_its_own_and_notes(
    memory: PersonaMemory, admin: psycopg.Connection
) -> None:
    found = reached(admin, SUBCONSCIOUS, ACTORS)
    assert {name for name in found if not name.startswith(("SELECT", "LOCK"))} == {
        "INSERT persona_agent_actor_notes",
        # Which anchors it may read: with its own rights, under the policies of its own scope.
        "persona_agent_actor_visible_v1",
        # What the word index is made of: read with the caller's own rights too.
        "persona_agent_actor_members_v1",
        "persona_agent_actor_postings_v1",
    }
    with pytest.raises(CapabilityRefused):
        await memory.stores[Persona.ACTOR].store.rows(
            "put_note", note_id=uuid4(), ts=START, body="to itself"
        )


async def test_the_application_role_itself_reaches_neither(
    memory: PersonaMemory, admin: psycopg.Connection
) -> None:
    assert reached(admin, "idetic_app", ACTORS) == set()
    assert reached(admin, "idetic_app", THEIRS) == set()


async def test_only_the_steward_may_erase_and_take_an_export_in(
    memory: PersonaMemory, admin: psycopg.Connection
) -> None:
    for schema in (ACTORS, THEIRS):
        found = {role: reached(admin, role, schema) for role in (ACTOR, SUBCONSCIOUS, STEWARD)}
        alone = found[STEWARD] - found[ACTOR] - found[SUBCONSCIOUS]
        name = f"persona_agent_{schema.removeprefix('persona_')}"
        assert {f"{name}_erase_v1", f"{name}_erase_log_v1", f"{name}_strip_v1"} <= alone
        assert f"{name}_take_log_v1" in alone
        assert not any("_erase_" in each or "_take_" in each for each in found[ACTOR])


async def test_a_login_of_its_own_cannot_become_the_other(
    memory: PersonaMemory, server: TestServer, database: TestDatabase
) -> None:
    """As on the embedded server. With a login that may become both, it could: the control."""
    server.ensure_login(ACTOR)
    name = str(conninfo_to_dict(database.dsn)["dbname"])
    with psycopg.connect(server.dsn(user=ACTOR, dbname=name)) as connection:
        for role in (SUBCONSCIOUS, STEWARD, "idetic_app", "idetic_owner"):
            with pytest.raises(pg.InsufficientPrivilege):
                connection.execute(sql.SQL("SET ROLE {}").format(sql.Identifier(role)))
            connection.rollback()
    with psycopg.connect(database.dsn) as connection:
        connection.execute(f"SET ROLE {ACTOR}")
        connection.execute(f"SET ROLE {SUBCONSCIOUS}")


async def test_a_role_outside_reaches_neither(
    memory: PersonaMemory, admin: psycopg.Connection
) -> None:
    role = f"outsider_{uuid4().hex[:12]}"
    admin.execute(sql.SQL("CREATE ROLE {}").format(sql.Identifier(role)))
    admin.commit()
    try:
        assert [reached(admin, role, schema) for schema in (ACTORS, THEIRS)] == [set(), set()]
    finally:
        admin.execute(sql.SQL("DROP ROLE {}").format(sql.Identifier(role)))
        admin.commit()


async def test_what_the_role_is_told_does_not_depend_on_what_exists(
    memory: PersonaMemory,
) -> None:
    """A table that is there and one that is not: the same words."""
    said = set()
    for table in ("log", "memory", "no_such_table"):
        with pytest.raises(IdeticError) as raised:
            await pool_of(memory, Persona.ACTOR).run(
                scope_of(TENANT, "help-desk"),
                Statement(f"SELECT FROM {table_of('subconscious', table)}"),
            )
        said.add(str(raised.value))
    assert len(said) == 1


# --- tenants and agents --------------------------------------------------------------------------


async def test_agents_and_tenants_are_apart(db: Idetic, memory: PersonaMemory) -> None:
    for other in (await remembering(db, "other"), await remembering(db, tenant="other")):
        assert await seen_by(other) == []


async def seen_by(memory: PersonaMemory) -> list[Any]:
    return [*await memory.actor.tail(), *await memory.actor.rag_query("train"),
            *await memory.actor.window(), *await memory.subconscious.tail()]  # fmt: skip


@pytest.mark.usefixtures("no_predicate")
async def test_rows_are_apart_when_the_application_forgets_its_predicate(
    db: Idetic, memory: PersonaMemory
) -> None:
    assert await seen_by(await remembering(db, tenant="other")) == []


@pytest.mark.usefixtures("no_predicate")
async def test_control_without_predicate_and_policies_they_are_not(
    db: Idetic, memory: PersonaMemory, admin: psycopg.Connection
) -> None:
    for schema in (ACTORS, THEIRS):
        for table in tables_of(admin, schema):
            off = sql.SQL("ALTER TABLE {} DISABLE ROW LEVEL SECURITY")
            admin.execute(off.format(sql.Identifier(schema, table.name)))
    admin.commit()
    assert await seen_by(await remembering(db, tenant="other")) != []


async def test_every_table_is_guarded_and_keyed_by_the_tenant(
    memory: PersonaMemory, admin: psycopg.Connection
) -> None:
    for schema in (ACTORS, THEIRS):
        tables = tables_of(admin, schema)
        assert len(tables) >= 12
        for table in tables:
            assert table.rls, table.name
            assert table.rls_forced, table.name
            for key in (table.primary_key, *table.unique_keys, *table.foreign_keys):
                assert key is not None
                assert key[0] == "tenant_id", table.name


# --- no inference --------------------------------------------------------------------------------


async def told(memory: PersonaMemory, thinks: bool) -> list[Any]:
    """All that the Actor is told while it works, without what differs anyway: ids, hashes."""
    seen: list[Any] = []
    for number in range(4):
        if thinks:
            await thought(memory, f"{SECRET} {number}", "train noon " * 20, SECRET)
        events = await task(memory, f"Where is desk {number}?", f"Desk {number} is upstairs.")
        seen += [(event.position, event.ts, event.content) for event in events]
        answer = await memory.actor.rag_query("desk upstairs train noon")
        seen += [(hit.score, hit.entry.summary, sorted(hit.signals.items())) for hit in answer]
        seen += [answer.considered, answer.candidates, answer.pending, answer.not_used]
        seen += [(one.score, one.entry.summary) for one in await memory.actor.fuzzy_query("desk")]
    coverage = await memory.actor.coverage()
    head = await memory.actor.head()
    seen += [(coverage.events, coverage.ltm, coverage.vectors, coverage.loops, coverage.stm)]
    seen += [head.position, len(await memory.actor.window()), await memory.actor.get_by_id(uuid4())]
    return seen


async def test_what_the_actor_is_told_is_the_same_whether_the_subconscious_thinks_or_not(
    db: Idetic,
) -> None:
    quiet = await told(await remembering(db, "quiet"), thinks=False)
    assert await told(await remembering(db, "busy"), thinks=True) == quiet


async def test_control_a_shared_log_would_show(db: Idetic) -> None:
    quiet = await told(await remembering(db, "quiet"), thinks=False)
    mixed = await remembering(db, "mixed")
    mixed.stores[Persona.SUBCONSCIOUS] = mixed.stores[Persona.ACTOR]
    with pytest.raises(IdeticError):
        await thought(mixed, "The Actor's log takes no events of the Subconscious's kinds.")
    mixed = await remembering(db, "shared")
    actors = mixed.stores[Persona.ACTOR]

    async def aside(number: int) -> None:
        await actors.append(uuid4(), [EventDraft(EventKind.SYSTEM_EVENT, f"aside {number}")])

    await aside(1)
    assert await told(mixed, thinks=False) != quiet


async def test_ids_of_the_subconscious_are_free_for_the_actor(db: Idetic) -> None:
    """Neither an id in use, nor one that was never used, is told apart by a refusal."""
    memory = await remembering(db)
    (theirs, *_) = await thought(memory, SECRET)
    for taken in (theirs.id, uuid4()):
        async with memory.loop() as loop:
            event = await loop.append(EventKind.USER_INPUT, "my own words", id=taken)
            assert (await memory.actor.get_by_id(taken)) == event
        assert await memory.actor.loop(theirs.loop_id) == []
    assert [e.position for e in await memory.actor.tail()] == [1, 2], "no gaps from theirs"


async def test_ids_say_nothing_but_the_time(memory: PersonaMemory) -> None:
    """Random parts of neighbouring ids are unrelated, within a persona and between them."""
    ids = [event.id for event in [*await memory.actor.tail(), *await memory.subconscious.tail()]]
    tails = [one.int & (2**62 - 1) for one in ids]
    gaps = {b - a for a, b in pairwise(tails)}
    assert len(gaps) == len(tails) - 1
    assert min(map(abs, gaps)) > 2**32
    assert all(isinstance(one, UUID) and one.version == 7 for one in ids)


def test_the_scope_setting_names_no_persona() -> None:
    """The same settings for both: a connection's rights, and no parameter, say which it is."""
    settings = scoping.settings(scope_of("acme", "help-desk"))
    assert settings["idetic.scope"].split(scoping.SEPARATOR) == [
        "persona_agent",
        "acme",
        "help-desk",
    ]
    assert not any(persona in str(settings) for persona in Persona)
