"""Import: an export into an anchor that has no memory yet. All of it is verified, or none stays."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anyio import to_thread

from idetic.audit.findings import Verified
from idetic.audit.head import ChainHead
from idetic.audit.verify import Verifier, check_head
from idetic.errors import AnchorTaken, ExportRefused, InputError
from idetic.model import Capability, Scope
from idetic.ports import Clock
from idetic.spec.memory_spec import MemorySpec
from idetic.store.moving import PROFILES, SPECS, VECTORS, Landing, Moving
from idetic.telemetry import traced
from idetic.transfer.format import Header, plain_anchor
from idetic.transfer.reading import Batch, ExportFile
from idetic.verbs.authorization import require, require_whole_anchor

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Imported:
    """What was taken in, and the head of the chain that came with it."""

    rows: int
    entries: int
    links: int
    vectors: int
    head: ChainHead

    def as_data(self) -> dict[str, Any]:
        """Plain data for JSON."""
        counted = {name: getattr(self, name) for name in ("rows", "entries", "links", "vectors")}
        return {**counted, "head": self.head.as_data()}


class Importing:
    """Takes exports in for one agent."""

    def __init__(
        self, spec: MemorySpec, version: int, moving: Moving, verifier: Verifier, clock: Clock
    ):
        self._spec = spec
        self._version = version
        self._moving = moving
        self._verifier = verifier
        self._clock = clock

    @traced("import")
    async def from_file(
        self,
        scope: Scope,
        path: str | Path,
        *,
        vectors: bool,
        head: ChainHead | None,
        progress: Progress | None,
    ) -> Imported:
        """Take a file in. One transaction: what does not hold takes everything back."""
        require(self._spec, scope, Capability.IMPORT)
        require_whole_anchor(scope)
        if not isinstance(path, str | Path) or not str(path):
            raise InputError("An import needs the path of a file.")
        check_head(scope, head)
        with ExportFile(path) as file, _as_a_fault_of_the_file():
            self._check_header(scope, file.header)
            async with self._moving.land(scope, self._clock.now()) as landing:
                if await landing.begin() != 0:
                    raise AnchorTaken
                await self._load(landing, file, vectors=vectors, progress=progress)
                await landing.finish()
                found = await self._verifier.examine(landing, head)
                _refuse_unless_intact(found)
        rows = file.header.rows
        taken = rows.get(VECTORS, 0) if vectors else 0
        return Imported(file.header.total, found.entries, found.links, taken, found.head)

    def _check_header(self, scope: Scope, header: Header) -> None:
        """Whose memory it is. A chain begins with its family and anchor, and cannot be moved."""
        if (header.agent, header.family) != (scope.agent, self._moving.family_name):
            raise ExportRefused(
                "This is the memory of another agent.",
                remedy=f"It belongs to {header.agent} ({header.family}). Nothing was written.",
            )
        if header.anchor != plain_anchor(scope.anchor):
            raise ExportRefused(
                "This is the memory of another anchor.",
                remedy="Bind the anchor that the file's first line names. Nothing was written.",
            )
        if (header.spec_version, header.spec_digest) != (self._version, self._spec.digest):
            raise _other_spec(f"version {header.spec_version}")

    async def _load(
        self, landing: Landing, file: ExportFile, *, vectors: bool, progress: Progress | None
    ) -> None:
        held = await landing.specs()
        kinds = await landing.kinds(vectors=file.header.vectors)
        if list(file.header.rows) != [kind.name for kind in kinds]:
            raise ExportRefused("This file does not hold the kinds of rows that memory has here.")
        batches = file.batches({kind.name: kind.columns for kind in kinds})
        specs: list[str] = []
        done = 0
        async for batch in _read(batches):
            if batch.kind == SPECS:
                specs += batch.texts
            else:
                if specs != held:
                    raise _other_spec(f"{len(specs)} version(s)")
                await self._take(landing, batch, vectors=vectors)
            done += len(batch.rows)
            if progress is not None:
                progress(done, file.header.total)
        if specs != held:
            raise _other_spec(f"{len(specs)} version(s)")

    async def _take(self, landing: Landing, batch: Batch, *, vectors: bool) -> None:
        if batch.kind in (PROFILES, VECTORS) and not vectors:
            return
        if batch.kind == PROFILES:
            for row in batch.rows:
                await landing.register(_profile(row))
        else:
            await landing.fill(batch.kind, batch.texts, vectors=vectors)


async def _read(batches: Iterator[Batch]) -> AsyncIterator[Batch]:
    """The batches, read and checked away from the event loop."""
    while (batch := await to_thread.run_sync(next, batches, None)) is not None:
        yield batch


@contextmanager
def _as_a_fault_of_the_file() -> Iterator[None]:
    """What the database's bounds refuse of a file is the file's fault, and told so."""
    try:
        yield
    except InputError as error:
        if isinstance(error, ExportRefused):
            raise
        raise ExportRefused("A row of this file is not one that memory can hold.") from error


def _refuse_unless_intact(found: Verified) -> None:
    if not found.intact:
        first, count = found.problems[0], len(found.problems) + found.more
        raise ExportRefused(
            f"What this file holds does not verify: {count} problem(s), the first: "
            f"{first.what}, {first.kind}, {first.why}.",
            found=[problem.as_data() for problem in found.problems],
        )


def _profile(row: Mapping[str, Any]) -> Mapping[str, Any]:
    texts = all(isinstance(row[key], str) for key in ("name", "fingerprint", "profile"))
    if not texts or type(row["dimensions"]) is not int or type(row["active"]) is not bool:
        raise ExportRefused("A profile in this file is none.")
    return row


def _other_spec(found: str) -> ExportRefused:
    return ExportRefused(
        f"This file was written under another spec than this database holds ({found}).",
        remedy="Apply the file's versions of the spec here first, all of them and in order: "
        "`idetic import --apply` does so where the agent is new. Nothing was written.",
    )
