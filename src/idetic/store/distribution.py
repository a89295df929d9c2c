"""How an agent's tables lie on Citus: which go where, in which order, what stands in the way."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from psycopg import sql

from idetic.store import templates
from idetic.store.node_rules import NodeFinding
from idetic.store.templates import raw

FILE = "queries/distribution.sql"
# What says to Citus: begin a group of tables that lie together.
ALONE = "none"
SETTINGS = ("triggers", "sequential")


class Place(StrEnum):
    """Where a table lies."""

    DISTRIBUTED = "distributed"
    REFERENCE = "reference"
    LOCAL = "local"


@dataclass(frozen=True, slots=True)
class Placement:
    """One table: where it goes and why, whether it is there, whether it holds rows."""

    table: str
    place: Place
    why: str
    tenant: str | None = None
    beside: str = ALONE
    done: bool = False
    rows: bool = False

    @property
    def statement(self) -> str | None:
        """What places it; nothing for a table that stays on the coordinator."""
        if self.place is Place.LOCAL:
            return None
        values = {"table": self.table, "tenant": self.tenant, "beside": self.beside}
        return composed(self.place, **values)


@dataclass(frozen=True, slots=True)
class BrokenRule:
    """What keeps a table from being distributed, and what to do about it."""

    table: str
    rule: str
    message: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Distribution:
    """Every table of an agent, and of the agents it shares tables with, in an order that works."""

    agents: tuple[str, ...]
    tables: tuple[Placement, ...]
    broken: tuple[BrokenRule, ...]
    citus: bool
    # What a node has otherwise than the coordinator. Distributing sends it again.
    nodes: tuple[NodeFinding, ...] = ()

    @property
    def pending(self) -> tuple[Placement, ...]:
        """The tables that are not where they belong yet."""
        return tuple(t for t in self.tables if t.place is not Place.LOCAL and not t.done)

    @property
    def loaded(self) -> tuple[str, ...]:
        """The tables to be distributed that hold rows already."""
        return tuple(t.table for t in self.pending if t.rows and t.place is Place.DISTRIBUTED)

    @property
    def statements(self) -> tuple[str, ...]:
        """What is run, in one transaction; nothing if nothing is pending."""
        placing = tuple(t.statement for t in self.pending if t.statement)
        return (*map(bare, SETTINGS), *placing) if placing else ()


def bare(query: str) -> str:
    """A query without its explanation, in one line: to be shown."""
    lines = templates.query(FILE, query).splitlines()
    return " ".join(line.strip() for line in lines if not line.startswith("--"))


def composed(query: str, **values: str | list[str] | None) -> str:
    """A query with names of the catalog's in it, as literals."""
    literals = {name: sql.Literal(value) for name, value in values.items()}
    return raw(bare(query)).format(**literals).as_string(None)
