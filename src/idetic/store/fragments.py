"""The fragments that the writing functions, admit and settle, are put together from."""

from __future__ import annotations

from collections.abc import Mapping

from psycopg import sql
from psycopg.sql import Composable

from idetic.store import templates
from idetic.store.access import STATE
from idetic.store.canonical import canonical_names
from idetic.store.family import Family, Names
from idetic.store.templates import raw

_LEDGER = (
    "position, receipt_id, at, transition, decision, memory_id, actor_kind, actor, reason, "
    "state_from, state_to, detail, prev_hash, hash"
)

# The links an admission may leave: (transition, decision, entry, reason, from, to, detail).
_LINK_PARTS = ("transition", "decision", "entry", "reason", "state_from", "state_to", "detail")
_LINKS = {
    name: dict(zip(_LINK_PARTS, parts, strict=True))
    for name, parts in {
        "add": (
            *("item.transition", "'ADD'", "item.memory", "'new'", "NULL", "'current'"),
            "item.detail",
        ),
        "link_superseded": (
            *("'superseded'", "'UPDATE'", "known.old_id", "'a later statement of the same claim'"),
            *("'current'", "'superseded'", "jsonb_build_object('superseded_by', item.memory)"),
        ),
        "supersede": (
            *("item.transition", "'UPDATE'", "item.memory", "'supersedes an earlier statement'"),
            *("NULL", "'current'", "item.detail || jsonb_build_object('supersedes', known.old_id)"),
        ),
        "link_known": (
            "CASE known.decision WHEN 'REJECT' THEN 'refused' ELSE item.transition END",
            *("known.decision", "known.same_id", "known.reason", "known.state", "known.state"),
            "known.detail",
        ),
    }.items()
}


# What settle appends: a step says itself what it decided; a refused note leaves its own link.
_SETTLED = {
    "link_step": {part: f"item.{part}" for part in _LINK_PARTS if part != "entry"}
    | {"entry": "item.memory"},
    "link_refused": dict(
        zip(
            _LINK_PARTS,
            ("'refused'", "'REJECT'", "NULL", "'shadow'", "NULL", "NULL", "hit"),
            strict=True,
        )
    ),
}


def admit_names(family: Family, names: Names, *, citus: bool) -> Names:
    """What the admit function is put together from."""
    names = _writing_names(family, names)
    lane = raw(templates.read("family/plain_lane.sql")).format(**names)
    return {
        **names,
        "plain_lane": raw("") if citus else lane,
        "suspect_items": per_canonical(family, names, "suspect_items.sql", guarded=True),
        "careful_guard": per_canonical(family, names, "careful_guard.sql", guarded=True),
        "insert_refs": per_canonical(family, names, "insert_refs.sql", guarded=False),
        **{name: _link(names, "item.memory", parts) for name, parts in _LINKS.items()},
    }


def settle_names(family: Family, names: Names) -> Names:
    """What the settle function is put together from."""
    names = _writing_names(family, names)
    names["turned_columns"] = raw(",\n    ").join(
        raw(
            "{0} = CASE WHEN item.turned ? {1} THEN (item.turned ->> {1})::{2} ELSE m.{0} END"
        ).format(sql.Identifier(column), sql.Literal(column), raw(kind))
        for column, kind in STATE.items()
    )
    parts = ("steps", "copy_vector", "turn_entry", "insert_lineage")
    texts = {part: raw(templates.read(f"family/{part}.sql")).format(**names) for part in parts}
    return {
        **names,
        **texts,
        "settle_guard": per_canonical(family, names, "settle_guard.sql", guarded=True),
        "more_ops": _more_ops(family, names),
        **{name: _link(names, "", parts) for name, parts in _SETTLED.items()},
    }


def _more_ops(family: Family, names: Names) -> Composable:
    """What only some families can settle: corroborations, and contradictions by noun."""
    found: list[Composable] = []
    if family.spec.references.corroborations:
        text = templates.read("family/settle_corroborations.sql")
        found.append(raw(text).format(**names))
    text = templates.read("family/settle_contradictions.sql")
    found += [
        raw(text).format(**(names | canonical_names(family, canonical)))
        for canonical in family.spec.references.canonical
        if canonical.contradictions
    ]
    return raw("").join(found)


def _writing_names(family: Family, names: Names) -> Names:
    provenance = family.spec.anchor.provenance
    names = names | provenance_names(family)
    names |= {
        "ledger_columns": raw(_LEDGER),
        "items": raw(templates.read("family/items.sql")),
        "provenance_values": _provenance_values(provenance, "item.provenance"),
        "provenance_refs": _provenance_values(provenance, "p_provenance"),
        "provenance_lineage": _provenance_values(provenance, "source.provenance"),
    }
    names["insert_memory"] = raw(templates.read("family/insert_memory.sql")).format(**names)
    return names


def _link(names: Names, entry: str, parts: Mapping[str, str]) -> Composable:
    """The statements that append one link, in one of the forms the functions need.

    Where the link tells of a new entry, row and link go in with one statement: starting a
    statement costs more than the insert.
    """
    before: Composable = raw("")
    if parts["entry"] == entry:
        before = raw("WITH entry AS ({})").format(names["insert_memory"])
    values = {name: raw(text) for name, text in parts.items()} | {"before": before}
    return raw(templates.read("family/insert_link.sql")).format(**(names | values))


def provenance_names(family: Family) -> Names:
    """The provenance columns, each followed by a comma."""
    columns = (raw("{}, ").format(sql.Identifier(p)) for p in family.spec.anchor.provenance)
    return {"provenance_columns": raw("").join(columns)}


def _provenance_values(provenance: tuple[str, ...], source: str) -> Composable:
    values = (raw(f"{source} ->> {{}}, ").format(sql.Literal(p)) for p in provenance)
    return raw("").join(values)


def remember(names: Names) -> Composable:
    """Keep an idempotency key beside the ledger row that it stands for."""
    return raw(templates.read("family/remember_key.sql")).format(
        **{k: names[k] for k in ("receipts", "anchor", "anchor_p")}
    )


def per_canonical(family: Family, names: Names, path: str, *, guarded: bool) -> Composable:
    """A fragment once for each canonical noun; `guarded`, for those the guard compares with."""
    template = templates.read(f"family/{path}")
    return raw("\n").join(
        raw(template).format(**(names | canonical_names(family, c)))
        for c in family.spec.references.canonical
        if c.body or not guarded
    )
