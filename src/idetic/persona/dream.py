"""The dream: whatever the derived layers lack, they get; then it says whether they cover the log.

All its work is found by state: events without an entry, entries without a vector, loops without a
summary. So it is idempotent, and one that was killed is simply dreamt again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from uuid import UUID

from idetic.persona.compactor import COMPACT_MAX
from idetic.persona.coverage import Coverage, cover
from idetic.persona.embedding import BATCH, embed
from idetic.persona.errors import EmbedderHangs
from idetic.persona.events import EventKind, Visibility
from idetic.persona.layers import Layers
from idetic.persona.loops import Loop
from idetic.reason.errors import ReasonerError
from idetic.reason.port import Evidence, Reasoner, SummaryAsked, Usage

Progress = Callable[[str, int, int], None]
Reasoners = Callable[[], AbstractAsyncContextManager[Reasoner]]
_BATCH = 200


@dataclass(frozen=True, slots=True)
class Dreamed:
    """What a dream did, in a loop of its own, and what the layers cover since."""

    loop_id: UUID
    derived: int
    embedded: int
    summarised: int
    coverage: tuple[Coverage, Coverage]
    reasoned: int = 0
    usage: Usage = field(default_factory=Usage)
    """What a reasoner took."""

    @property
    def equal(self) -> bool:
        """Whether both personas' derived layers cover their logs."""
        return all(coverage.equal for coverage in self.coverage)


class Dream:
    """Backfills both personas' layers, each through its own role."""

    def __init__(
        self,
        actors: Layers,
        own: Layers,
        progress: Progress | None = None,
        reasoner: Reasoners | None = None,
    ):
        self._actors = actors
        self._own = own
        self._progress = progress
        self._reasoner = reasoner

    async def run(self) -> Dreamed:
        """Dream. Its own loop is the Subconscious's, and is covered as any other."""
        both: Sequence[Layers] = (self._actors, self._own)
        async with Loop(self._own, "dream") as loop:
            await loop.append(
                EventKind.SUBCONSCIOUS_PROMPT, "Dream begins.", visibility=Visibility.INTERNAL
            )
            derived = sum([await self._derive(layers) for layers in both])
            reasoned, usage = await self._reason(both)
            embedded = sum([await self._embed(layers) for layers in both])
            summarised = sum([await self._summarise(layers, loop.id) for layers in both])
            await loop.append(
                EventKind.SUBCONSCIOUS_OUTPUT,
                f"Dream ends: {derived} entries derived, {embedded} embedded, {summarised} loops "
                "summarised.",
                visibility=Visibility.INTERNAL,
            )
        covered = (await cover(self._actors), await cover(self._own))
        return Dreamed(loop.id, derived, embedded, summarised, covered, reasoned, usage)

    async def _derive(self, layers: Layers) -> int:
        """Entries for events that have none, or one that another way of deriving made."""
        deriver, rows, after, done = layers.common.deriver, layers.rows, 0, 0
        while found := await rows.underived(deriver.settled, after, _BATCH):
            events = [layers.log.event(row) for row in found]
            items = [item for event in events if (item := deriver.item(event)) is not None]
            if items:
                await rows.derive(items)
            done += len(items)
            after = events[-1].position
            self._tell(f"{layers.persona} entries", done, done)
        return done

    async def _reason(self, both: Sequence[Layers]) -> tuple[int, Usage]:
        """Have a reasoner compact what was too long to be kept whole, one event at a time: it never
        sees two personas together. Where it fails, the extracted entry stays, for the next time."""
        done, usage = 0, Usage()
        if self._reasoner is None:
            return done, usage
        async with self._reasoner() as reasoner:
            for layers in both:
                deriver, rows, after = layers.common.deriver, layers.rows, 0
                while found := await rows.unreasoned(deriver.name, COMPACT_MAX, after, _BATCH):
                    for event in map(layers.log.event, found):
                        after = event.position
                        shown = Evidence(event.id, event.content)
                        try:
                            answer = await reasoner.summarise(SummaryAsked((shown,), COMPACT_MAX))
                        except ReasonerError:
                            continue
                        usage += answer.usage
                        if item := deriver.item(event, answer.text):
                            await rows.derive([item])
                            done += 1
                            self._tell(f"{layers.persona} reasoned", done, done)
        return done, usage

    async def _embed(self, layers: Layers) -> int:
        """Vectors in the profile of the model at hand; an embedder that hangs ends it for now."""
        embedder, rows = layers.common.embedder, layers.rows
        profile_id, after, done = await embedder.profile(), 0, 0
        if profile_id is None:
            return 0
        while found := await rows.waiting(profile_id, after, BATCH):
            try:
                done += await embed(embedder, rows, found)
            except EmbedderHangs:
                break
            after = found[-1].position
            self._tell(f"{layers.persona} vectors", done, done)
        return done

    async def _summarise(self, layers: Layers, own_loop: UUID) -> int:
        """Summaries for loops that have none, or one from before their entries were whole."""
        strays = [loop_id for loop_id in await layers.rows.stray_loops() if loop_id != own_loop]
        for done, loop_id in enumerate(strays, start=1):
            await layers.stm.close(loop_id, layers.common.deriver)
            self._tell(f"{layers.persona} loops", done, len(strays))
        return len(strays)

    def _tell(self, what: str, done: int, total: int) -> None:
        if self._progress is not None:
            self._progress(what, done, total)
