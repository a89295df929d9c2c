"""Where a statement comes from: what counts as one source, and what a derived entry inherits."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from idetic.evidence import Corroboration, Lineage, Relation, SourceType
from idetic.ids import uuid7
from idetic.model import Origin, Ref
from idetic.store.known import Known


def itself(known: Known, relation: Relation) -> Lineage:
    """An entry as a source of another."""
    entry = known.entry
    return Lineage(
        entry.id,
        relation,
        entry.origin,
        entry.trust,
        entry.created_at,
        entry.session_id,
        entry.interaction_id,
        {k: v for k, v in entry.provenance.items() if v is not None},
    )


def flattened(
    members: Sequence[Known], lineage: dict[UUID, list[Lineage]], relation: Relation
) -> list[Lineage]:
    """Every source of some entries, and those entries: what goes with a scope stays named here."""
    found: dict[UUID, Lineage] = {}
    for member in members:
        found.setdefault(member.id, itself(member, relation))
        for one in lineage.get(member.id, ()):
            found.setdefault(one.source_id, replace(one, relation=relation))
    return list(found.values())


def observed(member: Known, lineage: dict[UUID, list[Lineage]]) -> list[Lineage]:
    """The observations behind a session's entry: those it was made of, or itself; and echoes."""
    behind = lineage.get(member.id, [])
    if any(one.relation is not Relation.RECURRED for one in behind):
        return behind
    return [itself(member, Relation.PROMOTED), *behind]


def source_ref(one: Lineage) -> UUID:
    """What counts as one source: a chat thread, however often it says something.

    Three mentions in one thread are one voice; the same from three threads are three.
    """
    return one.interaction_id or one.session_id or one.source_id


@dataclass(slots=True)
class Sources:
    """The distinct sources behind a statement, each once."""

    found: dict[tuple[SourceType, UUID], Corroboration] = field(default_factory=dict)

    def observe(self, lineage: Iterable[Lineage], at: datetime, by: str) -> None:
        """Count observations; the same thread twice is one source."""
        for one in lineage:
            key = (SourceType.OBSERVATION_EVENT, source_ref(one))
            self.found.setdefault(
                key,
                Corroboration(
                    uuid7(), *key, at, by, one.origin, one.session_id,
                    provenance=dict(one.provenance),
                ),
            )  # fmt: skip

    def carry(self, corroborations: Iterable[Corroboration]) -> None:
        """Corroborations that an entry brings along to what is made of it."""
        for one in corroborations:
            if one.withdrawn_at is None:
                self.found.setdefault(one.source, replace(one, id=uuid7()))

    def __iter__(self) -> Any:
        return iter(self.found.values())

    def __len__(self) -> int:
        return len(self.found)


@dataclass(frozen=True, slots=True)
class Inherited:
    """What a derived entry takes from its members: the weakest trust, every reference."""

    origin: Origin
    trust: int
    refs: tuple[Ref, ...]
    provenance: dict[str, Any]
    valid_at: datetime

    @classmethod
    def of(cls, members: Sequence[Known], lineage: Iterable[Lineage] = ()) -> Inherited:
        """The inheritance of a group; the first member speaks, the newest dates it."""
        weakest = min(
            [*(itself(m, Relation.MERGED) for m in members), *lineage], key=lambda one: one.trust
        )
        refs = {(r.noun, r.id): r for m in members for r in m.entry.refs}
        newest = members[-1].entry
        known = {k: v for k, v in newest.provenance.items() if v is not None}
        began = min(m.entry.valid_at or m.entry.created_at for m in members)
        return cls(weakest.origin, weakest.trust, tuple(refs.values()), known, began)
