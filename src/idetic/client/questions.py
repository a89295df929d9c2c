"""What every place can do from afar: observe, prefer, ask, list."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from idetic import wire
from idetic.client.line import Line
from idetic.errors import InputError
from idetic.model import Claim, Entry, Observation, Origin, Place, Receipt, Ref, Tier, Typology
from idetic.recall.context import Context
from idetic.recall.hits import Recall


@dataclass(frozen=True, slots=True)
class Page:
    """One page of entries, and where the next begins."""

    entries: tuple[Entry, ...]
    next_cursor: UUID | None


class RemotePlace:
    """A place in memory that a server holds: persistent memory, a session or an interaction."""

    def __init__(self, line: Line, place: Place):
        self._line = line
        self.place = place

    def _check_open(self) -> None:
        """Persistent memory is always open; sessions and interactions override this."""

    def _here(self, **body: Any) -> dict[str, Any]:
        place = self.place
        return {**body, "session_id": place.session_id, "interaction_id": place.interaction_id}

    async def observe(
        self,
        text: str,
        *,
        envelope: Mapping[str, Any] | None = None,
        refs: Iterable[Ref] = (),
        claim: Claim | None = None,
        provenance: Mapping[str, str] | None = None,
        valid_at: datetime | None = None,
        heard_from: Origin | None = None,
        typology: Typology = Typology.EPISODIC,
        idempotency_key: str | None = None,
    ) -> Receipt:
        """Write down what happened. Returns a durable receipt."""
        self._check_open()
        body = self._here(
            text=text,
            envelope=envelope,
            refs=listed(refs),
            claim=claim,
            provenance=provenance,
            valid_at=valid_at,
            heard_from=heard_from,
            typology=typology,
        )
        return await self._line.write("/v1/observations", Receipt, body, idempotency_key)

    async def observe_many(
        self, seen: Sequence[Observation], *, typology: Typology = Typology.EPISODIC
    ) -> list[Receipt]:
        """Write many observations in one transaction: all of them, but for what is refused."""
        self._check_open()
        body = self._here(observations=listed(seen), typology=typology)
        return await self._line.write("/v1/observations/batch", list[Receipt], body, None)

    async def prefer(
        self,
        text: str,
        *,
        claim: Claim | None = None,
        envelope: Mapping[str, Any] | None = None,
        refs: Iterable[Ref] = (),
        provenance: Mapping[str, str] | None = None,
        idempotency_key: str | None = None,
    ) -> Receipt:
        """State how to do things. A preference supersedes the one with the same claim key."""
        self._check_open()
        body = self._here(
            text=text, claim=claim, envelope=envelope, refs=listed(refs), provenance=provenance
        )
        return await self._line.write("/v1/preferences", Receipt, body, idempotency_key)

    async def prefer_many(self, stated: Sequence[Observation]) -> list[Receipt]:
        """State many preferences in one transaction: all of them, but for what is refused."""
        self._check_open()
        body = self._here(preferences=listed(stated))
        return await self._line.write("/v1/preferences/batch", list[Receipt], body, None)

    async def recall(  # noqa: PLR0913 - each filter by its own name
        self,
        query: str,
        *,
        limit: int = 10,
        envelope: Mapping[str, Any] | None = None,
        tiers: Sequence[Tier] = tuple(Tier),
        typologies: Sequence[Typology] = (),
        origins: Sequence[Origin] = (),
        min_trust: int = 0,
        as_of: datetime | None = None,
        include_archived: bool = False,
        include_candidates: bool = False,
        where: Mapping[str, Any] | None = None,
    ) -> Recall:
        """The best entries for a question. Each carries its explanation; see `explain`."""
        body = self._here(
            query=query,
            limit=limit,
            envelope=envelope,
            tiers=listed(tiers),
            typologies=listed(typologies),
            origins=listed(origins),
            min_trust=min_trust,
            as_of=as_of,
            include_archived=include_archived,
            include_candidates=include_candidates,
            where=where,
        )
        return await self._line.ask("/v1/recall", Recall, body)

    async def context(
        self,
        query: str,
        *,
        budget: int | None = None,
        limit: int = 20,
        envelope: Mapping[str, Any] | None = None,
        preview: bool = False,
    ) -> Context:
        """The prompt block for a question; the server counts its tokens, cautiously."""
        body = self._here(
            query=query, budget=budget, limit=limit, envelope=envelope, preview=preview
        )
        return await self._line.ask("/v1/context", Context, body)

    async def list(
        self,
        *,
        tier: Tier | None = None,
        typology: Typology | None = None,
        limit: int = 100,
        before: UUID | None = None,
        where: Mapping[str, Any] | None = None,
    ) -> list[Entry]:
        """The current view of this place, newest first; `before` is the last id of a page."""
        asked = self._here(tier=tier, typology=typology, limit=limit, cursor=before)
        asked["where"] = None if where is None else wire.as_json(where).decode()
        page = await self._line.read("/v1/entries", Page, asked)
        return [*page.entries]


def listed(values: Any) -> list[Any]:
    """Several values as JSON has them; one text is not several."""
    if isinstance(values, str | bytes) or not isinstance(values, Iterable):
        raise InputError(f"A {type(values).__name__} is not a list.")
    return list(values)
