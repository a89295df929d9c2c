"""Verbs of audit and moving: verify a chain, explain an action, export, import, adopt."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any
from uuid import UUID

from idetic.audit.explanation import ActionExplanation, ActionRecord, ReadReceipt
from idetic.audit.findings import Verified
from idetic.audit.head import ChainHead
from idetic.audit.verify import Progress
from idetic.errors import InputError
from idetic.library.binding import Binding
from idetic.model import Capability
from idetic.transfer import langgraph, mem0
from idetic.transfer.adopting import Adopted
from idetic.transfer.exporting import Exported
from idetic.transfer.foreign import Read, documents
from idetic.transfer.importing import Imported
from idetic.verbs.arguments import Cursor, Limit, Wire
from idetic.verbs.declaration import Paging, get, post, stream_verb, verb

STORES: dict[str, Read] = {mem0.SOURCE: mem0.read, langgraph.SOURCE: langgraph.read}
LINES = "application/x-ndjson"


def exported_data(data: Any) -> Any:
    """What another store exported, as data; a path is that of a file of the caller's."""
    found = documents(data) if isinstance(data, str | Path) else data
    if not isinstance(found, Mapping | Sequence):
        raise InputError("data is what a store exported: a list or an object, or a file's path.")
    return found


KeptHead = Annotated[
    ChainHead, Wire("head", dict[str, Any], ChainHead.as_data, ChainHead.from_data)
]


@verb(capability=Capability.AUDIT, http=get("/chain/head", "auditing"))
async def head(binding: Binding) -> ChainHead:
    """Say where the chain of this anchor ends now: keep it elsewhere, for `verify`."""
    return await binding.rooms.verifier.head(binding.scope)


@verb(
    capability=Capability.AUDIT,
    http=post("/chain/verify", "auditing"),
    examples=(
        "idetic verify {scope} --save-head head.json",
        "idetic verify {scope} --head head.json --json",
    ),
)
async def verify(
    binding: Binding, head: KeptHead | None = None, progress: Progress | None = None
) -> Verified:
    """Check every link of the chain, its end, and that entries say what they said."""
    return await binding.rooms.verifier.verify(binding.scope, head, progress)


@verb(
    capability=Capability.AUDIT,
    http=get("/actions/{action_id}/explanation", "auditing"),
    command="explain",
    examples=("idetic explain ACTION_ID {scope}",),
)
async def explain_action(binding: Binding, action_id: UUID) -> ActionExplanation:
    """Say what an action rested on, as it stood then, and everything behind that."""
    return await binding.rooms.explaining.action(binding.scope, action_id)


@verb(
    capability=Capability.AUDIT,
    http=get("/actions", "auditing", page=Paging("actions", lambda one: one.action_id)),
)
async def actions(
    binding: Binding, *, limit: Limit = 100, before: Cursor = None
) -> list[ActionRecord]:
    """List the actions that rest on this memory, newest first; `before` is a page's last id."""
    return await binding.rooms.explaining.actions(binding.scope, limit, before)


@verb(capability=Capability.AUDIT, http=get("/entries/{entry_id}/readers", "auditing"))
async def readers(binding: Binding, entry_id: UUID, *, limit: Limit = 100) -> list[ReadReceipt]:
    """List who was shown an entry, newest first."""
    return await binding.rooms.explaining.readers(binding.scope, entry_id, limit)


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
    chunks = binding.rooms.exporting.chunks(binding.scope, vectors=vectors, progress=progress)
    async for chunk in chunks:
        yield chunk


@verb(capability=Capability.EXPORT, whole_anchor=True, command=None)
async def export_to(
    binding: Binding, path: str | Path, *, vectors: bool = False, progress: Progress | None = None
) -> Exported:
    """Write the same into a new file, which has its name only once it is whole."""
    return await binding.rooms.exporting.to_file(
        binding.scope, path, vectors=vectors, progress=progress
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
    return await binding.rooms.importing.from_file(
        binding.scope, path, vectors=vectors, head=head, progress=progress
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
    memories = STORES[source](exported_data(data))
    return await binding.rooms.adopting.adopt(binding.scope, memories, dry_run=dry_run)
