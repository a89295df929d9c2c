"""Where an entry or an action comes from, drawn as a graph of what it was made of."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from uuid import UUID

from idetic.audit.explanation import ActionExplanation, ExplainedEntry
from idetic.errors import NotFound
from idetic.library.handles import Memory
from idetic.model import Entry
from idetic.surfaces.console.addresses import at
from idetic.surfaces.console.drawings import Graph, Node
from idetic.surfaces.console.wording import day, minute, tail, words

# As much as an eye can follow; the list of an action and its export have all of it.
MOST_DRAWN = 40
_DEEPEST = 3


async def entry_lineage(memory: Memory, entry: Entry) -> Graph:
    """Draw the sources of an entry, level by level, and the entry that superseded it."""
    graph = Graph(entry.id, {entry.id: Node(0, "this entry", entry.body_text)})
    await _add_sources(memory, graph, entry.id, 1)
    if entry.superseded_by is not None:
        follower = await memory.get(entry.superseded_by)
        graph.nodes[follower.id] = _node(follower.id, 1, "superseded by", follower)
        graph.edges.append((entry.id, follower.id))
    return _layered(graph)


def _layered(graph: Graph) -> Graph:
    """Place each source left of all that it went into, and draw its nearest steps alone."""
    columns = {node_id: node.column for node_id, node in graph.nodes.items()}
    # Each round moves sources by one step; a chain is never longer than there are boxes.
    for _ in columns:
        for source, target in graph.edges:
            columns[source] = min(columns[source], columns[target] - 1)
    graph.nodes = {each: replace(node, column=columns[each]) for each, node in graph.nodes.items()}
    graph.edges = [(s, t) for s, t in graph.edges if columns[t] - columns[s] == 1]
    return graph


async def _add_sources(memory: Memory, graph: Graph, target: UUID, depth: int) -> None:
    """Add the sources of an entry and theirs, as far as there is room."""
    for source in await memory.lineage(target):
        known = source.source_id in graph.nodes
        if not known and len(graph.nodes) > MOST_DRAWN:
            graph.complete = False
            return
        graph.edges.append((source.source_id, target))
        if known:
            continue
        try:
            entry = await memory.get(source.source_id)
        except NotFound:
            entry = None
        said = f"{words(source.relation)}, {words(source.origin)}, {day(source.observed_at)}"
        graph.nodes[source.source_id] = _node(source.source_id, -depth, said, entry)
        if entry and depth < _DEEPEST:
            await _add_sources(memory, graph, source.source_id, depth + 1)


def _node(entry_id: UUID, column: int, about: str, entry: Entry | None) -> Node:
    """Make the box of an entry; one that is gone has a page with its history all the same."""
    said = entry.body_text if entry else f"text not kept {tail(entry_id)}"
    return Node(column, about, said, at(f"/entries/{entry_id}"))


def action_lineage(found: ActionExplanation) -> Graph:
    """Draw an action at the left; to the right its entries, and what they were made of."""
    known = {each.id: each for each in found.everything()}
    columns = _columns(found, known)
    about = f"the action, {minute(found.at)}"
    graph = Graph(found.action_id, {found.action_id: Node(0, about, words(found.kind))})
    graph.edges += [(found.action_id, each.id) for each in found.entries]
    for entry_id, column in columns.items():
        entry = known[entry_id]
        graph.nodes[entry_id] = _node(entry_id, column, entry.written_by, entry.then)
        # Whatever went into a source went into the entry too; only the nearest step is drawn.
        sources = (source.entry_id for source in entry.sources)
        graph.edges += [(entry_id, each) for each in sources if columns.get(each) == column + 1]
    return graph


def _columns(found: ActionExplanation, known: Mapping[UUID, ExplainedEntry]) -> dict[UUID, int]:
    """Return each entry's distance from the action: a source is right of all it went into."""
    columns = {each.id: 1 for each in found.entries}
    level = list(columns)
    # Each round goes one step back; a chain is never longer than it has entries.
    for _ in range(len(known)):
        sources = [(s.entry_id, columns[one] + 1) for one in level for s in known[one].sources]
        level = []
        for source, column in sources:
            new = source in known and (source in columns or len(columns) < MOST_DRAWN)
            if new and columns.get(source, 0) < column:
                columns[source] = column
                level.append(source)
    return columns
