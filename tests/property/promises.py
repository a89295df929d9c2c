"""What must hold whatever is done: promises checked on the rows themselves, without a model.

A `Snapshot` is everything that some anchors hold, read past every policy; the promises compare it
with the one before and with the links that came in between.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple
from uuid import UUID

import psycopg
from psycopg.rows import dict_row

from tests.support.chain import Row as LedgerRow
from tests.support.chain import link_hash, narrow_key

MEMORY = """
SELECT m.memory_id AS id, m.anchor_id AS anchor, m.tier::text, m.typology::text, m.session_id,
    m.interaction_id, m.body_text AS text, m.claim_subject, m.claim_attribute, m.claim_value,
    m.trust, m.candidate, m.exempt_at IS NOT NULL AS exempt,
    CASE WHEN m.deleted_at IS NOT NULL THEN 'deleted'
        WHEN m.superseded_at IS NOT NULL THEN 'superseded'
        WHEN m.invalidated_at IS NOT NULL THEN 'invalidated'
        WHEN m.archived_at IS NOT NULL THEN 'archived' ELSE 'current' END AS state,
    EXISTS (SELECT FROM worlds.world_agent_memory_actions x WHERE {of_m})
        OR EXISTS (SELECT FROM worlds.world_agent_rule_contradictions x WHERE {of_m})
        OR EXISTS (SELECT FROM worlds.world_agent_memory_lineage x JOIN worlds.world_agent_memory d
            ON (x.org_id, x.anchor_id, x.memory_id) = (d.org_id, d.anchor_id, d.memory_id)
            WHERE (x.org_id, x.anchor_id, x.source_id) = (m.org_id, m.anchor_id, m.memory_id)
              AND d.tier = 'persistent') AS rests,
    ARRAY(SELECT concat_ws(' ', x.relation, x.source_id, x.trust)
          FROM worlds.world_agent_memory_lineage x WHERE {of_m}) AS lineage,
    ARRAY(SELECT concat_ws(' ', x.source_type,
              CASE WHEN x.source_type <> 'operator_input' THEN x.source_ref::text ELSE '' END,
              x.source_by, coalesce(x.session_id::text, ''))
          FROM worlds.world_agent_memory_corroborations x
          WHERE {of_m} AND x.withdrawn_at IS NULL) AS sources
FROM worlds.world_agent_memory m WHERE m.org_id = ANY (%s) AND m.anchor_id = ANY (%s)
""".replace("{of_m}", "(x.org_id, x.anchor_id, x.memory_id) = (m.org_id, m.anchor_id, m.memory_id)")
CLOSED = """
SELECT scope_id FROM worlds.world_agent_memory_scopes
WHERE org_id = ANY (%s) AND anchor_id = ANY (%s) AND closed_at IS NOT NULL
"""
LINKS = """
SELECT * FROM worlds.world_agent_memory_ledger
WHERE org_id = %s AND anchor_id = %s AND position > %s ORDER BY position
"""
Anchor = Mapping[str, UUID]


def keys_of(anchor: Anchor) -> tuple[UUID, UUID]:
    """The two columns under which the rows of an anchor stand."""
    return anchor["org_id"], narrow_key([*anchor.values()])


class Row(NamedTuple):
    """One entry, as the table holds it."""

    id: UUID
    anchor: UUID
    tier: str
    typology: str
    session_id: UUID | None
    interaction_id: UUID | None
    text: str
    claim_subject: str | None
    claim_attribute: str | None
    claim_value: str | None
    trust: int
    candidate: bool
    exempt: bool
    state: str
    rests: bool
    # Each as "relation id trust"; and "type id who session", of an operator's word without its id.
    lineage: list[str]
    sources: list[str]

    @property
    def protected(self) -> bool:
        return self.tier == "persistent" or self.rests

    @property
    def stands(self) -> bool:
        return self.tier == "persistent" and self.state == "current" and not self.candidate


@dataclass(frozen=True)
class Snapshot:
    """Everything that some anchors hold."""

    rows: Mapping[UUID, Row]
    closed: frozenset[UUID]

    @classmethod
    def take(cls, connection: psycopg.Connection[Any], anchors: Sequence[Anchor]) -> Snapshot:
        keys = [*map(list, zip(*map(keys_of, anchors), strict=True))]
        rows = [Row(*row) for row in connection.execute(MEMORY, keys)]
        closed = connection.execute(CLOSED, keys).fetchall()
        return cls({row.id: row for row in rows}, frozenset(scope for (scope,) in closed))


@dataclass
class Tail:
    """The end of one anchor's chain, verified as it grows: every link, none left out."""

    position: int
    hash: bytes

    def follow(self, connection: psycopg.Connection[Any], anchor: Anchor) -> list[LedgerRow]:
        cursor = connection.cursor(row_factory=dict_row)
        new: list[LedgerRow] = [*cursor.execute(LINKS, (*keys_of(anchor), self.position))]
        for row in new:
            assert row["position"] == self.position + 1, "positions have no gap"
            assert row["prev_hash"] == self.hash, "each link follows the one before"
            assert row["hash"] == link_hash(self.hash, row), "no link was changed"
            self.position, self.hash = row["position"], row["hash"]
        return new


def check(before: Snapshot, after: Snapshot, links: Sequence[LedgerRow]) -> None:
    """Every promise."""
    what_disappears_was_transient_and_dropped_by_the_close_of_its_scope(before, after, links)
    only_undo_brings_back(before, after, links)
    a_candidate_stands_only_by_a_decision(before, after, links)
    no_source_counts_twice(after)
    a_derived_entry_has_the_weakest_trust_of_its_lineage(after)
    one_entry_stands_for_a_claim(after)


def what_disappears_was_transient_and_dropped_by_the_close_of_its_scope(
    before: Snapshot, after: Snapshot, links: Sequence[LedgerRow]
) -> None:
    last = {link["memory_id"]: link["transition"] for link in links}
    for gone in before.rows.keys() - after.rows.keys():
        row = before.rows[gone]
        assert not row.protected, f"{row.tier} entry {gone} was deleted"
        assert (row.interaction_id or row.session_id) in after.closed, "its scope is open"
        assert last.get(gone) == "dropped", "its history does not end with what happened"


def only_undo_brings_back(before: Snapshot, after: Snapshot, links: Sequence[LedgerRow]) -> None:
    undone = {link["memory_id"] for link in links if link["transition"] == "undone"}
    for row in after.rows.values():
        then = before.rows.get(row.id)
        if then is not None and then.state not in ("current", row.state):
            assert row.id in undone, f"{row.id} was {then.state} and is {row.state}"


def a_candidate_stands_only_by_a_decision(
    before: Snapshot, after: Snapshot, links: Sequence[LedgerRow]
) -> None:
    decided = {link["memory_id"] for link in links if link["transition"] in ("promoted", "undone")}
    for row in after.rows.values():
        then = before.rows.get(row.id)
        if then is not None and then.candidate and not row.candidate:
            assert row.id in decided


def no_source_counts_twice(after: Snapshot) -> None:
    """A thread speaks once for an entry; an operator may repeat himself, and counts once."""
    for row in after.rows.values():
        threads = [one.split()[1] for one in row.sources if not one.startswith("operator_input")]
        assert len(set(threads)) == len(threads)


def a_derived_entry_has_the_weakest_trust_of_its_lineage(after: Snapshot) -> None:
    for row in after.rows.values():
        made = [one.split() for one in row.lineage if not one.startswith("recurred")]
        if made:
            assert row.trust == min(int(trust) for *_, trust in made)


def one_entry_stands_for_a_claim(after: Snapshot) -> None:
    """Of facts, and of preferences: also two with the same value would be one too many."""
    standing = Counter(
        (row.anchor, row.typology, row.claim_subject, row.claim_attribute)
        for row in after.rows.values()
        if row.stands and row.claim_subject is not None
    )
    assert [key for key, number in standing.items() if number > 1] == []
