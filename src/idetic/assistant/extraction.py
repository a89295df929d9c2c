"""`extract`: claims are drawn out of what was said, in the background.

A run goes over the turns that came since the last one. Nothing comes twice: a claim that was drawn
out of a turn is not drawn again, whatever became of it. Killed anywhere, the next run goes on with
the turns that are left.
"""

from __future__ import annotations

import logging
from collections.abc import AsyncIterator, Sequence
from contextlib import AbstractAsyncContextManager, asynccontextmanager
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from idetic.assistant.claims import (
    CLAIMS,
    ClaimPass,
    EarlierClaim,
    SourcedClaim,
    drawn_claims,
    key_of,
)
from idetic.assistant.intake import conversation_log, embed_pending
from idetic.engine import Binding
from idetic.evidence import Decided
from idetic.extract.port import PEOPLE, ExtractedClaim, Extraction, Extractor, RefusedClaim, Turn
from idetic.extract.rule_extractor import RuleExtractor
from idetic.lifecycle.promotion import decisions
from idetic.model import Capability, Claim, Entry
from idetic.reason.port import Usage
from idetic.store.anchor_transaction import AnchorTransaction
from idetic.store.steps import TurnStep
from idetic.verbs.arguments import Progress
from idetic.verbs.declaration import post, verb

TASK = "extract"
# Turns that are read, and then settled in one transaction.
BATCH = 200
# How often a turn is tried before it is set aside.
ATTEMPTS = 3
log = logging.getLogger("idetic.assistant")


@dataclass(frozen=True, slots=True)
class ClaimChange:
    """A claim that a run over the whole log adds, or no longer draws."""

    claim: Claim
    text: str
    turns: tuple[UUID, ...]
    brought: bool


@dataclass(frozen=True, slots=True)
class Extracted:
    """The result of an extraction and its cost; of a dry run, what it would change."""

    extractor: str
    turns: int
    claims: int
    decided: tuple[Decided, ...] = ()
    refused: tuple[RefusedClaim, ...] = ()
    changes: tuple[ClaimChange, ...] = ()
    usage: Usage = field(default_factory=Usage)
    stopped: str | None = None


@verb(
    capability=(Capability.MAINTAIN, Capability.OBSERVE),
    operation="extract",
    writes=True,
    repeatable=True,
    http=post("/extract", "upkeep"),
    examples=("idetic extract {scope}", "idetic extract --again --dry-run {scope}"),
    describes={
        "again": "Read every turn once more, as after a change of the extractor.",
        "dry_run": "Only say what would change.",
    },
)
async def extract(
    binding: Binding,
    *,
    again: bool = False,
    dry_run: bool = False,
    progress: Progress | None = None,
) -> Extracted:
    """Draw claims from the messages since the last run; each claim names its messages."""
    conversation_log(binding)
    async with extractor_of(binding) as extractor:
        run = ExtractionRun(binding, extractor, again=again, dry_run=dry_run)
        return await run.run(progress)


def extractor_of(binding: Binding) -> AbstractAsyncContextManager[Extractor]:
    """The extractor that was chosen for this agent, or the one by rules."""
    chosen = binding.engine.extractor
    return _by_rules() if chosen is None else chosen()


@asynccontextmanager
async def _by_rules() -> AsyncIterator[Extractor]:
    """The shipped extractor."""
    yield RuleExtractor()


@dataclass(slots=True)
class ExtractionRun:
    """One run over the turns of an anchor."""

    binding: Binding
    extractor: Extractor
    again: bool
    dry_run: bool
    turns: int = 0
    claims: int = 0
    found: Extraction = field(default_factory=Extraction)
    decided: list[Decided] = field(default_factory=list)
    changes: list[ClaimChange] = field(default_factory=list)

    @property
    def name(self) -> str:
        """What stands in the provenance of what is drawn."""
        return f"{self.extractor.name}-{self.extractor.version}"

    async def run(self, progress: Progress | None) -> Extracted:
        """Batch by batch until all turns are read, or the extractor stops."""
        marks, scope = self.binding.engine.marks, self.binding.scope
        # Read first: what is said while this runs is read by the next run.
        until = await marks.position(scope)
        after = 0 if self.again else await marks.reached(scope, TASK)
        while self.found.stopped is None and (read := await self._read(after, until)):
            await self._batch([entry for _, entry in read])
            after = self._reached(read, after)
            if progress is not None:
                progress(after, max(until, after))
        if not self.dry_run:
            reached = until if self.found.stopped is None else after
            await marks.mark(scope, TASK, reached, self.binding.engine.clock.now())
            await embed_pending(self.binding)
        return Extracted(
            self.name, self.turns, self.claims, tuple(self.decided), self.found.refused,
            tuple(self.changes), self.found.usage, self.found.stopped,
        )  # fmt: skip

    def _reached(self, read: Sequence[tuple[int, Entry]], after: int) -> int:
        """Up to where turns were read: not past the first that the extractor left."""
        for position, entry in read:
            if entry.id in self.found.unread:
                return after
            after = position
        return after

    async def _read(self, after: int, until: int) -> list[tuple[int, Entry]]:
        """The next turns, each with its position in the chain."""
        people = [origin.value for origin in PEOPLE]
        async with self.binding.look() as tx:
            parts = {"columns": tx.entry_columns.columns(tx.scope)}
            rows = await tx.ask(CLAIMS, "turns", parts, after=after, origins=people, limit=BATCH)
            made = [(row[0], tx.entry_columns.entry(tx.scope, row[1:])) for row in rows]
        return [one for one in made if one[0] <= until]

    async def _batch(self, entries: Sequence[Entry]) -> None:
        """Read some turns, off the anchor's lock; then take in what they say, under it."""
        turns = [
            Turn(e.id, e.origin, e.speaker, e.body_text, e.valid_at or e.created_at)
            for e in entries
        ]
        found = await self._extracted(turns)
        self.found += found
        self.turns += len(turns) - len(found.unread)
        async with self.binding.hold() as tx:
            before = await drawn_claims(tx, [entry.id for entry in entries])
            held = {one.id: one.entry for one in await tx.stored([e.id for e in entries])}
            new = [one for one in found.claims if _is_new(one, before, held)]
            self.claims += len(new)
            gone = await self._gone(tx, found.claims, before) if self.again else []
            if self.again:
                self._compare(new, gone, held)
            if not self.dry_run:
                await self._take(tx, new, gone, held)

    async def _extracted(self, turns: Sequence[Turn]) -> Extraction:
        """What an extractor, which is anybody's code, makes of turns: each is read or set aside.

        A turn that it leaves without having stopped, or fails over, is tried alone, and after its
        attempts it is refused, so that those behind it are read.
        """
        found = await self._tried(turns)
        left = [turn for turn in turns if turn.id in found.unread]
        if found.stopped is not None or not left:
            return found
        found = replace(found, unread=())
        for turn in left:
            found += await self._alone(turn)
            if found.stopped is not None:
                behind = left[left.index(turn) + 1 :]
                return found + Extraction(unread=tuple(one.id for one in behind))
        return found

    async def _alone(self, turn: Turn) -> Extraction:
        """What comes of one turn that was left, in as many attempts as it has."""
        spent = Extraction()
        for _ in range(ATTEMPTS - 1):
            again = await self._tried([turn])
            if turn.id not in again.unread or again.stopped is not None:
                return spent + again
            spent += replace(again, unread=())
        log.warning("a turn is set aside", extra={"turn": str(turn.id), "extractor": self.name})
        why = f"The extractor left this turn {ATTEMPTS} times; it is set aside."
        return spent + Extraction(refused=(RefusedClaim(why, (turn.id,)),))

    async def _tried(self, turns: Sequence[Turn]) -> Extraction:
        """One attempt; turns over which the extractor fails are left, and it has not stopped."""
        try:
            return await self.extractor.extract(turns)
        except Exception as error:  # noqa: BLE001 - an extractor is anybody's code
            # Its name and no more: an error's words may quote the text.
            said = {"extractor": self.name, "error": type(error).__name__}
            log.warning("an extractor failed", extra=said)
            return Extraction(unread=tuple(turn.id for turn in turns))

    async def _take(
        self,
        tx: AnchorTransaction,
        new: Sequence[ExtractedClaim],
        gone: Sequence[EarlierClaim],
        held: dict[UUID, Entry],
    ) -> None:
        """Write what is new; of a run over all, let go what is no longer drawn."""
        work = ClaimPass.of(self.binding, tx)
        for one in new:
            sources = tuple(held[turn] for turn in one.turns)
            stated = (one.claim, one.typology, one.text, sources, self.name, one.valid_at, one.ends)
            await work.take(SourcedClaim(*stated))
        for lost in await tx.stored({one.entry_id for one in gone}):
            changes: dict[str, Any] = {"archived_at": tx.at}
            why = f"no longer drawn by {self.name}"
            work.steps.append(TurnStep("archived", why, changes, entry=lost.entry))
        self.decided += decisions(work.steps, await self.binding.settle(tx, work.steps))

    async def _gone(
        self, tx: AnchorTransaction, drawn: Sequence[ExtractedClaim], before: Sequence[EarlierClaim]
    ) -> list[EarlierClaim]:
        """What another version drew out of these turns and of no other, and this one does not."""
        now, theirs = {key_of(one.claim) for one in drawn}, (None, self.name, "stated")
        gone = [o for o in before if o.live and o.extractor not in theirs and o.key not in now]
        lineage = await tx.lineage({one.entry_id for one in gone})
        read = {one.source_id for one in before}
        return [o for o in gone if {s.source_id for s in lineage.get(o.entry_id, ())} <= read]

    def _compare(
        self,
        new: Sequence[ExtractedClaim],
        gone: Sequence[EarlierClaim],
        held: dict[UUID, Entry],
    ) -> None:
        """Note what this run brings and what it drops."""
        self.changes += [ClaimChange(one.claim, one.text, one.turns, True) for one in new]
        for one in gone:
            claim = Claim(*one.key)
            quoted = held[one.source_id].body_text if one.source_id in held else ""
            self.changes.append(ClaimChange(claim, quoted, (one.source_id,), False))


def _is_new(one: ExtractedClaim, before: Sequence[EarlierClaim], held: dict[UUID, Entry]) -> bool:
    """Whether a claim was never drawn out of its turns, and none of them was told to be forgotten.

    What was drawn and then superseded, archived or undone is not to come back by another run.
    """
    mine = [old for old in before if old.source_id in one.turns]
    if any(turn not in held or held[turn].deleted_at for turn in one.turns):
        return False
    if any(old.erased for old in mine):
        return False
    return not set(one.turns) <= {old.source_id for old in mine if old.key == key_of(one.claim)}
