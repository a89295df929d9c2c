"""The dream: whatever the derived layers lack, they get; then it says whether they cover the log.

All its work is found by state: events without an entry, entries without a vector, loops without a
summary. So it is idempotent, and one that was killed is simply dreamt again.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field, replace
from uuid import UUID

from idetic.embed.port import EmbedderHangs
from idetic.persona.compactor import COMPACT_MAX
from idetic.persona.coverage import Coverage, cover
from idetic.persona.events import EventKind, Visibility
from idetic.persona.layers import Layers
from idetic.persona.loops import Loop
from idetic.reason.port import Reasoner, ReasonerError, ShownEntry, SummaryAsked, Usage

Progress = Callable[[str, int, int], None]
Reasoners = Callable[[], AbstractAsyncContextManager[Reasoner]]
_BATCH = 200


@dataclass(frozen=True, slots=True)
class Dreamed:
    """What a dream did, and what the layers cover since.

    Where there is a Subconscious, the dream is a loop of its own; `loop_id` names it.
    """

    loop_id: UUID | None
    derived: int
    embedded: int
    summarised: int
    coverage: tuple[Coverage, ...]
    reasoned: int = 0
    usage: Usage = field(default_factory=Usage)
    """What a reasoner took."""

    @property
    def equal(self) -> bool:
        """Whether every persona's derived layers cover its log."""
        return all(coverage.equal for coverage in self.coverage)


class Dream:
    """Backfills the layers of every persona, each through its own role."""

    def __init__(
        self,
        actors: Layers,
        own: Layers | None,
        progress: Progress | None = None,
        reasoner: Reasoners | None = None,
    ):
        self._actors = actors
        self._own = own
        self._progress = progress
        self._reasoner = reasoner

    async def run(self) -> Dreamed:
        """Dream. Its own loop is the Subconscious's, and is covered as any other."""
        if self._own is None:
            return await self._backfill((self._actors,), None)
        async with Loop(self._own, "dream") as loop:
            await loop.append(
                EventKind.SUBCONSCIOUS_PROMPT, "Dream begins.", visibility=Visibility.INTERNAL
            )
            done = await self._backfill((self._actors, self._own), loop.id)
            await loop.append(
                EventKind.SUBCONSCIOUS_OUTPUT,
                f"Dream ends: {done.derived} entries derived, {done.embedded} embedded, "
                f"{done.summarised} loops summarised.",
                visibility=Visibility.INTERNAL,
            )
        # Once more: the dream's own loop has its summary only now.
        return replace(done, coverage=(await cover(self._actors), await cover(self._own)))

    async def _backfill(self, all_of: Sequence[Layers], loop_id: UUID | None) -> Dreamed:
        derived = sum([await self._derive(layers) for layers in all_of])
        reasoned, usage = await self._reason(all_of)
        embedded = sum([await self._embed(layers) for layers in all_of])
        summarised = sum([await self._summarise(layers, loop_id) for layers in all_of])
        covered = tuple([await cover(layers) for layers in all_of])
        return Dreamed(loop_id, derived, embedded, summarised, covered, reasoned, usage)

    async def _derive(self, layers: Layers) -> int:
        """Entries for events that have none, or one that another way of deriving made."""
        deriver, after, done = layers.common.deriver, 0, 0
        while found := await layers.store.underived(deriver.settled, after, _BATCH):
            events = [layers.log.event(row) for row in found]
            made = [step for event in events if (step := deriver.entry(event)) is not None]
            done += await layers.derived.put(made) if made else 0
            after = events[-1].position
            self._tell(f"{layers.persona} entries", done, done)
        return done

    async def _reason(self, all_of: Sequence[Layers]) -> tuple[int, Usage]:
        """Have a reasoner compact what was too long to be kept whole, one event at a time: it never
        sees two personas together. Where it fails, the extracted entry stays, for the next time."""
        done, usage = 0, Usage()
        if self._reasoner is None:
            return done, usage
        async with self._reasoner() as reasoner:
            for layers in all_of:
                deriver, store, after = layers.common.deriver, layers.store, 0
                while found := await store.unreasoned(deriver.name, COMPACT_MAX, after, _BATCH):
                    for event in map(layers.log.event, found):
                        after = event.position
                        shown = ShownEntry(event.id, event.content)
                        try:
                            answer = await reasoner.summarise(SummaryAsked((shown,), COMPACT_MAX))
                        except ReasonerError:
                            continue
                        usage += answer.usage
                        if step := deriver.entry(event, answer.text):
                            done += await layers.derived.put([step])
                            self._tell(f"{layers.persona} reasoned", done, done)
        return done, usage

    async def _embed(self, layers: Layers) -> int:
        """Vectors in the profile of the model at hand; an embedder that hangs ends it for now."""
        if await layers.engine.profile() is None:
            return 0
        told = 0

        def tell(done: int, total: int) -> None:
            nonlocal told
            told = done
            self._tell(f"{layers.persona} vectors", done, total)

        try:
            return (await layers.embedding.pending(layers.store.scope, tell)).embedded
        except EmbedderHangs:
            return told

    async def _summarise(self, layers: Layers, own_loop: UUID | None) -> int:
        """Summaries for loops that have none, or one from before their entries were whole."""
        strays = [loop_id for loop_id in await layers.store.stray_loops() if loop_id != own_loop]
        for done, loop_id in enumerate(strays, start=1):
            await layers.stm.close(loop_id)
            self._tell(f"{layers.persona} loops", done, len(strays))
        return len(strays)

    def _tell(self, what: str, done: int, total: int) -> None:
        if self._progress is not None:
            self._progress(what, done, total)
