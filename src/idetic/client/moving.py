"""Memory on the move, from afar: an anchor comes here as a file; another store's goes there."""

from __future__ import annotations

from collections.abc import AsyncIterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from idetic.client.line import Line
from idetic.errors import InputError
from idetic.transfer.adoption import Adopted
from idetic.transfer.foreign import documents


class RemoteMoving:
    """Export and adoption, of a memory that a server holds; import is done beside its database."""

    _line: Line

    def export(self, *, vectors: bool = False) -> AsyncIterator[bytes]:
        """The whole anchor with its history, as the bytes of a file; its last line seals it."""
        return self._line.stream("/v1/export", {"vectors": vectors})

    async def adopt(self, source: str, data: Any, *, dry_run: bool = False) -> Adopted:
        """Take in what another store exported: data, or the path of a file that is here."""
        found = documents(data) if isinstance(data, str | Path) else data
        if not isinstance(found, Mapping | Sequence):
            raise InputError(
                "data is what a store exported: a list or an object, or a file's path."
            )
        body = {"source": source, "data": found, "dry_run": dry_run}
        return await self._line.do("/v1/adopt", Adopted, body)
