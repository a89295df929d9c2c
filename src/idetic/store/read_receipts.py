"""Read receipts: which entries a session was shown."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from idetic.model import Claim, Place, Scope
from idetic.store.database import Database
from idetic.store.family import Family
from idetic.store.templates import BoundStatement

# A context of the largest ceiling holds fewer; beyond it the oldest entries are not compared with.
MOST = 500


@dataclass(frozen=True, slots=True)
class Shown:
    """An entry as it was put before a session."""

    entry_id: UUID
    text: str
    claim: Claim | None = None


@dataclass(frozen=True, slots=True)
class ReadReceipts:
    """Reads back what was put before sessions of one family."""

    database: Database
    family: Family

    def call(self, scope: Scope, place: Place) -> BoundStatement:
        """The look-up, for those who want to see how it runs."""
        wanted = {"session": place.session_id, "limit": MOST}
        return self.family.call("shown", "shown", scope, {}, **wanted)

    async def shown(self, scope: Scope, place: Place) -> list[Shown]:
        """The entries that were put before the place's session, the newest first."""
        call = self.call(scope, place)
        rows = await self.database.run(scope, call.statement, call.values)
        return [Shown(one, text, Claim(**claim) if claim else None) for one, text, claim in rows]
