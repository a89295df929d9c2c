"""What a user does to take memory elsewhere: export an anchor, import it, adopt another store's."""

from __future__ import annotations

from collections.abc import AsyncIterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from idetic.audit.chain import ChainHead
from idetic.errors import ExportRefused, InputError
from idetic.model import Scope
from idetic.spec.loader import load
from idetic.transfer.adoption import Adopted
from idetic.transfer.export_file import spec_rows
from idetic.transfer.exports import Exported, Progress
from idetic.transfer.foreign import STORES, documents
from idetic.transfer.imports import Imported

if TYPE_CHECKING:
    from idetic.library.handles import Agent
    from idetic.library.idetic import Idetic


class Movable:
    """The verbs of moving, for one agent's memory within one scope."""

    agent: Agent
    scope: Scope

    def export(
        self, *, vectors: bool = False, progress: Progress | None = None
    ) -> AsyncIterator[bytes]:
        """The whole anchor with its history, as the bytes of a file, some rows at a time."""
        exporting = self.agent.rooms.exporting
        return exporting.chunks(self.scope, vectors=vectors, progress=progress)

    async def export_to(
        self, path: str | Path, *, vectors: bool = False, progress: Progress | None = None
    ) -> Exported:
        """The same into a new file, which has its name only once it is whole."""
        return await self.agent.rooms.exporting.to_file(
            self.scope, path, vectors=vectors, progress=progress
        )

    async def import_from(
        self,
        path: str | Path,
        *,
        vectors: bool = True,
        head: ChainHead | None = None,
        progress: Progress | None = None,
    ) -> Imported:
        """Take an export into this anchor, which must be empty; it is verified, all or nothing."""
        return await self.agent.rooms.importing.from_file(
            self.scope, path, vectors=vectors, head=head, progress=progress
        )

    async def adopt(self, source: str, data: Any, *, dry_run: bool = False) -> Adopted:
        """Take in what another store exported ("mem0" or "langgraph"): data, or the path of a file.

        Each memory passes the gateway as heard from outside; what is not taken is told.
        """
        if source not in STORES:
            raise InputError(f"The source is one of {', '.join(STORES)}.")
        found = documents(data) if isinstance(data, str | Path) else data
        return await self.agent.rooms.adopting.adopt(
            self.scope, STORES[source](found), dry_run=dry_run
        )


async def apply_specs(db: Idetic, path: str | Path) -> int:
    """Apply the versions of the spec that an export names, if its agent is new to the database.

    An entry names the version it was written under, so the versions must be the same ones here.
    Not part of the import's transaction: a spec that was applied stays.
    """
    agent, rows = spec_rows(path)
    if await db.spec_versions(agent):
        return 0
    specs = [load(row["spec"]) for row in rows]
    if [spec.digest for spec in specs] != [row["digest"] for row in rows]:
        raise ExportRefused("A spec in this file is not the one that its digest names.")
    for spec in specs:
        await db.apply(spec)
    return len(specs)
