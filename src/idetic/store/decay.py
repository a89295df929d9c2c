"""How fresh an entry is, as SQL: one expression for recall's ranking and for disposition's."""

from __future__ import annotations

from psycopg import sql
from psycopg.sql import Composable

from idetic.evidence import DispositionCause
from idetic.model import Scope, Tier, Typology
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.typology import DecayModel
from idetic.store import scope as scoping
from idetic.store import templates
from idetic.store.family import Family
from idetic.store.templates import raw

_FILE = "queries/decay.sql"


def freshness(family: Family, scope: Scope, moment: Composable) -> Composable:
    """From 1, just seen, towards 0, by each cell's decay model, of a memory row called m.

    Recall favours it; disposition presses by what is missing from 1, `1 - 0.5 ^ (age / half-life)`.
    """
    cases = []
    for tier, typology in family.spec.typology.cells():
        policy = family.spec.decay_of(tier, typology)
        if policy.model is DecayModel.EXEMPT:
            value: Composable = raw("1.0")
        else:
            valid = policy.model is DecayModel.VALIDITY
            half = policy.validity_days if valid else policy.half_life_days
            seen = _confirmed(family, scope) if valid else raw("m.valid_at")
            # date_part and not extract: numeric arithmetic is a hundred times slower.
            days = raw("greatest(0, date_part('epoch', {} - {})) / 86400").format(moment, seen)
            value = raw("power(0.5::float8, {} / {})").format(days, sql.Literal(half))
        cases.append(_when(tier, typology, value))
    return raw("(CASE WHEN m.exempt_at IS NOT NULL THEN 1.0 {} ELSE 0.0 END)::float8").format(
        raw(" ").join(cases)
    )


def _confirmed(family: Family, scope: Scope) -> Composable:
    """When an entry was last known to hold: re-corroboration extends its validity.

    Derived from the junction and never kept on the row (ADR-058 D9).
    """
    if not family.spec.references.corroborations:
        return raw("m.valid_at")
    return raw(templates.query(_FILE, "confirmed")).format(
        corroborations=family.names()["corroborations"], scope_c=scoping.predicate(scope, "c")
    )


def due(family: Family, scope: Scope) -> Composable:
    """When a persistent entry falls due for a disposition; infinity where it never does."""
    spec = family.spec
    cases: list[Composable] = [raw("WHEN m.exempt_at IS NOT NULL THEN 'infinity'::timestamptz")]
    waiting = sql.Literal(_candidate_days(spec))
    cases.append(raw("WHEN m.candidate THEN m.created_at + {} * interval '1 day'").format(waiting))
    for typology in spec.typology.at(Tier.PERSISTENT):
        policy = spec.decay_of(Tier.PERSISTENT, typology)
        if policy.model is DecayModel.VALIDITY:
            after, seen = policy.validity_days, _confirmed(family, scope)
        elif policy.model is DecayModel.FORCING:
            after, seen = policy.half_life_days, raw("m.valid_at")
        else:
            continue
        value = raw("{} + {} * interval '1 day'").format(seen, sql.Literal(after))
        cases.append(_when(Tier.PERSISTENT, typology, value))
    return raw("(CASE {} ELSE 'infinity' END)").format(raw(" ").join(cases))


def cause(spec: MemorySpec) -> Composable:
    """Why a persistent entry falls due."""
    stale = sql.Literal(DispositionCause.STALE_CANDIDATE.value)
    cases: list[Composable] = [raw("WHEN m.candidate THEN {}").format(stale)]
    for typology in spec.typology.at(Tier.PERSISTENT):
        forced = spec.decay_of(Tier.PERSISTENT, typology).model is DecayModel.FORCING
        why = DispositionCause.FORCED if forced else DispositionCause.LAPSED
        cases.append(_when(Tier.PERSISTENT, typology, sql.Literal(why.value)))
    return raw("(CASE {} END)").format(raw(" ").join(cases))


def pressure(family: Family, scope: Scope, moment: Composable) -> Composable:
    """How hard time presses on a persistent entry; on a candidate, by how long it has waited."""
    days = raw("greatest(0, date_part('epoch', {} - m.created_at)) / 86400").format(moment)
    waited = raw("power(0.5::float8, {} / {})").format(
        days, sql.Literal(_candidate_days(family.spec))
    )
    return raw("(1 - CASE WHEN m.candidate AND m.exempt_at IS NULL THEN {} ELSE {} END)").format(
        waited, freshness(family, scope, moment)
    )


def _candidate_days(spec: MemorySpec) -> float:
    """How long a candidate may wait for support."""
    persistent = Typology.EPISODIC in spec.typology.at(Tier.PERSISTENT)
    tier = Tier.PERSISTENT if persistent else Tier.SESSION
    return spec.promotion_of(tier, Typology.EPISODIC).candidate_days


def _when(tier: Tier, typology: Typology, value: Composable) -> Composable:
    return raw("WHEN m.tier = {} AND m.typology = {} THEN {}").format(
        sql.Literal(tier.value), sql.Literal(typology.value), value
    )
