"""The lineage of an entry as a graph: what it was made of, level by level, and what followed it."""

from __future__ import annotations

from uuid import UUID

from idetic.errors import NotFound
from idetic.evidence import Lineage
from idetic.library.handles import Memory
from idetic.model import Entry
from idetic.surfaces.console import parts
from idetic.surfaces.console.addresses import at
from idetic.surfaces.console.graph import Edge, Node, graph
from idetic.surfaces.console.wording import tail, titled, words

# As much as an eye can follow; the audit page has the whole chain of an action.
MOST = 40
DEEPEST = 3


async def lineage(memory: Memory, entry: Entry) -> None:
    """Draw where an entry comes from and what came in its place."""
    drawing = _Drawing(memory)
    drawing.add(entry.id, 0, "this entry", titled(entry), here=True)
    await drawing.behind(entry.id, 1)
    if entry.superseded_by is not None:
        await drawing.after(entry)
    if len(drawing.nodes) == 1:
        parts.empty(
            "It was made of nothing else.",
            "Whoever wrote it stated it directly, and nothing came in its place.",
        )
        return
    graph(list(drawing.nodes.values()), drawing.edges, "Lineage, from sources to what followed")
    if drawing.cut:
        parts.text("p", f"The first {MOST} sources are drawn.", "quiet small")


class _Drawing:
    """Boxes and arrows as they are found."""

    def __init__(self, memory: Memory):
        self._memory = memory
        self.nodes: dict[str, Node] = {}
        self.edges: list[Edge] = []
        self.cut = False

    def add(self, made: UUID, column: int, about: str, said: str, *, here: bool = False) -> None:
        """A box; its page has at least its history."""
        self.nodes[str(made)] = Node(str(made), column, about, said, at(f"/entries/{made}"), here)

    async def behind(self, target: UUID, depth: int) -> None:
        """What an entry was made of, and what that was made of."""
        for source in await self._memory.lineage(target):
            known = str(source.source_id) in self.nodes
            if not known and len(self.nodes) > MOST:
                self.cut = True
                return
            self.edges.append(Edge(str(source.source_id), str(target)))
            if not known:
                there = await self._there(source.source_id)
                said = titled(there) if there else f"gone with its scope {tail(source.source_id)}"
                self.add(source.source_id, -depth, _about(source), said)
                if there and depth < DEEPEST:
                    await self.behind(source.source_id, depth + 1)

    async def after(self, entry: Entry) -> None:
        """What came in its place."""
        if entry.superseded_by is not None:
            follower = await self._memory.get(entry.superseded_by)
            self.add(follower.id, 1, "superseded by", titled(follower))
            self.edges.append(Edge(str(entry.id), str(follower.id)))

    async def _there(self, source: UUID) -> Entry | None:
        """A source that was not removed with its scope."""
        try:
            return await self._memory.get(source)
        except NotFound:
            return None


def _about(source: Lineage) -> str:
    return f"{words(source.relation)}, {words(source.origin)}, {source.observed_at:%Y-%m-%d %H:%M}"
