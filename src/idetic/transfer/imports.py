"""Import: an export into an anchor that has no memory yet. All of it is verified, or none stays."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from anyio import to_thread

from idetic.audit.chain import ChainHead
from idetic.audit.findings import Verified
from idetic.audit.verify import chain_head, check_head, examine
from idetic.engine import Binding
from idetic.errors import AnchorTaken, ExportRefused, InputError
from idetic.model import Capability, Decision, PlainData, plain
from idetic.store.anchor_transaction import AnchorTransaction
from idetic.store.audit_rows import chain_name
from idetic.store.export_rows import (
    MOVING,
    PROFILES,
    SPECS,
    VECTORS,
    begin,
    fill,
    landing,
    register,
    row_kinds,
    spec_texts,
)
from idetic.store.steps import LinkStep
from idetic.telemetry import span
from idetic.transfer.exports import ExportFile, Header, RowBatch
from idetic.transfer.import_checks import check_import
from idetic.verbs.arguments import Progress
from idetic.verbs.declaration import verb

IMPORT = "anchor_imported"
"""The transition of the link that an import leaves."""
_PROFILE = {"name": str, "fingerprint": str, "profile": str, "dimensions": int, "active": bool}


@dataclass(frozen=True, slots=True)
class Imported(PlainData):
    """The result of an import, and the head of the chain; the last link names who imported it."""

    rows: int
    entries: int
    links: int
    vectors: int
    head: ChainHead


@verb(capability=Capability.IMPORT, writes=True, command=None)
async def import_from(
    binding: Binding,
    path: str | Path,
    *,
    vectors: bool = True,
    head: ChainHead | None = None,
    progress: Progress | None = None,
) -> Imported:
    """Verify an export and import it into this empty anchor, completely or not at all."""
    if not isinstance(path, str | Path) or not str(path):
        raise InputError("An import needs the path of a file.")
    check_head(binding, head)
    scope, engine = binding.scope, binding.engine
    with span("import", scope=scope), ExportFile(path) as file, _faults_of_the_file():
        _check_header(binding, file.header)
        async with landing(engine.anchors, scope) as tx:
            if await begin(tx) != 0:
                raise AnchorTaken
            await _load(tx, file, vectors=vectors, progress=progress)
            # The guard looks at what came, and the anchor moves to the end of its chain.
            await tx.ask(MOVING, "taken")
            found = await examine(tx, head)
            _refuse_unless_intact(found)
            await check_import(binding, tx)
            taken = file.header.rows.get(VECTORS, 0) if vectors else 0
            if found.links:
                await binding.settle(tx, [_import_link(file.header, found)])
            ends = await chain_head(tx)
    return Imported(file.header.total, found.entries, found.links, taken, ends)


def _import_link(header: Header, found: Verified) -> LinkStep:
    """The link that says who took all of this in: what stands before it was written elsewhere."""
    told = {
        "upto": found.head.position,
        "head": found.head.hash.hex(),
        "rows": header.total,
        "entries": found.entries,
    }
    return LinkStep(IMPORT, "taken in from an export", decision=Decision.ADD, detail=told)


def _check_header(binding: Binding, header: Header) -> None:
    """Refuse another's memory. A chain begins with its family and anchor, and cannot be moved."""
    scope, engine = binding.scope, binding.engine
    if (header.agent, header.family) != (scope.agent, chain_name(engine.anchors.family)):
        raise ExportRefused(
            "This is the memory of another agent.",
            remedy=f"It belongs to {header.agent} ({header.family}). Nothing was written.",
        )
    if header.anchor != plain(scope.anchor):
        raise ExportRefused(
            "This is the memory of another anchor.",
            remedy="Bind the anchor that the file's first line names. Nothing was written.",
        )
    if (header.spec_version, header.spec_digest) != (engine.version, engine.spec.digest):
        raise _other_spec(f"version {header.spec_version}")


async def _load(
    tx: AnchorTransaction, file: ExportFile, *, vectors: bool, progress: Progress | None
) -> None:
    """Take every row of the file, once the file's specs are the same as those held here."""
    held = await spec_texts(tx)
    kinds = await row_kinds(tx, vectors=file.header.vectors)
    if list(file.header.rows) != [kind.name for kind in kinds]:
        raise ExportRefused("This file does not have the kinds of rows that memory has here.")
    batches = file.batches({kind.name: kind.columns for kind in kinds})
    specs: list[str] = []
    done = 0
    # Read and checked away from the event loop.
    while (batch := await to_thread.run_sync(next, batches, None)) is not None:
        if batch.kind == SPECS:
            specs += batch.texts
        else:
            # The specs come first in a file: no row is written before they agree.
            if specs != held:
                raise _other_spec(f"{len(specs)} version(s)")
            await _take(tx, batch, vectors=vectors)
        done += len(batch.rows)
        if progress is not None:
            progress(done, file.header.total)
    # Again, for a file in which nothing follows them.
    if specs != held:
        raise _other_spec(f"{len(specs)} version(s)")


async def _take(tx: AnchorTransaction, batch: RowBatch, *, vectors: bool) -> None:
    """Write one batch; profiles are registered by their fields, all other rows as they stand."""
    if batch.kind in (PROFILES, VECTORS) and not vectors:
        return
    if batch.kind != PROFILES:
        await fill(tx, batch.kind, batch.texts, vectors=vectors)
        return
    for row in batch.rows:
        if any(type(row[key]) is not kind for key, kind in _PROFILE.items()):
            raise ExportRefused("An embedding profile in this file is not valid.")
        await register(tx, row)


@contextmanager
def _faults_of_the_file() -> Iterator[None]:
    """What the database's bounds refuse of a file is the file's fault, and told so."""
    try:
        yield
    except ExportRefused:
        raise
    except InputError as error:
        raise ExportRefused("A row of this file is not valid.") from error


def _refuse_unless_intact(found: Verified) -> None:
    """Refuse what the file brought if its verification found a problem."""
    if not found.intact:
        first, count = found.problems[0], len(found.problems) + found.more
        raise ExportRefused(
            f"The content of this file does not verify: {count} problem(s), the first: "
            f"{first.what}, {first.kind}, {first.why}.",
            found=[problem.as_data() for problem in found.problems],
        )


def _other_spec(found: str) -> ExportRefused:
    """The refusal of a file whose specs are not the ones that this database holds."""
    return ExportRefused(
        f"The spec of this file differs from the spec in this database ({found}).",
        remedy="Apply the file's versions of the spec here first, all of them and in order: "
        "`idetic import --apply` does so where the agent is new. Nothing was written.",
    )
