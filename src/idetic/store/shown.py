"""What a session was shown, by its read receipts."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from psycopg import sql

from idetic.model import Claim, Place, Scope
from idetic.store import scope as scoping
from idetic.store import templates
from idetic.store.database import Database
from idetic.store.family import Family
from idetic.store.templates import raw

# A context of the largest ceiling holds fewer; beyond it the oldest entries are not compared with.
MOST = 500


@dataclass(frozen=True, slots=True)
class Shown:
    """An entry as it was put before a session."""

    entry_id: UUID
    text: str
    claim: Claim | None = None


class Showing:
    """Reads back what was put before sessions of one family."""

    def __init__(self, database: Database, family: Family):
        self._database = database
        self._names = family.names()

    def statement(self, scope: Scope, place: Place) -> str:
        """The look-up, for those who want to see how it runs."""
        text = raw(templates.query("queries/gateway.sql", "shown")).format(
            **self._names,
            **{f"scope_{alias}": scoping.predicate(scope, alias) for alias in ("m", "r")},
            session=sql.Literal(place.session_id),
            limit=sql.Literal(MOST),
        )
        return text.as_string(None)

    async def shown(self, scope: Scope, place: Place) -> list[Shown]:
        """The entries that were put before the place's session, the newest first."""
        rows = await self._database.run(scope, self.statement(scope, place))
        return [Shown(entry_id, text, Claim(**claim) if claim else None)
                for entry_id, text, claim in rows]  # fmt: skip
