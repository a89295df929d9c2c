"""How the answers of verbs look: tables and lines for people, the same values as JSON.

A verb whose answer has no form of its own here is shown field by field.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import fields, is_dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any, get_args, get_origin
from uuid import UUID

from rich.console import Console

from idetic.assistant.extraction import Extracted
from idetic.assistant.profile import Profile
from idetic.assistant.why import Reason
from idetic.audit.explanation import ActionExplanation
from idetic.audit.findings import Verified
from idetic.erasure import Erased, ErasedAnchor
from idetic.errors import ChainBroken
from idetic.evidence import Closed, Contradiction, Decided, Disposition, OutboxMessage
from idetic.library.answers import Answered
from idetic.model import Entry, LedgerRecord, Overdue, Place, Receipt
from idetic.recall.context import Context
from idetic.recall.embedding import Embedded
from idetic.recall.hits import Hit, Recall, as_data
from idetic.surfaces.cli import output
from idetic.verbs.declaration import Verb

# A screenful; `--json` has them all.
_MANY = 50


def answer(
    verb: Verb[..., Any], value: Any, values: Mapping[str, Any], place: Place, *, as_json: bool
) -> None:
    """Give the answer of a verb that was called with some values at a place."""
    following = _following(verb, value, values)
    # What was asked about, then what came of it.
    arguments = {name: each for name, each in values.items() if isinstance(each, UUID | StrEnum)}
    if place.session_id is not None:
        arguments["session_id"] = place.session_id

    def show(console: Console) -> None:
        """Print the answer, and the option that gets the next page if there may be one."""
        _show(verb, console, value, place)
        for name, cursor in following.items():
            if cursor is not None:
                console.print(f"There may be more: add --{name.removeprefix('next_')} {cursor}")

    output.answer({**arguments, **_data(verb, value), **following}, as_json, show)


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
    """An answer as the members of a JSON object; a list stands under its items' name."""
    if isinstance(value, list):
        page = verb.http.page if verb.http is not None else None
        name = _ITEMS.get(get_args(verb.returns)[0], verb.name)
        return {page.items if page else name: value}
    if isinstance(value, Erased | ErasedAnchor):
        members = {"found": value.found, **output.plain(value.receipt), "removed": value.removed}
        members |= {"kept": [one.as_data() for one in value.kept]}
        if isinstance(value, Erased):
            members["entries"] = value.entries
            members |= {"spared": value.spared} if value.spared else {}
        return members
    if is_dataclass(value):
        known = as_data(value) if isinstance(value, Recall) else output.plain(value)
        return dict(value.as_data() if hasattr(value, "as_data") else known)
    if isinstance(value, Mapping):
        return {verb.name: {str(key): each for key, each in value.items()}}
    return {verb.name: value}


def _show(verb: Verb[..., Any], console: Console, value: Any, place: Place) -> None:
    """Print an answer in the form of its type, or field by field where there is no such form."""
    returns = verb.returns
    if get_origin(returns) is list:
        kind = get_args(returns)[0]
        if not value:
            console.print(_EMPTY.get(kind, f"No {verb.name.replace('_', ' ')}."))
        elif kind is Reason:
            console.print(output.literal("\n".join(map(str, value))), soft_wrap=True)
        else:
            row = _ROWS.get(kind, _fields)
            console.print(output.Listing([row(each) for each in value]))
        return
    shown = _SHOWN.get(type(value))
    if shown is not None:
        shown(console, value, place)
    elif said := _SAID.get(type(value)):
        console.print(output.literal(said(value)), soft_wrap=True)
    elif isinstance(value, Mapping):
        rows = {str(key): _cell(each) for key, each in value.items()}
        console.print(output.facts(rows) if rows else "Nothing was found.")
    elif is_dataclass(value):
        console.print(output.facts(_readable(value)))
    else:
        console.print(output.literal(f"{verb.name.replace('_', ' ')}: {value}"))


def _readable(value: Any) -> dict[str, object]:
    """A dataclass as names and cells for people."""
    values = {each.name: getattr(value, each.name) for each in fields(value)}
    return {name.replace("_", " "): _cell(each) for name, each in values.items()}


def _cell(value: Any) -> object:
    """A value as one cell: names and items each begin a line."""
    if isinstance(value, Mapping):
        return "\n".join(f"{name}: {_inline(each)}" for name, each in value.items())
    if isinstance(value, list | tuple):
        return "\n".join(map(_inline, value))
    return _inline(value)


def _inline(value: Any) -> str:
    """A value within a line: an entry is its text, a moment is in UTC."""
    for kind, shown in _CELLS.items():
        if isinstance(value, kind):
            return shown(value)
    if is_dataclass(value):
        value = _readable(value)
    if isinstance(value, Mapping):
        return ", ".join(f"{name} {_inline(each)}" for name, each in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(_inline, value))
    return "" if value is None else str(value)


_CELLS: dict[type, Callable[[Any], str]] = {
    Entry: lambda entry: str(entry.body_text),
    bool: lambda yes: "yes" if yes else "no",
    float: "{:g}".format,
    datetime: output.moment,
    bytes: bytes.hex,
}


def _fields(value: Any) -> dict[str, object]:
    """The row of an item whose type has no row of its own."""
    return _readable(value) if is_dataclass(value) else {"": value}


def _entry(entry: Entry) -> dict[str, object]:
    """An entry's row: when it was written, its kind, by whom, how trusted, and its text."""
    return {
        "id": entry.id,
        "created": output.moment(entry.created_at),
        "kind": f"{entry.tier}\n{entry.typology}",
        "by": f"{entry.created_by}\n{entry.origin} {entry.trust}",
        "note": entry.body_text,
    }


def _link(link: LedgerRecord) -> dict[str, object]:
    """A ledger record's row; the beginning of the hash is enough to compare by eye."""
    return {
        "position": link.position,
        "time": output.moment(link.at),
        "transition": link.transition,
        "actor": f"{link.actor_kind} {link.actor}",
        "reason": link.reason,
        "hash": link.hash.hex()[:12],
    }


def _contradiction(one: Contradiction) -> dict[str, object]:
    """A contradiction's row: the entry, and the canonical row that it contradicts."""
    version = "" if one.ref.version is None else f" v{one.ref.version}"
    return {
        "id": one.id,
        "status": one.status.replace("_", " "),
        "entry": one.entry_id,
        "contradicts": f"{one.ref.noun} {one.ref.id}{version}",
        "since": f"{output.moment(one.observed_at)}\n{one.observed_by}",
    }


def _disposition(one: Disposition) -> dict[str, object]:
    """The row of an entry that waits for a decision: why, how urgently, and since when."""
    return {
        "entry": one.entry.id,
        "because": one.cause.replace("_", " "),
        "pressure": f"{one.pressure:.2f}",
        "since": output.moment(one.due_at),
        "note": one.entry.body_text,
    }


def _decision(one: Receipt | Decided) -> dict[str, object]:
    """A decision's row; it names the transition where that is known."""
    receipt = one.receipt if isinstance(one, Decided) else one
    did = one.transition if isinstance(one, Decided) else one.decision
    return {"decision": did, "entry": receipt.entry_id, "reason": receipt.reason}


def _hit(hit: Hit) -> dict[str, object]:
    """A hit's row: its score, its text, and the signals that contributed to the score."""
    signals = [
        f"{signal.value} {word.rank}, {word.value:.2f}"
        for signal, word in hit.signals.items()
        if word.contribution and word.value is not None
    ]
    return {
        "score": f"{hit.score:.4f}",
        "relevance": "" if hit.relevance is None else f"{hit.relevance:.2f}",
        "note": hit.excerpt,
        "signals (rank, value)": "\n".join(signals),
        "by": f"{hit.entry.created_by}\n{hit.entry.origin} {hit.entry.trust}",
    }


def _show_receipt(console: Console, receipt: Receipt, place: Place) -> None:
    """Print what became of a note, and the session that a later call has to name."""
    rows: dict[str, object] = {
        "Decision": f"{receipt.decision}: {receipt.reason}",
        "Entry": receipt.entry_id or "none",
        "Position": receipt.position,
    }
    if receipt.lifetime:
        rows["Lifetime"] = receipt.lifetime
    if place.session_id is not None:
        rows["Session"] = f"{place.session_id}, open until `idetic close`"
    console.print(output.facts(rows))


def _show_closed(console: Console, closed: Closed, place: Place) -> None:
    """Print how a session ended and what was decided about its notes."""
    line = f"Session {place.session_id}: {closed.receipt.reason}."
    console.print(output.literal(line), soft_wrap=True)
    decided = [_decision(one) for one in closed.decided]
    console.print(output.Listing(decided) if decided else "Nothing was promoted.")


def _show_recall(console: Console, recall: Recall, _: Place) -> None:
    """Print the hits, or that there are none, and what recall did without."""
    none = f"Nothing in {recall.considered} entries answers that."
    console.print(output.Listing([_hit(hit) for hit in recall.hits]) if recall.hits else none)
    if recall.known is not None:
        console.print(f"Probability that memory knows something about this: {recall.known:.2f}")
    for each in recall.not_used:
        console.print(output.literal(f"Not used: {each.what}: {each.why}. {each.remedy}", "dim"))


def _show_text(_: Console, made: Context | Answered, place: Place) -> None:
    """A text as a prompt takes it: a console would break lines that a tokenizer counted whole."""
    del place
    output.write(f"{output.visible(made.text)}\n")


def _show_verified(console: Console, verified: Verified, _: Place) -> None:
    """Print whether the chain is intact, what it was compared with, and the first problems."""
    compared = "give --head to find out whether the last links were removed"
    if verified.compared is not None:
        compared = f"compared with the head kept at position {verified.compared.position}"
    count = len(verified.problems) + verified.more
    rows = {
        "Chain": "intact" if verified.intact else f"broken: {count} problem(s)",
        "Checked": f"{verified.links} links, {verified.entries} entries",
        "Head": f"{verified.head.position}, {verified.head.hash.hex()}",
        "Tail": compared,
    }
    console.print(output.facts(rows))
    if verified.problems:
        columns = {"kind": "kind", "position": "position", "what": "what", "why": "why"}
        columns["entry_id"] = "entry"
        shown = verified.problems[:_MANY]
        problems = [{said: getattr(p, name) for name, said in columns.items()} for p in shown]
        console.print(output.Listing(problems))
        if count > _MANY:
            console.print(f"and {count - _MANY} more; --json lists up to {len(verified.problems)}.")
        console.print(output.literal(f"What to do: {ChainBroken.remedy}"), soft_wrap=True)


def _erased(erased: Erased | ErasedAnchor) -> str:
    """What was erased, and what was kept and why, in sentences."""
    kept = [f"Kept: {one.count} in {one.table}.{one.column}, {one.why}." for one in erased.kept]
    spared = erased.spared if isinstance(erased, Erased) else ()
    kept += [f"Spared: {one}, which has other sources and none of its words." for one in spared]
    return "\n".join([str(erased), *kept])


_SHOWN: dict[type, Callable[[Console, Any, Place], None]] = {
    Receipt: _show_receipt,
    Closed: _show_closed,
    Recall: _show_recall,
    Context: _show_text,
    Answered: _show_text,
    Verified: _show_verified,
}


def _extracted(done: Extracted) -> str:
    """What an extraction did; of a dry run, what it would change."""
    lines = [f"{done.turns} messages read, {done.claims} claims drawn by {done.extractor}."]
    lines += [
        f"  {'adds' if change.brought else 'drops'}  {output.visible(change.text)}"
        for change in done.changes
    ]
    lines += [f"Refused: {one.reason}" for one in done.refused]
    if done.usage.calls:
        lines.append(f"It took {done.usage.calls} calls and {done.usage.tokens} tokens.")
    if done.stopped:
        lines.append(f"It stopped early: {done.stopped}")
    return "\n".join(lines)


# Answers that are sentences.
_SAID: dict[type, Callable[[Any], str]] = {
    Embedded: lambda done: f"{done.embedded} entries embedded.",
    ActionExplanation: ActionExplanation.explain,
    Erased: _erased,
    ErasedAnchor: _erased,
    Extracted: _extracted,
    Profile: str,
}
_ROWS: dict[type, Callable[[Any], dict[str, object]]] = {
    Entry: _entry,
    LedgerRecord: _link,
    Contradiction: _contradiction,
    Disposition: _disposition,
    Receipt: _decision,
    Decided: _decision,
}
_ITEMS = {Entry: "entries", Receipt: "decided", Decided: "decided"}
_EMPTY: dict[type, str] = {
    Entry: "No entries.",
    Disposition: "Nothing waits for a decision.",
    Overdue: "No entry is overdue.",
    OutboxMessage: "The outbox is empty.",
    Closed: "No session and no interaction was abandoned.",
    Receipt: "Nothing was decided.",
    Decided: "Nothing was decided.",
}
