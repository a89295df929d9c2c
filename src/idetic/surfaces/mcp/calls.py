"""What the tools do: each a call of the library, told in lines that a model can read."""

from __future__ import annotations

from dataclasses import dataclass

from idetic.errors import InputError
from idetic.lifecycle.contradicting import MAX_QUEUE
from idetic.model import Observation, Tier
from idetic.recall.evidence import FOOTER, HEADER
from idetic.surfaces.mcp import inputs, telling
from idetic.surfaces.mcp.holders import Held
from idetic.surfaces.mcp.paging import paged, start_of
from idetic.surfaces.mcp.sessions import Sessions
from idetic.verbs.arguments import MAX_HITS, check_uuid

_AGAIN = "call again with cursor={cursor}."
# What is said below a context: how much was left out, and why.
_CONTEXT_NOTE = 100


@dataclass(frozen=True, slots=True)
class Desk:
    """Where a call is answered: whose memory, the open sessions, how long an answer may be."""

    held: Held
    sessions: Sessions
    bound: int


async def observe(desk: Desk, given: inputs.Observe) -> str:
    """A note into the session."""
    seen = Observation(
        given.text,
        given.envelope,
        tuple(one.ref() for one in given.refs),
        None if given.claim is None else given.claim.noun(),
        given.provenance,
        inputs.moment(given.valid_at, "valid_at"),
        given.heard_from,
        given.idempotency_key,
    )
    # Before a session is opened for it: what cannot be written leaves nothing behind.
    desk.held.memory.check(seen, tier=Tier.SESSION)
    done, session_id = await desk.sessions.write(
        desk.held,
        given.session_id,
        lambda session: session.observe(
            seen.text,
            envelope=seen.envelope,
            refs=seen.refs,
            claim=seen.claim,
            provenance=seen.provenance,
            valid_at=seen.valid_at,
            heard_from=seen.heard_from,
            idempotency_key=seen.idempotency_key,
        ),
    )
    return telling.receipt(done, session_id)


async def prefer(desk: Desk, given: inputs.Prefer) -> str:
    """A preference, for good."""
    done = await desk.held.memory.prefer(
        given.text,
        claim=None if given.claim is None else given.claim.noun(),
        envelope=given.envelope,
        refs=[one.ref() for one in given.refs],
        idempotency_key=given.idempotency_key,
    )
    return telling.receipt(done)


async def recall(desk: Desk, given: inputs.RecallInput) -> str:
    """The best entries, quoted."""
    memory, start = desk.held.memory, start_of(given.cursor)
    found = await memory.recall(
        given.query,
        limit=given.limit,
        envelope=given.envelope,
        tiers=tuple(Tier) if given.tiers is None else given.tiers,
        min_trust=given.min_trust,
        as_of=inputs.moment(given.as_of, "as_of"),
    )
    hedges = memory.agent.spec.visibility.hedges
    if not found.hits:
        nothing = f"I don't know: nothing in {found.considered} entries answers that."
        return "\n".join(line for line in (nothing, telling.not_used(found)) if line)
    pieces = [telling.hit(hit, number, hedges) for number, hit in enumerate(found.hits, start=1)]
    foot = "\n".join(line for line in (FOOTER, telling.not_used(found)) if line)
    return paged(pieces, desk.bound, start=start, head=HEADER.rstrip(), foot=foot, on=_AGAIN)


async def ask(desk: Desk, given: inputs.Ask) -> str:
    """An answer as whoever asks may hear it."""
    answered = await desk.held.memory.ask(given.question)
    return f"{HEADER}{answered.text}" if answered.known else answered.text


async def build_context(desk: Desk, given: inputs.BuildContext) -> str:
    """A block for a prompt."""
    most = desk.bound - _CONTEXT_NOTE
    place = desk.sessions.reading(desk.held, given.session_id)
    budget = most if given.budget is None else min(given.budget, most)
    made = await place.context(given.query, budget=budget, envelope=given.envelope)
    left = len(made.evicted)
    note = f"({left} entries did not fit or were not asked for; recall finds them.)" if left else ""
    return "\n".join(part for part in (made.text, note) if part)


async def explain(desk: Desk, given: inputs.Explain) -> str:
    """Where an entry comes from and how it ranks, or what an action rested on."""
    memory, start = desk.held.memory, start_of(given.cursor)
    if (given.entry_id is None) == (given.action_id is None):
        raise InputError(
            "Explain either an entry or an action.", remedy="Give entry_id or action_id, not both."
        )
    head = HEADER.rstrip()
    if given.action_id is not None:
        told = await memory.explain_action(check_uuid(given.action_id, "action_id"))
        return paged(telling.action(told), desk.bound, start=start, head=head, on=_AGAIN)
    entry_id = check_uuid(given.entry_id, "entry_id")
    entry = await memory.get(entry_id)
    pieces = list(telling.entry(entry, memory.agent.spec.visibility.hedges))
    if given.query is not None:
        found = await memory.recall(given.query, limit=MAX_HITS)
        pieces += telling.ranking(found, entry_id)
    pieces += telling.history(await memory.history(entry_id))
    return paged(pieces, desk.bound, start=start, head=head, on=_AGAIN)


async def list_contradictions(desk: Desk, given: inputs.ListContradictions) -> str:
    """The operators' queue."""
    start = start_of(given.cursor)
    found = await desk.held.memory.contradictions(status=given.status, limit=MAX_QUEUE)
    pieces = [telling.contradiction(one) for one in found]
    if not pieces:
        return "No contradictions."
    return paged(pieces, desk.bound, start=start, head=f"{len(pieces)} contradictions.", on=_AGAIN)


async def close_session(desk: Desk, given: inputs.CloseSession) -> str:
    """The end of a session, and what came of it."""
    done, session_id = await desk.sessions.close(desk.held, given.session_id, given.reason)
    head, pieces = telling.closed(done, session_id)
    return paged(pieces, desk.bound, head=head, on="explain an entry to see its history.")
