"""Asking: recall and context, from any place in memory."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import StrEnum
from typing import Any

from idetic.errors import EnvelopeRefused, InputError
from idetic.gateway.binding import require
from idetic.gateway.content import MAX_LIST, check_scalar, check_text
from idetic.gateway.write_items import check_moment
from idetic.library.rooms import Rooms
from idetic.model import Capability, Entry, Origin, Place, Scope, Tier, Typology
from idetic.recall.context import Context, assemble
from idetic.recall.engine import Filters
from idetic.recall.hits import Recall
from idetic.recall.tokens import ConservativeCounter, TokenCounter
from idetic.spec.memory_spec import MemorySpec

MAX_HITS = 200
MAX_QUERY = 10_000
MAX_TRANSIENT = 500


class Questions:
    """The asking side of a handle."""

    def __init__(self, spec: MemorySpec, rooms: Rooms, scope: Scope, place: Place):
        self._spec = spec
        self._rooms = rooms
        self.scope = scope
        self.place = place

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
        """The best entries for a question. Each carries its explanation; see `explain`.

        `envelope` ranks: the more of it an entry matches, the better. `where` excludes: only
        entries that match every key of it are looked at.
        """
        require(self._spec, self.scope, Capability.READ)
        check_text(query, MAX_QUERY, "query")
        if type(limit) is not int or not 1 <= limit <= MAX_HITS:
            raise InputError(f"limit is a whole number from 1 to {MAX_HITS}.")
        if type(min_trust) is not int or not 0 <= min_trust <= 100:
            raise InputError("min_trust is a whole number from 0 to 100.")
        check_moment(as_of, "as_of")
        filters = Filters(
            _members(Tier, tiers, "tiers"),
            _members(Typology, typologies, "typologies"),
            _members(Origin, origins, "origins"),
            min_trust,
            as_of,
            bool(include_archived),
            bool(include_candidates),
            self._about(where),
        )
        about = self._about(envelope)
        return await self._rooms.engine.recall(
            self.scope, query, limit=limit, envelope=about, filters=filters
        )

    async def context(
        self,
        query: str,
        *,
        budget: int | None = None,
        limit: int = 20,
        envelope: Mapping[str, Any] | None = None,
        counter: TokenCounter | None = None,
        preview: bool = False,
    ) -> Context:
        """The prompt block for a question: quoted evidence within one absolute ceiling.

        What this session and interaction hold is always in it; persistent memory as recalled.
        What was put before the agent is recorded as read; what did not fit is in `evicted`.
        With `preview` it is recorded as read by whoever asks and not as shown to the session, for
        which then nothing has happened: no echo comes of it, and its lease runs on.
        """
        recall = await self.recall(query, limit=limit, envelope=envelope, tiers=[Tier.PERSISTENT])
        context = assemble(
            self._spec,
            query=query,
            transient=await self._transient(),
            recall=recall,
            counter=counter or ConservativeCounter(),
            budget=budget,
        )
        if all(value is not None for value in self.scope.anchor.values()):
            read = [entry.entry_id for entry in context.included]
            place = Place() if preview else self.place
            await self._rooms.embeddings.read(self.scope, place, read, self._rooms.clock.now())
        return context

    async def _transient(self) -> dict[Tier, list[Entry]]:
        """What the enclosing session and interaction hold now, newest first."""
        found: dict[Tier, list[Entry]] = {}
        for tier, scope_id in (
            (Tier.SESSION, self.place.session_id),
            (Tier.INTERACTION, self.place.interaction_id),
        ):
            if scope_id is not None:
                found[tier] = await self._rooms.entries.current(
                    self.scope,
                    tier=tier.value,
                    typology=None,
                    limit=MAX_TRANSIENT,
                    before=None,
                    session_id=self.place.session_id,
                    interaction_id=scope_id if tier is Tier.INTERACTION else None,
                )
        return found

    def _about(self, envelope: Mapping[str, Any] | None) -> Mapping[str, Any]:
        """A question's envelope names declared keys; a value may be one or several."""
        if envelope is not None and not isinstance(envelope, Mapping):
            raise EnvelopeRefused("The envelope of a question is a mapping.")
        for key, value in (envelope or {}).items():
            if key not in self._spec.retrieval.envelope:
                known = ", ".join(sorted(self._spec.retrieval.envelope)) or "none"
                raise EnvelopeRefused(
                    f"The envelope key {key!r} is not declared.", remedy=f"Declared keys: {known}."
                )
            parts = value if isinstance(value, list | tuple) else [value]
            if len(parts) > MAX_LIST:
                raise EnvelopeRefused(f"envelope.{key} has at most {MAX_LIST} values.")
            for part in parts:
                check_scalar(key, part)
        return envelope or {}


def _members(kind: type[StrEnum], values: Any, what: str) -> tuple[Any, ...]:
    try:
        return tuple(kind(value) for value in values)
    except (TypeError, ValueError):
        raise InputError(f"{what} is a list of: {', '.join(kind)}.") from None
