"""Export: a whole anchor as lines of bytes, all of one moment, a few hundred rows at a time."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

from anyio import to_thread

from idetic.engine import Binding
from idetic.errors import InputError
from idetic.model import Capability
from idetic.plain_data import PlainData
from idetic.store.audit_rows import chain_name
from idetic.store.export_rows import batches, count, leaving, row_kinds
from idetic.telemetry import finished
from idetic.transfer.export_file import END, LEDGER, Header, Seal, framed, parsed
from idetic.verbs.declaration import get, stream_verb, verb

Progress = Callable[[int, int], None]


@dataclass(frozen=True, slots=True)
class Exported(PlainData):
    """What an export holds, and the end of the chain in it."""

    rows: int
    entries: int
    links: int
    size: int
    position: int
    head: str


@stream_verb(
    capability=Capability.EXPORT,
    whole_anchor=True,
    http=get("/export", "moving", media_type="application/x-ndjson"),
    command=None,
)
async def export(
    binding: Binding, *, vectors: bool = False, progress: Progress | None = None
) -> AsyncIterator[bytes]:
    """Give the whole anchor with its history, as the bytes of a file, some rows at a time."""
    async for chunk in _lines(binding, Seal(), vectors=vectors, progress=progress):
        yield chunk


@verb(capability=Capability.EXPORT, whole_anchor=True, command=None)
async def export_to(
    binding: Binding, path: str | Path, *, vectors: bool = False, progress: Progress | None = None
) -> Exported:
    """Write the same into a new file, which has its name only once it is whole."""
    place = _free(path)
    part = place.with_name(f"{place.name}.part")
    seal, size = Seal(), 0
    try:
        # A file that only its owner can read.
        opened = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(opened, "wb") as file:
            async for chunk in _lines(binding, seal, vectors=vectors, progress=progress):
                size += await to_thread.run_sync(file.write, chunk)
            file.flush()
            await to_thread.run_sync(os.fsync, opened)
        part.rename(place)
    except OSError as error:
        raise InputError(f"The file cannot be written: {error.strerror}.") from None
    finally:
        part.unlink(missing_ok=True)
    rows = seal.counted()
    total = sum(rows.values())
    return Exported(total, rows["memory"], rows[LEDGER], size, seal.position, seal.head)


async def _lines(
    binding: Binding, seal: Seal, *, vectors: bool, progress: Progress | None
) -> AsyncIterator[bytes]:
    """The file's bytes, in whole lines. Two exports of one state are equal."""
    scope, engine, started = binding.scope, binding.engine, time.perf_counter()
    async with leaving(engine.anchors, scope) as tx:
        kinds = await row_kinds(tx, vectors=vectors)
        rows = {kind.name: await count(tx, kind) for kind in kinds}
        whose = scope.agent, chain_name(tx.family), scope.anchor
        header = Header(*whose, engine.version, engine.spec.digest, vectors, rows)
        first = header.line()
        seal.header(first, header)
        yield first
        done = 0
        for kind in kinds:
            start, last = framed(kind.name), ""
            async for texts in batches(tx, kind):
                lines = b"".join(start + text.encode() + END for text in texts)
                seal.rows(kind.name, lines, len(texts))
                last = texts[-1]
                done += len(texts)
                if progress is not None:
                    progress(done, header.total)
                yield lines
            if kind.name == LEDGER and last:
                seal.end(parsed(last.encode()))
    finished("export", time.perf_counter() - started, None, scope=scope, rows=done)
    yield seal.manifest()


def _free(path: str | Path) -> Path:
    """The path as one that can be written to, where nothing is yet."""
    if not isinstance(path, str | Path) or not str(path) or "\x00" in str(path):
        raise InputError("An export needs the path of a file.")
    place = Path(path)
    if place.exists():
        raise InputError(
            "There is a file of that name already.",
            remedy="Choose another name, or remove it first.",
        )
    return place
