"""The names of one agent's table family, and its named queries as statements."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Any

from psycopg import sql

from idetic.model import Tier, Typology
from idetic.spec.memory_spec import GuardRole
from idetic.spec.primitives import Persona
from idetic.store import scope as scoping
from idetic.store import templates
from idetic.store.database import APP_ROLE
from idetic.store.scope import quoted
from idetic.store.templates import BoundStatement, Fillers, Statement, filled, statement

if TYPE_CHECKING:
    from idetic.model import Scope
    from idetic.spec.memory_spec import MemorySpec
    from idetic.spec.primitives import Canonical
STEWARD_ROLE = "idetic_steward"
_TABLES = (
    *("memory", "actions", "embeddings", "ledger", "anchors", "receipts"),
    *("scopes", "profiles", "reads", "lineage", "marks", "segments", "words"),
)
# Where each word of an anchor stands: made of its entries, and made anew from them at any time.
_INDEX = ("segments", "words")
# What an entry says, in every form it is kept in; the rest of the row is its identity and life.
# `emptied` in sql/family/triggers.sql names the same.
PAYLOAD = (
    *("body_text", "envelope", "claim_subject", "claim_attribute", "claim_value", "lexemes"),
    *("digest_salt", "embedding_id"),
)
# What others point at goes first. The anchor's row is the anchor itself, and the profiles are the
# tenant's: neither moves as a row. Prints are made of the canonical content that is there.
_FIRST = ("scopes", "ledger", "memory")
_STAYS = ("anchors", "profiles", *_INDEX)
_LIVE = ("archived_at", "superseded_at", "invalidated_at", "deleted_at")
# Statements by all that their text depends on. Every pass over an anchor asks for several, and
# composing one takes longer than a query.
_STATEMENTS: dict[tuple[Any, ...], Statement] = {}
_NO_PARTS: Mapping[str, str] = {}


class Family:
    """Where one agent's memory lives: every table, function and view by name.

    Nothing here knows any particular agent; a new spec is a new family by the same rules. With two
    personas each has a family, in a schema of its own: `persona`, by default the Actor, says whose.

    `role` works in the family, and `steward` governs it: only the steward may erase here and take
    an export in. `readers` only read: the Subconscious may read the Actor's memory. `log_table` is
    the log that memory is derived from, `notes_table` the notes that the other persona leaves.
    `prefix` begins every name of the family: `"worlds".world_agent`.
    """

    def __init__(self, spec: MemorySpec, persona: Persona | None = None):
        personas = spec.backend.personas
        self.spec = spec
        self.persona = persona if persona in personas else personas[0]
        own = f"_{self.persona}" if self.persona else ""
        self.schema = spec.backend.schema_ + own
        self.name = spec.backend.family + own
        self.prefix = f"{quoted(self.schema)}.{self.name}"
        self.keys = tuple(key.name for key in spec.anchor.keys)
        self.role = f"idetic_{self.persona}" if self.persona else APP_ROLE
        self.steward = STEWARD_ROLE if self.persona else APP_ROLE
        self.writers = tuple(dict.fromkeys((self.role, self.steward)))
        actor = self.persona is Persona.ACTOR
        self.readers = ("idetic_auditor", *(("idetic_subconscious",) if actor else ()))
        self.log_table = f"{self.name}_log" if spec.backend.log is not None else None
        self.notes_table = f"{self.name}_notes" if actor else None

    def __repr__(self) -> str:
        return f"Family({self.schema}.{self.name})"

    def table_name(self, noun: str) -> str:
        """The bare name of a family table: `world_agent_memory_ledger` for `ledger`."""
        return f"{self.name}_memory" if noun == "memory" else f"{self.name}_memory_{noun}"

    def refs_table(self, canonical: Canonical) -> str:
        """The junction of one canonical noun."""
        return f"{self.name}_memory_{canonical.noun}_refs"

    def prints_table(self, canonical: Canonical) -> str:
        """The runs of words that occur in one canonical noun's texts."""
        return f"{self.name}_{canonical.noun}_prints"

    def prints_tables(self) -> list[str]:
        """The prints of each canonical noun that has texts."""
        return [self.prints_table(c) for c in self.spec.references.canonical if c.body]

    def index_tables(self) -> list[str]:
        """The tables of the word index."""
        return [self.table_name(noun) for noun in _INDEX]

    def contradictions_table(self, canonical: Canonical) -> str:
        """The contradictions with one canonical noun."""
        return f"{self.name}_{canonical.noun}_contradictions"

    def tables(self) -> tuple[str, ...]:
        """Every table of the family, in creation order."""
        names = [name for name in (self.log_table, self.notes_table) if name is not None]
        names += [self.table_name(noun) for noun in _TABLES]
        if self.spec.references.corroborations:
            names.append(self.table_name("corroborations"))
        if self.spec.proposes:
            names.append(self.table_name("proposals"))
        for canonical in self.spec.references.canonical:
            names.append(self.refs_table(canonical))
            if canonical.contradictions:
                names.append(self.contradictions_table(canonical))
            if canonical.body:
                names.append(self.prints_table(canonical))
        return tuple(names)

    def qualified(self, name: str) -> sql.Identifier:
        """A name in the family's schema."""
        return sql.Identifier(self.schema, name)

    def names(self) -> dict[str, str]:
        """What the SQL files may name that depends only on the family."""
        tenant = self.spec.anchor.tenant
        # A loop's summary is found by its words alone, and some documents not at all.
        loops = "m.loop_id IS NULL" if self.log_table else ""
        embeddable = filter(None, (loops, self.searched))
        return {
            "schema": quoted(self.schema),
            "family": self.prefix,
            "name": self.name,
            "family_text": f"{self.schema}.{self.name}",
            "tenant": quoted(tenant.name),
            "tenant_type": tenant.type.value,
            "embeddable": "".join(f" AND {one}" for one in embeddable),
        }

    @property
    def searched(self) -> str:
        """The condition that an entry called m is no document which is kept from questions.

        Empty for a spec whose envelope does not declare what documents say of themselves.
        """
        documents = {"version", "ranked"} <= set(self.spec.retrieval.envelope)
        kept = "NOT (m.envelope ? 'version' AND m.envelope ->> 'ranked' = 'no')"
        # A missing key makes it unknown, and what is unknown is not excluded.
        return f"coalesce({kept}, true)" if documents else ""

    @property
    def recalled(self) -> str:
        """The condition that a question without filters finds an entry called m."""
        confirmed = "" if self.spec.retrieval.unconfirmed else "NOT m.candidate"
        return " AND ".join(filter(None, (live("m"), confirmed, self.searched)))

    def statement(
        self,
        file: str,
        query: str,
        scope: Scope,
        parts: Mapping[str, str] = _NO_PARTS,
        *,
        prepared: bool = False,
    ) -> Statement:
        """A named query of `sql/queries`, for scopes that leave the same keys open.

        `parts` are further names: texts of ours, which may leave values open themselves.
        """
        left = tuple((name, value is None) for name, value in scope.anchor.items())
        # The functions belong to the key: a statement must not outlive a test's sabotage.
        made = (scoping.predicate, scoping.tenant_predicate)
        key = (self.prefix, self.spec.digest, file, query, left, made, tuple(parts.items()))
        found = _STATEMENTS.get(key)
        if found is None:
            names: Fillers = {**self.names(), **self.scope_names(scope), **parts}
            text = templates.query(f"queries/{file}.sql", query)
            # Twice: a part may name tables itself.
            found = statement(filled(filled(text, names), names), prepared=prepared)
            _STATEMENTS[key] = found
        return found

    def scope_names(self, scope: Scope) -> Fillers:
        """`{scope m}`, `{of_tenant p}`, `{live m}`, `{evidence m}`, `{place m}`: by an alias."""
        anchors = f"{self.prefix}_memory_anchors"
        return {
            "scope": partial(scoping.predicate, scope, anchors=anchors),
            "of_tenant": partial(scoping.tenant_predicate, scope),
            "live": live,
            "evidence": evidence,
            "place": place,
        }

    def call(
        self, file: str, query: str, scope: Scope, parts: Mapping[str, str], **values: Any
    ) -> BoundStatement:
        """A named query with its values; the scope brings its own."""
        made = self.statement(file, query, scope, parts)
        return BoundStatement(made, scoping.bound(scope) | values)


def families(spec: MemorySpec) -> list[Family]:
    """Every family of an agent: one, or one for each of two personas."""
    return [Family(spec, persona) for persona in spec.backend.personas]


def live(alias: str) -> str:
    """The entries that hold now: the condition of the index that the current view is read by."""
    return " AND ".join(f"{alias}.{state} IS NULL" for state in _LIVE)


def place(alias: str = "") -> str:
    """Whose neighbours an entry's are: its interaction's, its session's, or nobody's.

    As CASE, which the planner knows to leak nothing: with COALESCE, row-level security keeps the
    index of places from being used.
    """
    interaction, session, memory = (
        f"{alias}.{name}" if alias else name
        for name in ("interaction_id", "session_id", "memory_id")
    )
    return (
        f"CASE WHEN {interaction} IS NOT NULL THEN {interaction} "
        f"WHEN {session} IS NOT NULL THEN {session} ELSE {memory} END"
    )


# Every cell in the order of the numbers that `packed` (entry_sql.py) has for them.
CELLS = tuple((tier, typology) for tier in Tier for typology in Typology)


def cell_number(tier: Tier, typology: Typology) -> int:
    """The number of a cell."""
    return CELLS.index((tier, typology))


def evidence(alias: str) -> str:
    """The entries that stayed after their scope for what was made of them; no recall has them."""
    return f"({alias}.tier <> 'persistent' AND {alias}.archived_at IS NOT NULL)"


def qualified(table: str) -> str:
    """`schema.table` as SQL."""
    return sql.Identifier(*table.split(".", 1)).as_string(None)


def tables_outside(spec: MemorySpec) -> list[str]:
    """Every table outside the family that the spec points at, once each."""
    tables = [spec.anchor.root.table] if spec.anchor.root else []
    for canonical in spec.references.canonical:
        tables += [canonical.table, *([canonical.versions] if canonical.versions else [])]
    return list(dict.fromkeys(tables))


def canonical_names(family: Family, canonical: Canonical) -> dict[str, str]:
    """What the SQL files may name of one canonical noun."""
    names = {
        "noun": canonical.noun,
        "canonical": qualified(canonical.table),
        "canonical_text": canonical.table,
        "canonical_schema": quoted(canonical.table.split(".", 1)[0]),
        "canonical_id": quoted(canonical.key),
        "primary": str(family.spec.leak_defence.guard is GuardRole.PRIMARY).lower(),
    }
    for name, column in (
        ("canonical_body", canonical.body),
        ("canonical_strength", canonical.strength),
        ("canonical_version", canonical.version if canonical.versions else None),
        ("canonical_scope", canonical.scope if family.spec.anchor.root else None),
    ):
        if column:
            names[name] = quoted(column)
    if canonical.versions:
        names["canonical_versions"] = qualified(canonical.versions)
    return names


# --- free text beside entries, and what moves with an anchor -------------------------------------


def note_columns(family: Family) -> dict[str, tuple[str, ...]]:
    """The tables whose rows belong to an entry and hold free text, with the columns it is in."""
    found: dict[str, tuple[str, ...]] = {}
    if family.spec.references.corroborations:
        found[family.table_name("corroborations")] = ("notes",)
    if family.spec.proposes:
        found[family.table_name("proposals")] = ("decision_reason", "statement")
    for canonical in family.spec.references.canonical:
        if canonical.contradictions:
            found[family.contradictions_table(canonical)] = ("resolution_notes", "previous_notes")
    return found


def salt_columns(family: Family, table: str) -> tuple[str, ...]:
    """The columns with the salts of those notes: without one, nobody can guess from a hash."""
    columns = {
        family.table_name("corroborations"): ("notes_salt",),
        family.table_name("proposals"): ("reason_salt", "statement_salt"),
    }
    return columns.get(table, ("notes_salt", "previous_salt"))


def noted_names(family: Family, table: str) -> dict[str, str]:
    """What the SQL files may say of a table with notes."""
    columns = note_columns(family)[table]
    emptied = (*columns, *salt_columns(family, table))
    own = {} if table == family.table_name("proposals") else {"provided": ""}
    return {
        **own,
        "table": family.qualified(table).as_string(None),
        "table_name": table,
        "noted": noun(family, table),
        # Where a note is written first.
        "newest": columns[0],
        "row_id": row_id(family, table),
        "no_notes": ", ".join(f"{column} = NULL" for column in emptied),
        "notes": ", ".join(f"m.{column}" for column in columns),
    }


def row_id(family: Family, table: str) -> str:
    """The column that identifies a row of a table with notes."""
    ids = {f"{one}s": f"{one}_id" for one in ("corroboration", "proposal")}
    return ids.get(noun(family, table), "contradiction_id")


def noun(family: Family, table: str) -> str:
    """What a table of a family is called within it: `ledger`, `rule_contradictions`."""
    if table == family.table_name("memory"):
        return "memory"
    return table.removeprefix(f"{family.name}_").removeprefix("memory_")


def moved(family: Family) -> list[str]:
    """The tables whose rows are an anchor's memory, in the order in which they can be filled."""
    first = [family.log_table] if family.log_table else []
    first += [family.table_name(table) for table in _FIRST]
    stays = [family.table_name(table) for table in _STAYS] + family.prints_tables()
    return first + [table for table in family.tables() if table not in (*first, *stays)]


def left_out(family: Family, table: str) -> set[str]:
    """Columns that are not part of a moved row: the anchor's, and what is derived or apart."""
    found = {family.keys[0], "anchor_id"}
    if table == family.table_name("memory"):
        found |= {"lexemes", "superseded_at", "superseded_by", "embed_attempts", "embed_error"}
        root = family.spec.anchor.root
        found |= {root.key} if root else set()
    if table == family.table_name("embeddings"):
        found.add("profile_id")
    return found


def take_function(family: Family, table: str) -> str:
    """The function that fills one table."""
    return f"{family.prefix}_take_{noun(family, table)}_v1"
