"""The tool `context`: the block of a prompt, with what other clients wrote and have not closed yet.

`context` itself shows a session what it holds, and persistent memory. Of a client that left without
a word, killed or not, the notes lie in a session that is open until its lease ends; whoever goes on
in its place is told of them too, as `recall` does.
"""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import replace
from uuid import UUID

from idetic.library.handles import Memory, Session
from idetic.lifecycle.entry_evidence import note_read
from idetic.model import Tier
from idetic.recall.context import Context
from idetic.recall.evidence import FOOTER, preamble, render, strength_of
from idetic.recall.floors import above_floors
from idetic.recall.hits import Hit
from idetic.surfaces.mcp.formatting import count
from idetic.surfaces.mcp.presenter import Arguments, CallContext

# What is said below a context: how much was left out, and why.
_NOTE = 100
_HEAD = "# other sessions that are open"


async def context_block(context: CallContext, given: Arguments) -> str:
    """Make a block for a prompt, within the bound of an answer."""
    most = context.bound - _NOTE
    place = context.sessions.reading(context.caller, given.pop("session_id", None))
    budget = min(given.pop("budget", most), most)
    made = await place.context(**given, budget=budget)
    others = await _elsewhere(place, made, given, budget - made.tokens)
    left = len(made.evicted)
    note = f"({left} entries did not fit or were not asked for; recall finds them.)" if left else ""
    known = _without_admission(made) if others else made.text
    return "\n".join(part for part in (known, others, note) if part)


async def _elsewhere(place: Memory | Session, made: Context, given: Arguments, room: int) -> str:
    """What other open sessions hold about a question, as much as there is room for.

    A conversation has none: what is said there is persistent at once.
    """
    if place.agent.spec.backend.conversation:
        return ""
    recalled = await place.recall(**given, tiers=[Tier.SESSION, Tier.INTERACTION])
    found, _ = above_floors(recalled)
    known = {one.entry_id for one in made.included} | {one.entry_id for one in made.evicted}
    shown, text = _fitting(place, [hit for hit in found or () if hit.entry.id not in known], room)
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
