"""`transcript`: a conversation turn by turn, with what was recalled and written beside each."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID

from idetic.engine import Binding
from idetic.errors import NotFound
from idetic.model import Capability, Entry
from idetic.store.anchor_transaction import AnchorTransaction
from idetic.store.audit_rows import AUDIT
from idetic.verbs.arguments import Limit
from idetic.verbs.declaration import get, verb


@dataclass(frozen=True, slots=True)
class TranscriptTurn:
    """One turn, the entries recalled after it, and the entries made from it."""

    entry: Entry
    at: datetime
    recalled: tuple[Entry, ...] = ()
    written: tuple[Entry, ...] = ()


@dataclass(frozen=True, slots=True)
class Transcript:
    """A conversation: its turns, oldest first."""

    session_id: UUID
    turns: tuple[TranscriptTurn, ...]


@verb(
    capability=Capability.READ,
    whole_anchor=True,
    http=get("/sessions/{session_id}/transcript", "auditing"),
    command=None,
)
async def transcript(binding: Binding, session_id: UUID, *, limit: Limit = 200) -> Transcript:
    """Give a conversation turn by turn, with what was recalled and what was written from it."""
    silence = timedelta(minutes=binding.spec.tiers.session.lease_minutes or 0)
    async with binding.look() as tx:
        entries = await tx.plain_entries(AUDIT, "said", session=session_id, limit=limit)
        if not entries:
            raise NotFound("There is no such conversation in this scope, or nothing is left of it.")
        made = await _made_of(tx, [one.id for one in entries])
        # What was made of a turn is no turn itself; what of it stayed in the session sums it up.
        derived = {target for targets in made.values() for target in targets}
        summaries = derived & {one.id for one in entries}
        turns = sorted((one for one in entries if one.id not in derived), key=_moment)
        ends = (_moment(turns[0]), _moment(turns[-1]) + silence)
        receipts = await tx.ask(
            AUDIT, "shown_in", session=session_id, since=ends[0], until=ends[1], limit=limit
        )
        beside = derived - summaries | {entry_id for entry_id, _ in receipts}
        known = {one.id: one.entry for one in await tx.stored(beside)}
    recalled = _by_turn([_moment(one) for one in turns], receipts)
    return Transcript(
        session_id,
        tuple(
            TranscriptTurn(
                turn,
                _moment(turn),
                _current(known, recalled.get(number, ())),
                _current(known, made.get(turn.id, ())),
            )
            for number, turn in enumerate(turns)
        ),
    )


def _moment(entry: Entry) -> datetime:
    """When something was said: messages that come late keep their own time."""
    return entry.valid_at or entry.created_at


async def _made_of(tx: AnchorTransaction, ids: list[UUID]) -> dict[UUID, list[UUID]]:
    """What was made of each entry."""
    made: dict[UUID, list[UUID]] = {}
    for source, target in await tx.ask(AUDIT, "made_of", ids=ids):
        made.setdefault(source, []).append(target)
    return made


def _by_turn(
    moments: list[datetime], receipts: Iterable[tuple[UUID, datetime]]
) -> dict[int, list[UUID]]:
    """What was recalled, by the number of the turn that came before it; each entry once."""
    recalled: dict[int, list[UUID]] = {}
    for entry_id, at in receipts:
        here = recalled.setdefault(max(bisect_right(moments, at) - 1, 0), [])
        if entry_id not in here:
            here.append(entry_id)
    return recalled


def _current(known: dict[UUID, Entry], ids: Iterable[UUID]) -> tuple[Entry, ...]:
    """The entries that still say something, of some ids."""
    return tuple(known[one] for one in ids if one in known and known[one].deleted_at is None)
