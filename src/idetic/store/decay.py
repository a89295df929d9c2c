"""How fresh an entry is, as SQL: one expression for recall's ranking and for disposition's."""

from __future__ import annotations

from psycopg import sql
from psycopg.sql import Composable

from idetic.spec.memory_spec import MemorySpec
from idetic.spec.typology import DecayModel
from idetic.store.templates import raw


def freshness(spec: MemorySpec, moment: Composable) -> Composable:
    """From 1, just seen, towards 0, by each cell's decay model, of a memory row called m.

    Recall favours it; disposition presses by what is missing from 1, `1 - 0.5 ^ (age / half-life)`.
    """
    # date_part and not extract: numeric arithmetic is a hundred times slower.
    days = raw("greatest(0, date_part('epoch', {} - m.valid_at)) / 86400").format(moment)
    cases = []
    for tier, typology in spec.typology.cells():
        policy = spec.decay_of(tier, typology)
        if policy.model is DecayModel.EXEMPT:
            value: Composable = raw("1.0")
        else:
            valid = policy.model is DecayModel.VALIDITY
            half = policy.validity_days if valid else policy.half_life_days
            value = raw("power(0.5::float8, {} / {})").format(days, sql.Literal(half))
        cases.append(
            raw("WHEN m.tier = {} AND m.typology = {} THEN {}").format(
                sql.Literal(tier.value), sql.Literal(typology.value), value
            )
        )
    return raw("(CASE WHEN m.exempt_at IS NOT NULL THEN 1.0 {} ELSE 0.0 END)::float8").format(
        raw(" ").join(cases)
    )
