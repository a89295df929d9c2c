"""What a model is shown of a verb's answer, where that is more than its JSON.

Each presenter runs one verb with the arguments a model sent, and returns lines it can read.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from idetic import wire
from idetic.errors import InputError
from idetic.library.runners import quoted_answer
from idetic.model import Observation, Tier
from idetic.recall.evidence import FOOTER, preamble, strength_of
from idetic.surfaces.mcp import formatting
from idetic.surfaces.mcp.contexts import context_block
from idetic.surfaces.mcp.forgetting import FORGET
from idetic.surfaces.mcp.formatting import paged, start_of
from idetic.surfaces.mcp.presenter import CURSOR, SESSION, Arguments, CallContext, Presenter
from idetic.verbs.arguments import MAX_HITS, MAX_PAGE
from idetic.verbs.declaration import Verb

_AGAIN = "call again with cursor={cursor}."


async def observe(context: CallContext, given: Arguments) -> str:
    """Write a note into the session."""
    named = given.pop("session_id", None)
    # Before a session is opened for it: what cannot be written leaves nothing behind.
    seen = Observation(**{**given, "refs": tuple(given.get("refs", ()))})
    context.caller.memory.check(seen, tier=Tier.SESSION)
    done, session_id = await context.sessions.write(
        context.caller, named, lambda session: session.observe(**given)
    )
    return formatting.receipt(done, session_id)


async def prefer(context: CallContext, given: Arguments) -> str:
    """State a preference, for good."""
    return formatting.receipt(await context.caller.memory.prefer(**given))


async def recall(context: CallContext, given: Arguments) -> str:
    """Quote the best entries."""
    memory, start = context.caller.memory, start_of(given.pop("cursor", None))
    found = await memory.recall(**given)
    if not found.hits:
        nothing = f"I don't know: nothing in {found.considered} entries answers that."
        return "\n".join(line for line in (nothing, formatting.not_used(found)) if line)
    shown = formatting.said if memory.agent.spec.backend.conversation else formatting.hit
    pieces = [shown(hit, number) for number, hit in enumerate(found.hits, start=1)]
    after = (FOOTER, formatting.known(found), formatting.not_used(found))
    foot = "\n".join(line for line in after if line)
    strengths = {strength_of(hit.entry, hit.strength) for hit in found.hits}
    head = preamble(memory.agent.spec.visibility.hedges, strengths).rstrip()
    return paged(pieces, context.bound, start=start, head=head, foot=foot, on=_AGAIN)


async def ask(context: CallContext, given: Arguments) -> str:
    """Answer as whoever asks may hear it."""
    return quoted_answer(await context.caller.memory.ask(**given))


async def explain(context: CallContext, given: Arguments) -> str:
    """Say where an entry comes from and how it ranks, or what an action rested on."""
    memory, start = context.caller.memory, start_of(given.get("cursor"))
    entry_id, action_id = given.get("entry_id"), given.get("action_id")
    if (entry_id is None) == (action_id is None):
        raise InputError(
            "Explain either an entry or an action.", remedy="Give entry_id or action_id, not both."
        )
    head = preamble(memory.agent.spec.visibility.hedges).rstrip()
    if action_id is not None:
        found = formatting.action(await memory.explain_action(action_id))
        return paged(found, context.bound, start=start, head=head, on=_AGAIN)
    entry = await memory.get(given["entry_id"])
    pieces = list(formatting.entry(entry))
    if given.get("query") is not None:
        ranked = await memory.recall(given["query"], limit=MAX_HITS)
        pieces += formatting.ranking(ranked, entry.id)
    pieces += formatting.history(await memory.history(entry.id))
    return paged(pieces, context.bound, start=start, head=head, on=_AGAIN)


async def contradictions(context: CallContext, given: Arguments) -> str:
    """List the operators' queue."""
    start = start_of(given.pop("cursor", None))
    found = await context.caller.memory.contradictions(**given, limit=MAX_PAGE)
    pieces = [formatting.contradiction(one) for one in found]
    if not pieces:
        return "No contradictions."
    head = f"{len(pieces)} contradictions."
    return paged(pieces, context.bound, start=start, head=head, on=_AGAIN)


async def close_session(context: CallContext, given: Arguments) -> str:
    """End a session, and say what came of it."""
    named, reason = given.get("session_id"), given.get("reason", "closed")
    done, session_id = await context.sessions.close(context.caller, named, reason)
    head, pieces = formatting.closed(done, session_id)
    return paged(pieces, context.bound, head=head, on="explain an entry to see its history.")


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

    async def as_json(context: CallContext, given: Arguments) -> str:
        answer = await context.caller.memory.bound(verb)(**given)
        return formatting.quoted(wire.as_json(answer).decode())

    return PRESENTERS.get(verb.name) or Presenter(as_json)
