"""Import: an export into an anchor that has no memory yet. All of it is verified, or none stays."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from anyio import to_thread

from idetic.audit.chain import ChainHead
from idetic.audit.findings import Verified
from idetic.audit.verify import examine
from idetic.errors import AnchorTaken, ExportRefused, InputError
from idetic.plain_data import PlainData, plain
from idetic.store.export_rows import PROFILES, SPECS, VECTORS, Landing
from idetic.transfer.export_file import ExportFile, Header, RowBatch

Progress = Callable[[int, int], None]
_PROFILE = {"name": str, "fingerprint": str, "profile": str, "dimensions": int, "active": bool}


@dataclass(frozen=True, slots=True)
class Imported(PlainData):
    """What was taken in, and the head of the chain that came with it."""

    rows: int
    entries: int
    links: int
    vectors: int
    head: ChainHead


async def import_file(
    landing: Landing,
    version: int,
    file: ExportFile,
    *,
    vectors: bool,
    head: ChainHead | None,
    progress: Progress | None,
) -> Imported:
    """Take a file in, in one transaction: what does not hold takes everything back."""
    _check_owner(landing, file.header)
    spec = file.header.spec_version, file.header.spec_digest
    if spec != (version, landing.family.spec.digest):
        raise _other_spec(f"version {file.header.spec_version}")
    if await landing.begin() != 0:
        raise AnchorTaken
    await _load(landing, file, vectors=vectors, progress=progress)
    await landing.finish()
    found = await examine(landing, head)
    _refuse_unless_intact(found)
    taken = file.header.rows.get(VECTORS, 0) if vectors else 0
    return Imported(file.header.total, found.entries, found.links, taken, found.head)


def _check_owner(landing: Landing, header: Header) -> None:
    """Refuse another's memory. A chain begins with its family and anchor, and cannot be moved."""
    if (header.agent, header.family) != (landing.scope.agent, landing.family_name):
        raise ExportRefused(
            "This is the memory of another agent.",
            remedy=f"It belongs to {header.agent} ({header.family}). Nothing was written.",
        )
    if header.anchor != plain(landing.scope.anchor):
        raise ExportRefused(
            "This is the memory of another anchor.",
            remedy="Bind the anchor that the file's first line names. Nothing was written.",
        )


async def _load(
    landing: Landing, file: ExportFile, *, vectors: bool, progress: Progress | None
) -> None:
    held = await landing.specs()
    kinds = await landing.kinds(vectors=file.header.vectors)
    if list(file.header.rows) != [kind.name for kind in kinds]:
        raise ExportRefused("This file does not hold the kinds of rows that memory has here.")
    batches = file.batches({kind.name: kind.columns for kind in kinds})
    specs: list[str] = []
    done = 0
    # Read and checked away from the event loop.
    while (batch := await to_thread.run_sync(next, batches, None)) is not None:
        if batch.kind == SPECS:
            specs += batch.texts
        else:
            if specs != held:
                raise _other_spec(f"{len(specs)} version(s)")
            await _take(landing, batch, vectors=vectors)
        done += len(batch.rows)
        if progress is not None:
            progress(done, file.header.total)
    if specs != held:
        raise _other_spec(f"{len(specs)} version(s)")


async def _take(landing: Landing, batch: RowBatch, *, vectors: bool) -> None:
    if batch.kind in (PROFILES, VECTORS) and not vectors:
        return
    if batch.kind != PROFILES:
        await landing.fill(batch.kind, batch.texts, vectors=vectors)
        return
    for row in batch.rows:
        if any(type(row[key]) is not kind for key, kind in _PROFILE.items()):
            raise ExportRefused("A profile in this file is none.")
        await landing.register(row)


@contextmanager
def faults_of_the_file() -> Iterator[None]:
    """What the database's bounds refuse of a file is the file's fault, and told so."""
    try:
        yield
    except ExportRefused:
        raise
    except InputError as error:
        raise ExportRefused("A row of this file is not one that memory can hold.") from error


def _refuse_unless_intact(found: Verified) -> None:
    if not found.intact:
        first, count = found.problems[0], len(found.problems) + found.more
        raise ExportRefused(
            f"What this file holds does not verify: {count} problem(s), the first: "
            f"{first.what}, {first.kind}, {first.why}.",
            found=[problem.as_data() for problem in found.problems],
        )


def _other_spec(found: str) -> ExportRefused:
    return ExportRefused(
        f"This file was written under another spec than this database holds ({found}).",
        remedy="Apply the file's versions of the spec here first, all of them and in order: "
        "`idetic import --apply` does so where the agent is new. Nothing was written.",
    )
