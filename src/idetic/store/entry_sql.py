"""SQL over a memory row called m: how fresh it is, when it falls due, whether its envelope fits.

Recall ranks by envelope and by what is packed of each row; disposition by freshness; `where`
excludes by envelope.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from psycopg import sql

from idetic.evidence import DispositionCause
from idetic.model import Origin, Scope, Tier, Typology
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import EnvelopeType
from idetic.spec.typology import DecayModel
from idetic.store import templates
from idetic.store.family import CELLS, Family
from idetic.store.templates import Fillers, filled

# In words that count: neighbours lend their words to entries of fewer. Chosen on the development
# sets.
LONG_ENTRY = 50
# The words by which an entry names a time, as the database stems them.
_TIMES = (
    "yesterday today tonight tomorrow last next ago day week weekend month year recent spring "
    "summer winter januari februari march april june juli august septemb octob novemb decemb "
    "monday tuesday wednesday thursday friday saturday sunday 19:* 20:*"
)
# Between the speakers of several entries; no speaker has it.
SPEAKERS = "\x1f"
# So many words of an entry are counted.
MOST_WORDS = (1 << 20) - 1


def packed() -> str:
    """Most of what the signals read off an entry, as one number.

    From the lowest bit: 0 for whether it begins a place, four for its cell, one each for whether it
    is a question, names a time, makes a claim; three for its origin, the rest for its words.
    """
    cells = " ".join(
        f"WHEN m.tier = {_literal(tier.value)} AND m.typology = {_literal(typology.value)} THEN {n}"
        for n, (tier, typology) in enumerate(CELLS)
    )
    origins = " ".join(f"WHEN {_literal(one.value)} THEN {n}" for n, one in enumerate(Origin))
    # Only of few words is the text read.
    asks = f"length(m.lexemes) < {LONG_ENTRY} AND right(rtrim(m.body_text, E' \\n\\t'), 1) = '?'"
    times = f"m.lexemes @@ {_literal(' | '.join(_TIMES.split()))}::tsquery"
    claims = "m.claim_attribute IS NOT NULL"
    bits = (
        (f"CASE {cells} END", 1),
        *((f"({one})::integer", n) for one, n in ((asks, 5), (times, 6), (claims, 7))),
        (f"CASE m.origin {origins} END", 8),
    )
    parts = " + ".join(f"(({value}) << {n})" for value, n in bits)
    return f"(least(length(m.lexemes), {MOST_WORDS}) << 11) + {parts}"


def times(family: Family, names: Fillers) -> str:
    """When an entry was true first and last known to hold, packed; without end if it is exempt."""
    confirmed = _confirmed(family, names)
    since = (
        f"CASE WHEN m.exempt_at IS NULL THEN date_part('epoch', {confirmed}) ELSE 'Infinity' END"
    )
    valid = "coalesce(date_part('epoch', m.valid_at), 'NaN')"
    return f"float8send({valid}) || float8send(coalesce({since}, 'NaN'))"


def speaker() -> str:
    """Who said an entry, in lower case; nothing where nobody is named."""
    return "replace(coalesce(lower(m.envelope ->> 'speaker'), ''), chr(31), ' ')"


def freshness(family: Family, scope: Scope, moment: str) -> str:
    """From 1, just seen, towards 0, by each cell's decay model.

    Recall favours it; disposition presses by what is missing from 1, `1 - 0.5 ^ (age / half-life)`.
    `moment` is where the time is bound, such as `%(moment)s`.
    """
    cases = []
    for tier, typology in family.spec.typology.cells():
        policy = family.spec.decay_of(tier, typology)
        if policy.model is DecayModel.EXEMPT:
            value = "1.0"
        else:
            valid = policy.model is DecayModel.VALIDITY
            half = policy.validity_days if valid else policy.half_life_days
            since = _confirmed(family, family.scope_names(scope)) if valid else "m.valid_at"
            value = _halved(moment, since, half)
        cases.append(_when(tier, typology, value))
    return f"(CASE WHEN m.exempt_at IS NOT NULL THEN 1.0 {' '.join(cases)} ELSE 0.0 END)::float8"


def _halved(moment: str, since: str, days: float | None) -> str:
    """What is left of 1 after some time, when half of it goes every so many days."""
    # date_part and not extract: numeric arithmetic is a hundred times slower.
    age = f"greatest(0, date_part('epoch', {moment}::timestamptz - {since})) / 86400"
    return f"power(0.5::float8, {age} / {_literal(days)})"


def _confirmed(family: Family, names: Fillers) -> str:
    """When an entry was last known to hold: re-corroboration extends its validity.

    Derived from the junction and never kept on the row (ADR-058 D9).
    """
    if not family.spec.references.corroborations:
        return "m.valid_at"
    return filled(templates.query("queries/decay.sql", "confirmed"), {**family.names(), **names})


def _changed(family: Family, scope: Scope) -> str | None:
    """When a canonical text changed that an entry rests on; None where no version is kept."""
    if not any(canonical.versions for canonical in family.spec.references.canonical):
        return None
    names = {**family.names(), **family.scope_names(scope)}
    return filled(templates.query("queries/decay.sql", "changed"), names)


def due(family: Family, scope: Scope) -> str:
    """When a persistent entry falls due for a disposition; infinity where it never does."""
    spec, changed = family.spec, _changed(family, scope)
    waiting = _literal(_candidate_days(spec))
    cases = [
        "WHEN m.exempt_at IS NOT NULL THEN 'infinity'::timestamptz",
        f"WHEN m.candidate THEN m.created_at + {waiting} * interval '1 day'",
    ]
    for typology in spec.typology.at(Tier.PERSISTENT):
        policy = spec.decay_of(Tier.PERSISTENT, typology)
        if policy.model is DecayModel.VALIDITY:
            after = policy.validity_days
            seen = _confirmed(family, family.scope_names(scope))
        elif policy.model is DecayModel.FORCING:
            after, seen = policy.half_life_days, "m.valid_at"
        else:
            continue
        value = f"{seen} + {_literal(after)} * interval '1 day'"
        cases.append(_when(Tier.PERSISTENT, typology, value))
    aged = f"(CASE {' '.join(cases)} ELSE 'infinity' END)"
    return aged if changed is None else f"least({changed}, {aged})"


def cause(family: Family, scope: Scope) -> str:
    """Why a persistent entry falls due."""
    spec, changed = family.spec, _changed(family, scope)
    cases = [f"WHEN m.candidate THEN {_literal(DispositionCause.STALE_CANDIDATE.value)}"]
    if changed is not None:
        why = _literal(DispositionCause.CANONICAL_CHANGE.value)
        cases.insert(0, f"WHEN {changed} IS NOT NULL THEN {why}")
    for typology in spec.typology.at(Tier.PERSISTENT):
        forced = spec.decay_of(Tier.PERSISTENT, typology).model is DecayModel.FORCING
        why = DispositionCause.FORCED if forced else DispositionCause.LAPSED
        cases.append(_when(Tier.PERSISTENT, typology, _literal(why.value)))
    return f"(CASE {' '.join(cases)} END)"


def pressure(family: Family, scope: Scope, moment: str) -> str:
    """How hard time presses on a persistent entry; on a candidate, by how long it has waited.

    What a canonical text rested on that has changed since is pressed hardest.
    """
    waited, changed = _halved(moment, "m.created_at", _candidate_days(family.spec)), ""
    if (at := _changed(family, scope)) is not None:
        changed = f"WHEN m.exempt_at IS NULL AND {at} IS NOT NULL THEN 0 "
    waits = f"m.candidate AND m.exempt_at IS NULL THEN {waited}"
    return f"(1 - CASE {changed}WHEN {waits} ELSE {freshness(family, scope, moment)} END)"


def _candidate_days(spec: MemorySpec) -> float:
    """How long a candidate may wait for support."""
    persistent = Typology.EPISODIC in spec.typology.at(Tier.PERSISTENT)
    tier = Tier.PERSISTENT if persistent else Tier.SESSION
    return spec.promotion_of(tier, Typology.EPISODIC).candidate_days


def _when(tier: Tier, typology: Typology, value: str) -> str:
    """The branch of a CASE that gives the entries of one cell their value."""
    cell = f"m.tier = {_literal(tier.value)} AND m.typology = {_literal(typology.value)}"
    return f"WHEN {cell} THEN {value}"


def _literal(value: float | str | None) -> str:
    """A constant of the spec's as SQL."""
    return sql.Literal(value).as_string(None)


def matches(kind: EnvelopeType, name: str, values: str) -> str:
    """Whether an entry's envelope satisfies one asked key: exact, any-of, or ancestor-of.

    `values` is where the asked texts are bound, such as `%(where_0)s`.
    """
    key, asked = _literal(name), f"{values}::text[]"
    if kind is EnvelopeType.LIST:
        return f"coalesce(m.envelope -> {key} ?| {asked}, false)"
    if kind is EnvelopeType.HIERARCHY:
        value = f"m.envelope ->> {key}"
        same = f"{value} = v OR starts_with({value}, v || '/')"
        return f"EXISTS (SELECT FROM unnest({asked}) v WHERE {same})"
    return f"coalesce(m.envelope ->> {key} = ANY ({asked}), false)"


def within(spec: MemorySpec, where: Mapping[str, Any]) -> tuple[str, dict[str, Any]]:
    """The condition that an entry's envelope satisfies every asked key, and its values."""
    declared = spec.retrieval.envelope
    conditions = [
        matches(declared[name].type, name, f"%(where_{number})s")
        for number, name in enumerate(where)
    ]
    values = {f"where_{number}": texts(value) for number, value in enumerate(where.values())}
    return " AND ".join(conditions) or "true", values


def texts(value: Any) -> list[str]:
    """A question's value or values, as jsonb gives them back in text."""
    values = value if isinstance(value, list | tuple) else [value]
    return [str(v).lower() if isinstance(v, bool) else str(v) for v in values]
