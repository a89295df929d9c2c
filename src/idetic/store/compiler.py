"""The schema compiler: a spec in, a list of database objects out. No I/O.

The templates in `sql/family` say what is built; this says with which names, for which cells,
canonical nouns and tables. Two compilations of one spec are equal to the letter.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from psycopg import sql

from idetic.model import Tier, Typology
from idetic.spec.memory_spec import MemorySpec
from idetic.store import templates
from idetic.store.access import (
    access_names,
    access_templates,
    belongings,
    refusals,
    write_grants,
)
from idetic.store.canonical import canonical_names, pointed_at, qualified, root_names
from idetic.store.disposal import erase_names, noun, retention_names, strip_names
from idetic.store.family import Family, Names
from idetic.store.fragments import admit_names, provenance_names, remember, settle_names
from idetic.store.taking import moved, take_names, taken_names
from idetic.store.templates import raw


@dataclass(frozen=True, slots=True)
class Extensions:
    """The schemas pg_trgm and pgvector live in, not always `public`; and whether it is Citus."""

    trgm: str = "public"
    vector: str = "public"
    citus: bool = False


@dataclass(frozen=True, slots=True)
class DatabaseObject:
    """One thing the compiler makes: a table, an index, a function, a policy."""

    kind: str
    name: str
    ddl: str
    runs_as: str

    @property
    def digest(self) -> str:
        """Changes when the definition does; a comment is not part of it."""
        return _digest(self.ddl)


# A server, a worker and a test open the same agents again and again: compiling is the most of it.
@lru_cache(maxsize=4_096)
def _digest(ddl: str) -> str:
    code = re.sub(r"--.*$", "", ddl, flags=re.MULTILINE)
    return hashlib.sha256(" ".join(code.split()).encode()).hexdigest()


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A spec to compile: two with one digest are the same spec."""

    digest: str
    spec: MemorySpec = field(compare=False)


def compile_spec(spec: MemorySpec, extensions: Extensions | None = None) -> list[DatabaseObject]:
    """Every object of the agent's family, in an order that can be executed."""
    return list(_compiled(_Wanted(spec.digest, spec), extensions or Extensions()))


@lru_cache(maxsize=16)
def _compiled(wanted: _Wanted, extensions: Extensions) -> tuple[DatabaseObject, ...]:
    spec = wanted.spec
    family = Family(spec)
    names = family.names() | _common_names(family, extensions) | root_names(spec)
    return (
        *_pointed_at(family, names),
        *_render("memory.sql", names, family),
        *_cells(family, names),
        *_render("ledger.sql", names, family),
        *(_render("corroborations.sql", names, family) if spec.references.corroborations else ()),
        *(_render("readings.sql", names, family) if _guarded(family) else ()),
        *_canonicals(family, names),
        *_provenance(family, names),
        *_render("immutable.sql", names | provenance_names(family), family),
        *_written_once(family, names),
        *_close(family, names),
        *_render("strip.sql", names | strip_names(family, names), family),
        *_render("erase.sql", names | erase_names(family, names), family),
        *_append_only(family, names),
        *_render("gateway.sql", names, family),
        *_render("admit.sql", names | admit_names(family, names, citus=extensions.citus), family),
        *_render("settle.sql", names | settle_names(family, names), family),
        *_render("turn.sql", names | {"remember_call_key": remember(names)}, family),
        *_moving(family, names),
        *_render("views.sql", names | retention_names(family, names), family),
        *_access(family, names),
    )


def _render(path: str, names: Names, family: Family, **titles: str) -> Iterator[DatabaseObject]:
    titles = {"family": family.name, "schema_name": family.schema, **titles}
    for block in templates.blocks(f"family/{path}"):
        kind, name = block.title.format(**titles).split(" ", 1)
        ddl = raw(block.text).format(**names).as_string(None)
        yield DatabaseObject(kind, name, ddl, block.runs_as)


def _common_names(family: Family, extensions: Extensions) -> Names:
    vector = sql.Identifier(extensions.vector)
    names: Names = {
        "vector": raw("{}.halfvec").format(vector),
        "vector_ops": raw("{}.halfvec_ip_ops").format(vector),
        "provenance_text": sql.Literal(", ".join(family.spec.anchor.provenance) or "none"),
        "trgm_schema": sql.Identifier(extensions.trgm),
        "body_text_max": sql.Literal(family.spec.backend.body_text_max),
        "note": family.qualified(f"{family.name}_note"),
        "note_text": sql.Literal(f"{family.schema}.{family.name}_note"),
    }
    for constraint in (
        "memory_pkey memory_superseded_by memory_root memory_consistent actions_pkey "
        "actions_memory embeddings_pkey embeddings_profile embeddings_memory scopes_pkey "
        "scopes_session scopes_tier ledger_pkey anchors_pkey receipts_pkey receipts_ledger "
        "corroborations_notes corroborations_pkey corroborations_source corroborations_memory "
        "profiles_pkey reads_pkey lineage_pkey lineage_memory marks_pkey"
    ).split():
        names[f"c_{constraint}"] = sql.Identifier(f"{family.name}_{constraint}")
    for index in (
        "current claim actions_memory ledger_entry reads_session reads_memory transient "
        "scopes_open lineage_source alike superseded tombstones ledger_refused "
        "ledger_quarantined"
    ).split():
        names[f"i_{index}"] = sql.Identifier(f"{family.name}_{index}_idx")
    return names


def _cells(family: Family, names: Names) -> Iterator[DatabaseObject]:
    for tier, typology in family.spec.typology.cells():
        cell = f"{tier.value}_{typology.value}"
        more: Names = {
            "i_hnsw": sql.Identifier(f"{family.name}_hnsw_{cell}"),
            "tier": sql.Literal(tier.value),
            "typology": sql.Literal(typology.value),
        }
        yield from _render("embeddings_cell.sql", names | more, family, cell_name=cell)


def _pointed_at(family: Family, names: Names) -> Iterator[DatabaseObject]:
    """Every table outside the family that the spec points at."""
    for table in pointed_at(family.spec):
        more: Names = {
            "table": qualified(table),
            "table_schema": sql.Identifier(table.split(".", 1)[0]),
            "table_text": sql.Literal(table),
        }
        yield from _render("canonical_access.sql", names | more, family, table_name=table)


def _append_only(family: Family, names: Names) -> Iterator[DatabaseObject]:
    """No row of any table goes but by the close of its scope; most are written once."""
    for table in family.tables():
        more: Names = {"table": family.qualified(table), **refusals(family, names, table)}
        if "UPDATE" not in write_grants(family, table):
            yield from _render("append_only.sql", names | more, family, table_name=table)
        if table != family.table_name("memory"):
            yield from _render("removal.sql", names | more, family, table_name=table)


def _written_once(family: Family, names: Names) -> Iterator[DatabaseObject]:
    if family.spec.references.corroborations:
        yield from _render("corroborations_once.sql", names | provenance_names(family), family)


def _close(family: Family, names: Names) -> Iterator[DatabaseObject]:
    dropping = raw(templates.read("family/drop_belongings.sql"))
    cell = family.spec.promotion_of(Tier.SESSION, Typology.EPISODIC)
    more: Names = {
        "dedup_trigram": sql.Literal(cell.dedup_trigram),
        "drop_belongings": raw("").join(
            dropping.format(**(names | {"table": family.qualified(t)})) for t in belongings(family)
        ),
    }
    yield from _render("close.sql", names | more, family)


def _guarded(family: Family) -> bool:
    """Whether there is any canonical text that a note could restate."""
    return any(canonical.body for canonical in family.spec.references.canonical)


def _canonicals(family: Family, names: Names) -> Iterator[DatabaseObject]:
    for canonical in family.spec.references.canonical:
        more = names | canonical_names(family, canonical)
        titles = {"noun": canonical.noun, "canonical_name": canonical.table}
        yield from _render("refs.sql", more, family, **titles)
        if canonical.contradictions:
            yield from _render("contradictions.sql", more, family, **titles)
        if canonical.body:
            yield from _render("guard.sql", more, family, **titles)
            yield from _render("prints.sql", more, family, **titles)
            yield from _render("restated.sql", more, family, **titles)
        yield from _render("canonical_view.sql", more, family, **titles)


def _provenance(family: Family, names: Names) -> Iterator[DatabaseObject]:
    tables = [family.table_name("memory")]
    for canonical in family.spec.references.canonical:
        tables.append(family.refs_table(canonical))
        if canonical.contradictions:
            tables.append(family.contradictions_table(canonical))
    tables.append(family.table_name("lineage"))
    if family.spec.references.corroborations:
        tables.append(family.table_name("corroborations"))
    for column in family.spec.anchor.provenance:
        for table in tables:
            more: Names = {"table": family.qualified(table), "column": sql.Identifier(column)}
            titles = {"table_name": table, "column_name": column}
            yield from _render("provenance.sql", names | more, family, **titles)


def _moving(family: Family, names: Names) -> Iterator[DatabaseObject]:
    """What takes an export in: a function for each table, and one that ends it."""
    for table in moved(family):
        more = names | take_names(family, names, table)
        yield from _render("take.sql", more, family, noun_name=noun(family, table))
    yield from _render("taken.sql", names | taken_names(family, names), family)


def _access(family: Family, names: Names) -> Iterator[DatabaseObject]:
    for table in family.tables():
        more = names | access_names(family, table)
        for path in access_templates(family, table):
            yield from _render(path, more, family, table_name=table)
