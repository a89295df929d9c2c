"""One action: what it rested on, as that stood then, and everything behind it."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from functools import partial
from uuid import UUID

from nicegui import ui
from starlette.requests import Request

from idetic.audit.explanation import ActionExplanation, ExplainedEntry, Reference
from idetic.errors import InputError
from idetic.surfaces.console import parts
from idetic.surfaces.console.addresses import at
from idetic.surfaces.console.desk import Desk
from idetic.surfaces.console.graph import Edge, Node, graph
from idetic.surfaces.console.wording import shortened, tail, titled, words

# As much as an eye can follow; the list below and the export have all of it.
DRAWN = 40


async def build(desk: Desk, request: Request) -> None:
    """The page of the action that the address names."""
    found = await (await desk.memory()).explain_action(_id(request))
    parts.link("All actions", at("/audit"))
    with parts.card(f"{words(found.kind).capitalize()} {tail(found.action_id)}"):
        parts.facts(
            {
                "When": partial(parts.moment, found.at),
                "Linked by": found.by,
                "Why": found.reason,
                "Rests on": str(len(found.entries)),
                "Behind that": str(len(found.made_of)),
            }
        )
        with parts.row():
            parts.button("Export as JSON", partial(_export, desk, found.action_id), "primary")
        if found.more:
            parts.notice("There is more behind it.", "The walk stopped at its bound.", "warn")
    with parts.card("The chain, as of then"):
        _drawn(found)
    with parts.card("What it rested on"):
        for each in found.entries:
            _explained(each)
    if found.made_of:
        with parts.card("What that was made of"):
            for each in found.made_of.values():
                _explained(each)


def _id(request: Request) -> UUID:
    try:
        return UUID(request.path_params["action_id"])
    except ValueError:
        raise InputError(
            "This address names no action.", remedy="Choose one from the list under Audit."
        ) from None


async def _export(desk: Desk, action_id: UUID) -> None:
    """The explanation as data. Asked for anew: the login may be over by now."""
    found = await (await desk.memory()).explain_action(action_id)
    text = json.dumps(found.as_data(), indent=2, default=str)
    ui.download.content(text, f"action-{action_id}.json", "application/json")


def _drawn(found: ActionExplanation) -> None:
    """The action at the left; to the right what it rested on, and what that was made of."""
    known = {each.id: each for each in found.everything()}
    columns = _columns(found, known)
    edges = [Edge(str(found.action_id), str(each.id)) for each in found.entries]
    edges += [
        Edge(str(entry_id), str(source.entry_id))
        for entry_id in columns
        for source in known[entry_id].sources
        # What went into a source went into the entry as well; only the nearest step is drawn.
        if columns.get(source.entry_id) == columns[entry_id] + 1
    ]
    about = f"the action, {found.at:%Y-%m-%d %H:%M}"
    nodes = [Node(str(found.action_id), 0, about, words(found.kind), here=True)]
    nodes += [_node(known[one], column) for one, column in columns.items()]
    graph(nodes, edges, "From the action to what it rested on")


def _columns(found: ActionExplanation, known: Mapping[UUID, ExplainedEntry]) -> dict[UUID, int]:
    """How far from the action each entry stands: a source is right of all that it went into."""
    columns = {each.id: 1 for each in found.entries}
    level = list(columns)
    # Each round goes one step back; a chain is never longer than it has entries.
    for _ in range(len(known)):
        sources = [(s.entry_id, columns[one] + 1) for one in level for s in known[one].sources]
        level = []
        for source, column in sources:
            new = source in known and (source in columns or len(columns) < DRAWN)
            if new and columns.get(source, 0) < column:
                columns[source] = column
                level.append(source)
    return columns


def _node(each: ExplainedEntry, column: int) -> Node:
    said = titled(each.then) if each.then else f"gone with its scope {tail(each.id)}"
    return Node(str(each.id), column, each.written_by, said, at(f"/entries/{each.id}"))


def _explained(each: ExplainedEntry) -> None:
    with parts.text("article", cls="hit", id=f"entry-{each.id}"):
        if each.then is not None:
            parts.note(each.then.body_text)
        with parts.row("small"):
            if each.then is None:
                parts.text("strong", "Gone with its scope")
            kind = "good" if each.state_then == "current" else ""
            parts.badge(f"then {words(each.state_then or 'unknown')}", kind)
            if each.state_now != each.state_then:
                parts.badge(f"now {words(each.state_now or 'gone')}", "warn")
            parts.text("span", f"written by {each.written_by}", "quiet")
            parts.moment(each.written_at)
            parts.link(f"Entry {tail(each.id)}", at(f"/entries/{each.id}"))
        _behind(each)


def _behind(each: ExplainedEntry) -> None:
    for ref in each.references:
        parts.text("p", _referred(ref), "small")
    _list("Supported by", (
        f"{words(one.source_type)}, {one.by}, {one.at:%Y-%m-%d %H:%M}"
        + (f": {shortened(one.notes)}" if one.notes else "") for one in each.corroborations
    ))  # fmt: skip
    _list("Shown to", (f"{one.by}, {one.at:%Y-%m-%d %H:%M}" for one in each.reads))
    _list("Made of", (
        f"{tail(one.entry_id)} {words(one.relation or '')} {words(one.origin or '')}"
        for one in each.sources
    ))  # fmt: skip
    _list("Decisions until then", (
        f"{one.position}: {words(one.transition)}, {one.actor_kind}:{one.actor}, {one.reason}"
        for one in each.decisions
    ))  # fmt: skip


def _referred(ref: Reference) -> str:
    pinned = "" if ref.version is None else f", version {ref.version} then"
    now = f", version {ref.version_now} now" if ref.changed else ""
    return f"Refers to {words(ref.noun)} {tail(ref.id)}{pinned}{now}"


def _list(title: str, lines: Iterable[str]) -> None:
    """Folded away: most readers want the words, and some everything."""
    found = list(lines)
    if not found:
        return
    with parts.text("details", cls="aside"):
        parts.text("summary", f"{title} ({len(found)})")
        with parts.text("ul", cls="list"):
            for line in found:
                parts.text("li", line)
