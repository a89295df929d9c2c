"""Export: a whole anchor as lines of bytes, all of one moment, a few hundred rows at a time."""

from __future__ import annotations

import os
import time
from collections.abc import AsyncIterator, Callable
from dataclasses import dataclass
from pathlib import Path

from anyio import to_thread

from idetic.errors import InputError
from idetic.plain_data import PlainData
from idetic.store.export_rows import Leaving
from idetic.telemetry import finished
from idetic.transfer.export_file import END, LEDGER, Header, Seal, framed, parsed

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


async def export_lines(
    leaving: Leaving,
    version: int,
    *,
    vectors: bool,
    progress: Progress | None,
    seal: Seal | None = None,
) -> AsyncIterator[bytes]:
    """The file's bytes, in whole lines, of a spec's version. Two exports of one state are equal."""
    scope, seal, started = leaving.scope, seal or Seal(), time.perf_counter()
    kinds = await leaving.kinds(vectors=vectors)
    rows = {kind.name: await leaving.count(kind) for kind in kinds}
    whose = scope.agent, leaving.family_name, scope.anchor
    header = Header(*whose, version, leaving.family.spec.digest, vectors, rows)
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
    finished("export", time.perf_counter() - started, None, scope=scope, rows=done)
    yield seal.manifest()


async def export_to_file(
    leaving: Leaving,
    version: int,
    path: str | Path,
    *,
    vectors: bool,
    progress: Progress | None,
) -> Exported:
    """Write a file that only its owner can read; it has its name only once it is whole."""
    place = _free(path)
    part = place.with_name(f"{place.name}.part")
    seal, size = Seal(), 0
    chunks = export_lines(leaving, version, vectors=vectors, progress=progress, seal=seal)
    try:
        opened = os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        with os.fdopen(opened, "wb") as file:
            async for chunk in chunks:
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


def _free(path: str | Path) -> Path:
    if not isinstance(path, str | Path) or not str(path) or "\x00" in str(path):
        raise InputError("An export needs the path of a file.")
    place = Path(path)
    if place.exists():
        raise InputError(
            "There is a file of that name already.",
            remedy="Choose another name, or remove it first.",
        )
    return place
