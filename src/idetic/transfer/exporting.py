"""Export: a whole anchor as lines of bytes, all of one moment, a few hundred rows at a time."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from anyio import to_thread

from idetic.errors import InputError
from idetic.model import Capability, Scope
from idetic.ports import Clock
from idetic.spec.memory_spec import MemorySpec
from idetic.store.moving import Kind, Leaving, Moving
from idetic.telemetry import finished
from idetic.transfer.format import END, LEDGER, Header, Seal, framed, parsed
from idetic.verbs.authorization import require, require_whole_anchor

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Exported:
    """What an export holds, and the end of the chain in it."""

    rows: int
    entries: int
    links: int
    size: int
    position: int
    head: str

    def as_data(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return {name: getattr(self, name) for name in self.__slots__}


class Exporting:
    """Takes anchors of one agent out, whole: entries, what belongs to them, and all history."""

    def __init__(self, spec: MemorySpec, version: int, moving: Moving, clock: Clock):
        self._spec = spec
        self._version = version
        self._moving = moving
        self._clock = clock

    async def chunks(
        self, scope: Scope, *, vectors: bool, progress: Progress | None, seal: Seal | None = None
    ) -> AsyncIterator[bytes]:
        """The file's bytes, in whole lines. Two exports of one state are equal."""
        require(self._spec, scope, Capability.EXPORT)
        require_whole_anchor(scope)
        seal, started = seal or Seal(), time.perf_counter()
        async with self._moving.leave(scope, self._clock.now()) as leaving:
            kinds = await leaving.kinds(vectors=vectors)
            header = await self._header(leaving, scope, kinds, vectors)
            first = header.line()
            seal.header(first, header)
            yield first
            done = 0
            for kind in kinds:
                start, last = framed(kind.name), ""
                async for texts in leaving.batches(kind):
                    lines = b"".join(start + text.encode() + END for text in texts)
                    seal.rows(kind.name, lines, len(texts))
                    last = texts[-1]
                    done += len(texts)
                    if progress is not None:
                        progress(done, header.total)
                    yield lines
                if kind.name == LEDGER and last:
                    seal.end(parsed(last.encode()))
        rows = sum(seal.counted().values())
        finished("export", time.perf_counter() - started, None, scope=scope, rows=rows)
        yield seal.manifest()

    async def _header(
        self, leaving: Leaving, scope: Scope, kinds: list[Kind], vectors: bool
    ) -> Header:
        return Header(
            scope.agent,
            self._moving.family_name,
            scope.anchor,
            self._version,
            self._spec.digest,
            vectors,
            {kind.name: await leaving.count(kind) for kind in kinds},
        )

    async def to_file(
        self, scope: Scope, path: str | Path, *, vectors: bool, progress: Progress | None
    ) -> Exported:
        """Write a file that only its owner can read; it has its name only once it is whole."""
        place = _place(path)
        part = place.with_name(f"{place.name}.part")
        seal, size = Seal(), 0
        try:
            file = await to_thread.run_sync(lambda: os.open(part, _FLAGS, 0o600))
            try:
                async for chunk in self.chunks(
                    scope, vectors=vectors, progress=progress, seal=seal
                ):
                    size += await to_thread.run_sync(_write, file, chunk)
                await to_thread.run_sync(os.fsync, file)
            finally:
                os.close(file)
            part.rename(place)
        except OSError as error:
            raise InputError(f"The file cannot be written: {error.strerror}.") from None
        finally:
            part.unlink(missing_ok=True)
        return exported(seal, size)


_FLAGS = os.O_WRONLY | os.O_CREAT | os.O_TRUNC


def exported(seal: Seal, size: int) -> Exported:
    """What came out, once all of it did."""
    counted = seal.counted()
    return Exported(
        sum(counted.values()), counted["memory"], counted[LEDGER], size, seal.position, seal.head
    )


def _place(path: str | Path) -> Path:
    if not isinstance(path, str | Path) or not str(path) or "\x00" in str(path):
        raise InputError("An export needs the path of a file.")
    place = Path(path)
    if place.exists():
        raise InputError(
            "There is a file of that name already.",
            remedy="Choose another name, or remove it first.",
        )
    return place


def _write(file: int, chunk: bytes) -> int:
    left = memoryview(chunk)
    while left:
        left = left[os.write(file, left) :]
    return len(chunk)
