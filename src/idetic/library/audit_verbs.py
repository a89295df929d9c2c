"""Verbs of audit and moving: verify a chain, explain an action, export, import, adopt."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

from idetic.audit.actions import explained, readers_of
from idetic.audit.chain import ChainHead
from idetic.audit.explanation import ActionExplanation, ActionRecord, ReadReceipt
from idetic.audit.findings import Verified
from idetic.audit.verify import Progress, chain_head, check_head, examine
from idetic.errors import InputError
from idetic.library.binding import Binding
from idetic.model import Capability
from idetic.store.audit import Audited
from idetic.telemetry import span
from idetic.transfer.adoption import Adopted, adopt_memories
from idetic.transfer.export_file import ExportFile
from idetic.transfer.exports import Exported, export_lines, export_to_file
from idetic.transfer.foreign import STORES, documents
from idetic.transfer.imports import Imported, faults_of_the_file, import_file
from idetic.verbs.arguments import Cursor, Limit, Wire
from idetic.verbs.declaration import Paging, get, post, stream_verb, verb

LINES = "application/x-ndjson"


def exported_data(data: Any) -> Any:
    """What another store exported, as data; a path is that of a file of the caller's."""
    found = documents(data) if isinstance(data, str | Path) else data
    if not isinstance(found, Mapping | Sequence):
        raise InputError("data is what a store exported: a list or an object, or a file's path.")
    return found


def _looked_at(binding: Binding) -> AbstractAsyncContextManager[Audited]:
    return binding.rooms.anchors.look(binding.scope, binding.rooms.clock.now())


@verb(capability=Capability.AUDIT, whole_anchor=True, http=get("/chain/head", "auditing"))
async def head(binding: Binding) -> ChainHead:
    """Say where the chain of this anchor ends now: keep it elsewhere, for `verify`."""
    async with _looked_at(binding) as seen:
        return await chain_head(seen)


@verb(
    capability=Capability.AUDIT,
    whole_anchor=True,
    http=post("/chain/verify", "auditing"),
    examples=("idetic verify {scope}",),
)
async def verify(
    binding: Binding, head: ChainHead | None = None, progress: Progress | None = None
) -> Verified:
    """Check every link of the chain, its end, and that entries say what they said."""
    check_head(binding.scope, head)
    async with _looked_at(binding) as seen:
        return await examine(seen, head, progress)


@verb(
    capability=Capability.AUDIT,
    whole_anchor=True,
    http=get("/actions/{action_id}/explanation", "auditing"),
    command=None,
)
async def explain_action(binding: Binding, action_id: UUID) -> ActionExplanation:
    """Say what an action rested on, as it stood then, and everything behind that."""
    async with _looked_at(binding) as seen:
        return await explained(seen, action_id)


@verb(
    capability=Capability.AUDIT,
    whole_anchor=True,
    http=get("/actions", "auditing", page=Paging("actions", lambda one: one.action_id)),
)
async def actions(
    binding: Binding, *, limit: Limit = 100, before: Cursor = None
) -> list[ActionRecord]:
    """List the actions that rest on this memory, newest first; `before` is a page's last id."""
    async with _looked_at(binding) as seen:
        return [ActionRecord(*row) for row in await seen.actions(before, limit)]


@verb(
    capability=Capability.AUDIT,
    whole_anchor=True,
    http=get("/entries/{entry_id}/readers", "auditing"),
)
async def readers(binding: Binding, entry_id: UUID, *, limit: Limit = 100) -> list[ReadReceipt]:
    """List who was shown an entry, newest first."""
    async with _looked_at(binding) as seen:
        return await readers_of(seen, entry_id, limit)


@stream_verb(
    capability=Capability.EXPORT,
    whole_anchor=True,
    http=get("/export", "moving", media_type=LINES),
    command=None,
)
async def export(
    binding: Binding, *, vectors: bool = False, progress: Progress | None = None
) -> AsyncIterator[bytes]:
    """Give the whole anchor with its history, as the bytes of a file, some rows at a time."""
    rooms = binding.rooms
    async with rooms.anchors.leave(binding.scope, rooms.clock.now()) as leaving:
        lines = export_lines(leaving, rooms.version, vectors=vectors, progress=progress)
        async for chunk in lines:
            yield chunk


@verb(capability=Capability.EXPORT, whole_anchor=True, command=None)
async def export_to(
    binding: Binding, path: str | Path, *, vectors: bool = False, progress: Progress | None = None
) -> Exported:
    """Write the same into a new file, which has its name only once it is whole."""
    rooms = binding.rooms
    async with rooms.anchors.leave(binding.scope, rooms.clock.now()) as leaving:
        return await export_to_file(
            leaving, rooms.version, path, vectors=vectors, progress=progress
        )


@verb(capability=Capability.IMPORT, writes=True, command=None)
async def import_from(
    binding: Binding,
    path: str | Path,
    *,
    vectors: bool = True,
    head: ChainHead | None = None,
    progress: Progress | None = None,
) -> Imported:
    """Take an export into this anchor, which must be empty; it is verified, all or nothing."""
    if not isinstance(path, str | Path) or not str(path):
        raise InputError("An import needs the path of a file.")
    check_head(binding.scope, head)
    rooms = binding.rooms
    with span("import", scope=binding.scope), ExportFile(path) as file, faults_of_the_file():
        async with rooms.anchors.land(binding.scope, rooms.clock.now()) as landing:
            return await import_file(
                landing, rooms.version, file, vectors=vectors, head=head, progress=progress
            )


@verb(capability=Capability.IMPORT, writes=True, http=post("/adopt", "moving"), command=None)
async def adopt(
    binding: Binding,
    source: str,
    data: Annotated[Any, Wire("data", dict[str, Any] | list[Any], exported_data)],
    *,
    dry_run: bool = False,
) -> Adopted:
    """Take in what another store exported ("mem0" or "langgraph"): data, or the path of a file.

    Each memory passes the gateway as heard from outside; what is not taken is told.
    """
    if source not in STORES:
        raise InputError(f"source is one of {', '.join(STORES)}.")
    memories, rooms = STORES[source](exported_data(data)), binding.rooms
    return await adopt_memories(
        binding.spec,
        rooms.gateway,
        rooms.closer,
        rooms.gates,
        binding.scope,
        memories,
        dry_run=dry_run,
    )
