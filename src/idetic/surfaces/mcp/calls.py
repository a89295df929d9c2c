"""What a model is shown of a verb's answer, where that is more than its JSON.

Each presenter runs one verb with the arguments a model sent, and returns lines it can read.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import replace
from typing import Any
from uuid import UUID

from idetic import wire
from idetic.errors import InputError
from idetic.library.handles import Memory, Session
from idetic.library.runners import quoted_answer
from idetic.lifecycle.entry_evidence import note_read
from idetic.model import Observation, Tier
from idetic.recall.context import Context
from idetic.recall.evidence import FOOTER, preamble, render, strength_of
from idetic.recall.floors import above_floors
from idetic.recall.hits import Hit
from idetic.surfaces.mcp import formatting
from idetic.surfaces.mcp.formatting import count, paged, start_of
from idetic.surfaces.mcp.presenter import (
    CURSOR,
    SESSION,
    Arguments,
    CallContext,
    Presenter,
    extra,
)
from idetic.verbs.arguments import MAX_HITS, MAX_PAGE, check_uuid
from idetic.verbs.declaration import Verb

_AGAIN = "call again with cursor={cursor}."


async def observe(context: CallContext, arguments: Arguments) -> str:
    """Write a note into the session."""
    named = arguments.pop("session_id", None)
    # Before a session is opened for it: what cannot be written leaves nothing behind.
    observation = Observation(**{**arguments, "refs": tuple(arguments.get("refs", ()))})
    context.caller.memory.check(observation, tier=Tier.SESSION)
    receipt, session_id = await context.sessions.write(
        context.caller, named, lambda session: session.observe(**arguments)
    )
    return formatting.receipt(receipt, session_id)


async def prefer(context: CallContext, arguments: Arguments) -> str:
    """State a preference, for good."""
    return formatting.receipt(await context.caller.memory.prefer(**arguments))


async def recall(context: CallContext, arguments: Arguments) -> str:
    """Quote the best entries."""
    memory, start = context.caller.memory, start_of(arguments.pop("cursor", None))
    recalled = await memory.recall(**arguments)
    if not recalled.hits:
        nothing = f"I don't know: nothing in {recalled.considered} entries answers that."
        return "\n".join(line for line in (nothing, formatting.not_used(recalled)) if line)
    shown = (
        formatting.conversation_hit if memory.agent.spec.backend.conversation else formatting.hit
    )
    pieces = [shown(hit, number) for number, hit in enumerate(recalled.hits, start=1)]
    after = (FOOTER, formatting.known(recalled), formatting.not_used(recalled))
    foot = "\n".join(line for line in after if line)
    strengths = {strength_of(hit.entry, hit.strength) for hit in recalled.hits}
    head = preamble(memory.agent.spec.visibility.hedges, strengths).rstrip()
    return paged(pieces, context.bound, start=start, head=head, foot=foot, on=_AGAIN)


async def ask(context: CallContext, arguments: Arguments) -> str:
    """Answer a question behind the gate of the principal that asks."""
    return quoted_answer(await context.caller.memory.ask(**arguments))


async def explain(context: CallContext, arguments: Arguments) -> str:
    """Say where an entry comes from and how it ranks, or what an action rested on."""
    memory, start = context.caller.memory, start_of(arguments.get("cursor"))
    entry_id, action_id = arguments.get("entry_id"), arguments.get("action_id")
    if (entry_id is None) == (action_id is None):
        raise InputError(
            "Explain either an entry or an action.", remedy="Give entry_id or action_id, not both."
        )
    head = preamble(memory.agent.spec.visibility.hedges).rstrip()
    if action_id is not None:
        explanation = formatting.action(await memory.explain_action(action_id))
        return paged(explanation, context.bound, start=start, head=head, on=_AGAIN)
    entry = await memory.get(arguments["entry_id"])
    pieces = list(formatting.entry(entry))
    if arguments.get("query") is not None:
        ranked = await memory.recall(arguments["query"], limit=MAX_HITS)
        pieces += formatting.ranking(ranked, entry.id)
    pieces += formatting.history(await memory.history(entry.id))
    return paged(pieces, context.bound, start=start, head=head, on=_AGAIN)


async def contradictions(context: CallContext, arguments: Arguments) -> str:
    """List the operators' queue."""
    start = start_of(arguments.pop("cursor", None))
    queue = await context.caller.memory.contradictions(**arguments, limit=MAX_PAGE)
    pieces = [formatting.contradiction(one) for one in queue]
    if not pieces:
        return "No contradictions."
    head = f"{len(pieces)} contradictions."
    return paged(pieces, context.bound, start=start, head=head, on=_AGAIN)


async def close_session(context: CallContext, arguments: Arguments) -> str:
    """End a session, and say what came of it."""
    named, reason = arguments.get("session_id"), arguments.get("reason", "closed")
    closed, session_id = await context.sessions.close(context.caller, named, reason)
    head, pieces = formatting.closed(closed, session_id)
    return paged(pieces, context.bound, head=head, on="explain an entry to see its history.")


# --- context: the block of a prompt, with what other sessions that are open hold ----------------

# `context` itself shows a session what it holds, and persistent memory. A client that was killed
# leaves its notes in a session that is open until its lease ends; whoever goes on in its place is
# shown them too, as `recall` does.

# Room for the note below a context: how much was left out, and why.
_NOTE = 100
_HEAD = "# other sessions that are open"


async def context_block(context: CallContext, arguments: Arguments) -> str:
    """Make a block for a prompt, within the bound of an answer."""
    most = context.bound - _NOTE
    place = context.sessions.reading(context.caller, arguments.pop("session_id", None))
    budget = min(arguments.pop("budget", most), most)
    made = await place.context(**arguments, budget=budget)
    others = await _elsewhere(place, made, arguments, budget - made.tokens)
    left = len(made.evicted)
    note = f"({left} entries did not fit or were not asked for; recall finds them.)" if left else ""
    known = _without_admission(made) if others else made.text
    return "\n".join(part for part in (known, others, note) if part)


async def _elsewhere(
    place: Memory | Session, made: Context, arguments: Arguments, room: int
) -> str:
    """What other open sessions hold about a question, as much as there is room for.

    A conversation has none: its words are persistent at once.
    """
    if place.agent.spec.backend.conversation:
        return ""
    recalled = await place.recall(**arguments, tiers=[Tier.SESSION, Tier.INTERACTION])
    hits, _ = above_floors(recalled)
    known = {one.entry_id for one in made.included} | {one.entry_id for one in made.evicted}
    shown, text = _fitting(place, [hit for hit in hits or () if hit.entry.id not in known], room)
    # Who reads across anchors leaves no receipts, as with `context` itself.
    if shown and None not in place.scope.anchor.values():
        await place.bound(note_read)(shown)
    return text


def _fitting(place: Memory | Session, hits: Collection[Hit], room: int) -> tuple[list[UUID], str]:
    """The best hits that fit, quoted as a context quotes, and their ids."""
    hedges = place.agent.spec.visibility.hedges
    shown: list[UUID] = []
    strengths = [strength_of(hit.entry, hit.strength) for hit in hits]
    lines = [preamble(hedges, strengths).rstrip(), _HEAD]
    room -= count("\n".join([*lines, FOOTER]))
    for hit in hits:
        quoted = replace(hit.entry, body_text=hit.excerpt)
        piece = render(quoted, hit.strength).rstrip()
        room -= count(piece)
        if room < 0:
            break
        shown.append(hit.entry.id)
        lines.append(piece)
    return shown, "\n".join([*lines, FOOTER]) if shown else ""


def _without_admission(made: Context) -> str:
    """A context's text without "I don't know": other sessions do know something."""
    admitted = f"I don't know: {made.unknown}."
    return "\n".join(line for line in made.text.split("\n") if line != admitted)


# --- forget: one entry, or with a confirmation everything; two verbs in one ---------------------

# What a model must repeat before a whole memory goes: it cannot be said by mistake.
CONFIRMATION = "forget everything"
_ASKED = "the user asked for it"


async def forget(context: CallContext, arguments: Arguments) -> str:
    """Empty one entry or the whole memory, for good."""
    memory, reason = context.caller.memory, arguments.get("reason", _ASKED)
    entry, everything = arguments.get("entry"), arguments.get("everything", False)
    if everything == (entry is not None):
        raise InputError(
            "Forget either one entry or everything.",
            remedy="Give entry, an id that recall shows, or everything=true; nothing was removed.",
        )
    if entry is not None:
        entry_id = check_uuid(entry, "entry")
        done = await memory.forget(entry_id, reason=reason, sources=arguments.get("sources", False))
        spared = "".join(f"\nstays, made of other things too: {one}" for one in done.spared)
        return f"Forgotten for good. {done}{spared}" if done.found else str(done)
    if arguments.get("confirm") != CONFIRMATION:
        raise InputError(
            "This deletes the whole memory; it cannot be undone.",
            remedy=f"Ask the user first; if they agree, call again with confirm={CONFIRMATION!r}. "
            "Nothing was removed.",
        )
    erased = await memory.erase_anchor(reason=reason)
    return f"Everything is forgotten for good. {erased}"


_OWN = (
    extra("entry", str | None, "An id that recall shows."),
    extra("sources", bool, "Also the words that it was drawn from.", False),
    extra("everything", bool, "Instead of entry: all of this memory.", False),
    extra("confirm", str | None, f"With everything: '{CONFIRMATION}', if the user agreed."),
)
# Whoever forgets for somebody else has a reason of their own, such as the number of a request.
FORGET = Presenter(forget, only=(), more=(*_OWN, extra("reason", str | None, "Why; kept.")))
FORGET_OWN = Presenter(forget, only=(), more=_OWN)

PRESENTERS: Mapping[str, Presenter] = {
    "observe": Presenter(observe, more=(SESSION,)),
    "prefer": Presenter(prefer),
    "recall": Presenter(recall, more=(CURSOR,)),
    "ask": Presenter(ask),
    "context": Presenter(context_block, more=(SESSION,)),
    "contradictions": Presenter(contradictions, more=(CURSOR,)),
    "close_scope": Presenter(close_session, more=(SESSION,)),
    "forget": FORGET,
}


def presenter_of(verb: Verb[..., Any]) -> Presenter:
    """How a verb is shown; by default its answer is quoted as JSON."""

    async def as_json(context: CallContext, arguments: Arguments) -> str:
        answer = await context.caller.memory.bound(verb)(**arguments)
        return formatting.quoted(wire.as_json(answer).decode())

    return PRESENTERS.get(verb.name) or Presenter(as_json)
