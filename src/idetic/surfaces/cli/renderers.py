"""How the answers of verbs look: tables and lines for people, the same values as JSON.

A verb whose answer has no form of its own here is shown field by field.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields, is_dataclass
from enum import StrEnum
from typing import Any, get_args, get_origin
from uuid import UUID

from rich.console import Console
from rich.table import Table

from idetic.evidence import Closed, Contradiction, Decided, Disposition
from idetic.library.answering import Answered
from idetic.model import Entry, LedgerRecord, Place, Receipt
from idetic.recall.context import Context
from idetic.recall.embedding import Embedded
from idetic.recall.explanation import as_data
from idetic.recall.hits import Hit, Recall
from idetic.surfaces.cli import output
from idetic.verbs.declaration import Verb


def answer(
    verb: Verb[..., Any], value: Any, values: Mapping[str, Any], place: Place, *, as_json: bool
) -> None:
    """Give the answer of a verb that was called with some values at a place."""
    following = _following(verb, value, values)
    # What was asked about, then what came of it.
    asked = {name: each for name, each in values.items() if isinstance(each, UUID | StrEnum)}
    if place.session_id is not None:
        asked["session_id"] = place.session_id

    def show(console: Console) -> None:
        _show(verb, console, value, place)
        for name, cursor in following.items():
            if cursor is not None:
                console.print(f"There may be more: --{name.removeprefix('next_')} {cursor}")

    output.answer({**asked, **_data(verb, value), **following}, as_json, show)


def _following(
    verb: Verb[..., Any], value: Any, values: Mapping[str, Any]
) -> dict[str, UUID | None]:
    """Where the next page of a list begins, if there may be one."""
    page = verb.http.page if verb.http is not None else None
    if page is None:
        return {}
    cursor = next(p.name for p in verb.parameters.values() if p.wire and p.wire.name == "cursor")
    limit = values.get("limit", verb.parameters["limit"].default)
    return {f"next_{cursor}": page.key(value[-1]) if len(value) == limit else None}


def _data(verb: Verb[..., Any], value: Any) -> dict[str, Any]:
    if isinstance(value, list):
        page = verb.http.page if verb.http is not None else None
        decided = bool(value) and isinstance(value[0], Receipt | Decided)
        return {page.items if page else "decided" if decided else verb.name: value}
    if isinstance(value, Recall):
        return as_data(value)
    if hasattr(value, "as_data"):
        return dict(value.as_data())
    if is_dataclass(value):
        return dict(output.plain(value))
    if isinstance(value, Mapping):
        return {verb.name: {str(key): each for key, each in value.items()}}
    return {verb.name: value}


def _show(verb: Verb[..., Any], console: Console, value: Any, place: Place) -> None:
    returns = verb.returns
    if get_origin(returns) is list:
        kind = get_args(returns)[0]
        if not value:
            console.print(_EMPTY.get(kind, f"No {verb.name.replace('_', ' ')}."))
        else:
            console.print(_TABLES.get(kind, _rows)(value))
        return
    shown = _SHOWN.get(type(value))
    if shown is not None:
        shown(console, value, place)
    elif isinstance(value, Mapping):
        console.print(output.facts({str(key): each for key, each in value.items()}))
    elif is_dataclass(value):
        console.print(output.facts(_readable(value)))
    else:
        console.print(output.literal(f"{verb.name.replace('_', ' ')}: {value}"))


def _readable(value: Any) -> dict[str, object]:
    found = {each.name: getattr(value, each.name) for each in fields(value)}
    return {name.replace("_", " "): _cell(each) for name, each in found.items()}


def _cell(value: Any) -> object:
    if value is None or value == ():
        return ""
    if isinstance(value, Entry):
        return value.body_text
    if isinstance(value, str | int | float | UUID):
        return value
    return output.as_line(value)


def _rows(values: Sequence[Any]) -> Table:
    """Values of any kind, a column for each field."""
    rows = [_readable(each) if is_dataclass(each) else {"": each} for each in values]
    table = output.table(*rows[0])
    for row in rows:
        table.add_row(*(output.literal(each) for each in row.values()))
    return table


def _entries(entries: Sequence[Entry]) -> Table:
    table = output.table("id", "created", "kind", "by", "note", keep=("id",))
    for each in entries:
        table.add_row(
            output.literal(each.id, "cyan"),
            output.moment(each.created_at),
            f"{each.tier}\n{each.typology}",
            output.literal(f"{each.created_by}\n{each.origin} {each.trust}"),
            output.literal(each.body_text),
        )
    return table


def _ledger(records: Sequence[LedgerRecord]) -> Table:
    table = output.table("position", "time", "transition", "actor", "reason", "hash")
    for each in records:
        table.add_row(
            str(each.position),
            output.moment(each.at),
            output.literal(each.transition, "bold"),
            output.literal(f"{each.actor_kind} {each.actor}"),
            output.literal(each.reason),
            output.literal(each.hash.hex()[:12], "dim"),
        )
    return table


def _contradictions(found: Sequence[Contradiction]) -> Table:
    table = output.table("id", "status", "entry", "speaks against", "since", keep=("id", "entry"))
    for one in found:
        version = "" if one.ref.version is None else f" v{one.ref.version}"
        table.add_row(
            output.literal(one.id, "cyan"),
            one.status.replace("_", " "),
            output.literal(one.entry_id),
            output.literal(f"{one.ref.noun} {one.ref.id}{version}"),
            output.literal(f"{output.moment(one.observed_at)}\n{one.observed_by}"),
        )
    return table


def _dispositions(found: Sequence[Disposition]) -> Table:
    table = output.table("entry", "because", "pressure", "since", "note", keep=("entry",))
    for one in found:
        table.add_row(
            output.literal(one.entry.id, "cyan"),
            one.cause.replace("_", " "),
            f"{one.pressure:.2f}",
            output.moment(one.due_at),
            output.literal(one.entry.body_text),
        )
    return table


def _decisions(found: Sequence[Receipt | Decided]) -> Table:
    table = output.table("decision", "entry", "reason", keep=("entry",))
    for one in found:
        receipt = one.receipt if isinstance(one, Decided) else one
        did = one.transition if isinstance(one, Decided) else one.decision
        entry, reason = output.literal(receipt.entry_id or ""), output.literal(receipt.reason)
        table.add_row(output.literal(did, "bold"), entry, reason)
    return table


def _show_receipt(console: Console, receipt: Receipt, place: Place) -> None:
    rows: dict[str, object] = {
        "Decision": f"{receipt.decision}: {receipt.reason}",
        "Entry": receipt.entry_id or "none",
        "Position": receipt.position,
    }
    if place.session_id is not None:
        rows["Session"] = f"{place.session_id}, open until `idetic close`"
    console.print(output.facts(rows))


def _show_closed(console: Console, closed: Closed, place: Place) -> None:
    said = f"Session {place.session_id}: {closed.receipt.reason}."
    console.print(output.literal(said), soft_wrap=True)
    console.print(_decisions(closed.decided) if closed.decided else "Nothing was promoted.")


def _show_recall(console: Console, recall: Recall, _: Place) -> None:
    table = output.table("score", "note", "signals (rank, value)", "by")
    for hit in recall.hits:
        by = output.literal(f"{hit.entry.created_by}\n{hit.entry.origin} {hit.entry.trust}")
        table.add_row(f"{hit.score:.4f}", output.literal(hit.entry.body_text), _signals(hit), by)
    none = f"Nothing in {recall.considered} entries answers that."
    console.print(table if recall.hits else none)
    for each in recall.not_used:
        console.print(output.literal(f"Not used: {each.what}: {each.why}. {each.remedy}", "dim"))


def _signals(hit: Hit) -> str:
    return "\n".join(
        f"{signal.value} {word.rank}, {word.value:.2f}"
        for signal, word in hit.signals.items()
        if word.contribution and word.value is not None
    )


def _show_text(_: Console, made: Context | Answered, place: Place) -> None:
    """A text as a prompt takes it: a console would break lines that a tokenizer counted whole."""
    del place
    output.write(f"{output.visible(made.text)}\n")


def _show_embedded(console: Console, done: Embedded, _: Place) -> None:
    console.print(f"{done.embedded} entries embedded.")


_SHOWN: dict[type, Callable[[Console, Any, Place], None]] = {
    Receipt: _show_receipt,
    Closed: _show_closed,
    Recall: _show_recall,
    Context: _show_text,
    Answered: _show_text,
    Embedded: _show_embedded,
}
_TABLES: dict[type, Callable[[Sequence[Any]], Table]] = {
    Entry: _entries,
    LedgerRecord: _ledger,
    Contradiction: _contradictions,
    Disposition: _dispositions,
    Receipt: _decisions,
    Decided: _decisions,
}
_EMPTY: dict[type, str] = {
    Entry: "No entries.",
    Disposition: "Nothing waits for a decision.",
    Receipt: "Nothing was decided.",
    Decided: "Nothing was decided.",
}
