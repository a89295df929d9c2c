"""`add`: a conversation goes into the log, and each message is memory from the next moment on.

Which messages belong together follows from their times: after a silence the next one begins another
conversation, which the log calls a loop. A message with an id or a time is written once, however
often it is delivered; one that comes late goes to the conversation that its time belongs to.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID, uuid5

from idetic.assistant.messages import Message, Messages, read_messages
from idetic.engine import Binding
from idetic.errors import IdempotencyConflict, Refused
from idetic.ids import uuid7
from idetic.model import Capability
from idetic.persona.events import Event, EventDraft, EventKind, EventValidation, Persona, Visibility
from idetic.persona.ltm_derivation import Derivation, Deriver
from idetic.persona.persona_stores import TRANSACTION_MAX, Common, PersonaStores
from idetic.recall.embedding import PATIENCE
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import Boundary
from idetic.store.log import HeldLog, LogStore
from idetic.verbs.declaration import McpTool, post, verb

# The name space of ids that are made of an application's own.
_NAMED = UUID("6f1c7a0e-52d3-5b0e-9d0c-6d7a5a5f0c11")
# So many messages have their vectors when `add` returns; of more, a worker makes the rest.
INLINE_MAX = 200

WORD_FOR_WORD = Derivation("verbatim-1", compact=lambda event: event.content)


@dataclass(frozen=True, slots=True)
class TurnReceipt:
    """The result of adding one message: its position in the log, and its entries in memory.

    `replayed` is True when it was there already; a long message has several entries.
    """

    at: datetime
    position: int
    conversation: UUID
    event_ids: tuple[UUID, ...]
    entry_ids: tuple[UUID, ...]
    replayed: bool = False


@verb(
    capability=Capability.OBSERVE,
    writes=True,
    operation="add",
    repeatable=True,
    http=post("/messages", "writing"),
    tool=McpTool(
        "Remember",
        "Keep what was said, word for word, and what follows from it. Pass a text, or messages "
        "with role and content.",
        name="remember",
        hidden=("at",),
    ),
    examples=('idetic add "I am allergic to peanuts." {scope}',),
    describes={
        "messages": "A text, or a list of messages with `role` and `content`.",
        "at": "When messages without a time of their own were sent.",
    },
)
async def add(
    binding: Binding,
    messages: Messages,
    *,
    speaker: str | None = None,
    at: datetime | None = None,
) -> list[TurnReceipt]:
    """Store a conversation: a text, messages of a chat API, or an exported chat.

    Recall finds each message from the next call on. A message with an `id` or a time is written
    once.
    """
    stores = conversation_log(binding)
    turns = [_drafts(binding, one) for one in read_messages(messages, speaker=speaker, at=at)]
    drafts = [draft for turn in turns for draft in turn]
    known: set[UUID] = set()
    for first in range(0, len(drafts), TRANSACTION_MAX):
        known |= await _record(stores, drafts[first : first + TRANSACTION_MAX])
    await _end_silent_conversations(stores)
    await _follow_up(binding, len(drafts) - len(known))
    return await _receipts(stores, turns, known)


def conversation_log(binding: Binding) -> PersonaStores:
    """The log of a spec that has one for a single persona, within this binding's scope."""
    engine, spec, scope = binding.engine, binding.spec, binding.scope
    if not spec.backend.conversation:
        raise Refused(
            f"The spec of {spec.agent} has no log of a conversation.",
            remedy="Use `assistant_agent`, or declare `backend.log` with `personas: [actor]`.",
        )
    tenant, user = (str(value) for value in list(scope.anchor.values())[:2])
    anchors, ingest = engine.anchors, engine.gates.at(Boundary.INGEST)
    common = Common(
        spec, engine.version, anchors.extensions, tenant, user, engine.clock, engine.recall.model,
        PATIENCE, Deriver(WORD_FOR_WORD, spec), ingest,
    )  # fmt: skip
    return PersonaStores(
        Persona.ACTOR,
        common,
        LogStore(anchors.database, anchors.family, anchors.entries, anchors.extensions, scope),
        engine.recall,
        engine.embedding,
        EventValidation(user, Persona.ACTOR, ingest),
    )


def silence(spec: MemorySpec) -> timedelta:
    """How long nothing is said until a conversation is over."""
    return timedelta(minutes=spec.tiers.session.lease_minutes)


async def embed_pending(binding: Binding) -> None:
    """Give what has no vector yet its own; without a model it is found by its words."""
    if await binding.engine.recall.profile() is not None:
        await binding.engine.embedding.pending(binding.scope)


async def _follow_up(binding: Binding, count: int) -> None:
    """What happens to new messages: their vectors now, the rest by a worker if there is one."""
    engine, tasks = binding.engine, ["extract"]
    if count <= INLINE_MAX or engine.embed_inline:
        await embed_pending(binding)
    else:
        tasks.append("embed")
    for task in tasks if not engine.embed_inline else ():
        await engine.queue.enqueue(binding.scope, task)


def _drafts(binding: Binding, message: Message) -> list[EventDraft]:
    """A message as events of the log; what tells it from others makes their ids."""
    anchor = "/".join(map(str, binding.scope.anchor.values()))
    told: dict[str, Any] = {"speaker": message.speaker} if message.speaker else {}
    drafts = []
    for number, part in enumerate(message.parts):
        known_by = message.id
        if known_by is None and message.at is not None:
            known_by = f"{message.at.isoformat()} {part.kind} {message.speaker} {part.text}"
        made = uuid7() if known_by is None else uuid5(_NAMED, f"{anchor} {number} {known_by}")
        aside = part.kind is EventKind.SYSTEM_EVENT
        seen = Visibility.INTERNAL if aside else Visibility.EXTERNAL
        drafts.append(EventDraft(part.kind, part.text, seen, told, message.at, made))
    return drafts


async def _record(stores: PersonaStores, drafts: Sequence[EventDraft]) -> set[UUID]:
    """Write some drafts in one transaction; which of them the log had already.

    The anchor is held from the look at its conversations on: of two messages that come at once, the
    second finds the conversation that the first began.
    """
    now = stores.common.clock.now()
    # Past the ingest gate before the anchor is held: of a long text that takes its time.
    checked = await stores.validation.events(drafts, uuid7, now)
    try:
        async with stores.store.hold(stores.common.clock) as held:
            rows = await held.events([event.id for event in checked])
            known = {event.id: event for event in map(stores.event, rows)}
            events = await _placed(stores, held, checked, known)
            await held.record(stores.common.version, stores.items(events))
    except IdempotencyConflict:
        raise IdempotencyConflict(
            "A message with this id and another text was added before.",
            remedy="Give a changed message an id of its own, and add it again.",
        ) from None
    return set(known)


async def _placed(
    stores: PersonaStores,
    held: HeldLog,
    events: Sequence[Event],
    known: Mapping[UUID, Event],
) -> list[Event]:
    """Each event once, in the conversation that its time belongs to."""
    gap = silence(stores.common.spec)
    moments = [event.ts for event in events]
    rows = await held.loops_between(min(moments) - gap, max(moments) + gap)
    conversations = [LoopSpan(*row) for row in rows]
    placed: dict[UUID, Event] = {}
    for event in events:
        before = known.get(event.id)
        # One that is known, as it was written: a repeat is then one.
        loop_id = before.loop_id if before else _conversation_at(conversations, event, gap)
        moment = before.ts if before else event.ts
        placed.setdefault(event.id, replace(event, loop_id=loop_id, ts=moment))
    return list(placed.values())


@dataclass(slots=True)
class LoopSpan:
    """A conversation of the log: its loop, and when it began and ended so far."""

    loop_id: UUID
    first: datetime
    last: datetime

    def silence_to(self, moment: datetime) -> timedelta:
        """How long nothing was said between it and a moment."""
        return max(self.first - moment, moment - self.last, timedelta())


def _conversation_at(known: list[LoopSpan], event: Event, gap: timedelta) -> UUID:
    """The conversation that an event belongs to: the nearest, or a new one after a silence."""
    near = min(known, key=lambda one: one.silence_to(event.ts), default=None)
    if near is None or near.silence_to(event.ts) >= gap:
        near = LoopSpan(event.loop_id, event.ts, event.ts)
        known.append(near)
    near.first, near.last = min(near.first, event.ts), max(near.last, event.ts)
    return near.loop_id


async def _end_silent_conversations(stores: PersonaStores) -> None:
    """Write the summary of each conversation that silence has ended."""
    before = stores.common.clock.now() - silence(stores.common.spec)
    for loop_id in await stores.store.ids("silent_loops", before=before):
        await stores.close_loop(loop_id)


async def _receipts(
    stores: PersonaStores, turns: Sequence[Sequence[EventDraft]], known: set[UUID]
) -> list[TurnReceipt]:
    """One receipt for each message that says something, in the order in which they came."""
    ids = [draft.id for turn in turns for draft in turn]
    events = {event.id: event for event in await stores.events("events", ids=ids)}
    mirrors = {row[0]: row[1] for row in await stores.store.rows("mirrors", ids=ids)}
    receipts = []
    for turn in turns:
        own = [events[draft.id] for draft in turn if draft.id is not None]
        entries = tuple(mirrors[event.id] for event in own if event.id in mirrors)
        place = (own[0].ts, own[0].position, own[0].loop_id)
        replayed = all(event.id in known for event in own)
        # What stands twice in one call was there when it came the second time.
        known = known | {event.id for event in own}
        receipts.append(TurnReceipt(*place, tuple(e.id for e in own), entries, replayed))
    return receipts
