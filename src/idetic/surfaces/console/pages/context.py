"""Context preview: what a question would put into a prompt, to the letter, and what gave way."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from starlette.requests import Request

from idetic.errors import InputError, NotFound
from idetic.library.handles import Interaction, Memory, Session
from idetic.lifecycle.overview import OpenSession
from idetic.recall.context import Context, Evicted, Eviction
from idetic.surfaces.console import notices, parts
from idetic.surfaces.console.addresses import at
from idetic.surfaces.console.desk import Desk
from idetic.surfaces.console.wording import shortened, tail, titled, words

LIMIT = 20
MOST = 50
# More open sessions than anybody chooses from.
OPEN = 200
_WHY = {
    Eviction.BLOCK_BUDGET: "its tier's share of the budget is used up",
    Eviction.CEILING: "the ceiling of the whole block is reached",
    Eviction.NOT_RECALLED: "this question does not recall it",
}


@dataclass(frozen=True)
class Asked:
    """A question and how much room it has, as typed."""

    query: str
    budget: str
    limit: str
    place: str

    def tokens(self) -> int | None:
        """The budget, if one was given."""
        return _number(self.budget) if self.budget else None

    def entries(self) -> int:
        """How many entries at most."""
        return min(max(_number(self.limit or str(LIMIT)), 1), MOST)


def _number(given: str) -> int:
    try:
        return int(given)
    except ValueError:
        raise InputError(
            "The budget and the number of entries are whole numbers.",
            remedy="Type digits only, or leave the field empty.",
        ) from None


async def build(desk: Desk, request: Request) -> None:
    """The page: a question and a budget; then the block."""
    names = ("q", "budget", "limit", "session")
    asked = Asked(*(request.query_params.get(name, "").strip() for name in names))
    memory = await desk.memory()
    places = {place: said for one in await memory.sessions(limit=OPEN) for place, said in _of(one)}
    _form(desk, asked, places)
    if not asked.query:
        parts.empty(
            "Nothing was asked yet.",
            "Ask what the agent would ask: the block it would be given appears here, word for "
            "word.",
        )
        return
    try:
        found = await _place(memory, asked, places).context(
            asked.query, budget=asked.tokens(), limit=asked.entries(), preview=True
        )
    except InputError as error:
        # The form stays, to be filled in better.
        notices.tell(error)
        return
    _account(found)
    with parts.card("The block"):
        parts.text("pre", found.text, "block", tabindex="0", aria_label="The block of the prompt")
    await _included(memory, found)
    await _left_out(memory, found)


def _of(session: OpenSession) -> Iterator[tuple[str, str]]:
    """The places of an open session: itself, and with each of its interactions."""
    opened = f"{session.opened_at:%m-%d %H:%M}, {session.opened_by}"
    yield str(session.id), f"{tail(session.id)}, {opened}"
    for interaction in session.interactions:
        said = f"{tail(session.id)}, thread {tail(interaction)}, {opened}"
        yield f"{session.id}/{interaction}", said


def _place(
    memory: Memory, asked: Asked, places: Mapping[str, str]
) -> Memory | Session | Interaction:
    """Where the question is asked: in an open session, in a thread of it, or outside of all."""
    if not asked.place:
        return memory
    if asked.place not in places:
        raise InputError(
            "That session is not open, or is not one of this memory.",
            remedy="Choose one of the list; what a closed one held is persistent by now, or gone.",
        )
    session, *interaction = map(UUID, asked.place.split("/"))
    found = memory.session(session)
    return found.interaction(*interaction) if interaction else found


def _form(desk: Desk, asked: Asked, places: Mapping[str, str]) -> None:
    ceiling = desk.spec.injection.ceiling
    with parts.card(), parts.asking(at("/context")):
        with parts.text("label", cls="field wide"):
            parts.text("span", "What would the agent ask?")
            parts.text("input", name="q", value=asked.query, required=True, id="query")
        parts.entry_field(
            "budget",
            f"Budget in tokens, at most {ceiling:,}",
            asked.budget,
            type="number",
            min="1",
            max=str(ceiling),
            placeholder=str(ceiling),
        )
        parts.entry_field(
            "limit",
            "Entries at most",
            asked.limit or str(LIMIT),
            type="number",
            min="1",
            max=str(MOST),
        )
        parts.choice("session", "In the session", {"": "none"} | dict(places), asked.place)
        parts.text("button", "Preview", "button primary", type="submit")
        said = "What is shown is recorded as read by you; to the session, nothing was shown."
        parts.text("p", said, "quiet small full")


def _account(found: Context) -> None:
    with parts.card("How it fits"):
        share = found.tokens / found.ceiling if found.ceiling else 0.0
        parts.bar("tokens", share, f"{found.tokens:,} of {found.ceiling:,}")
        if found.unknown:
            parts.notice("Memory does not know.", found.unknown, "warn")
        if found.not_used:
            with parts.text("details", cls="aside"):
                names = ", ".join(words(each.what) for each in found.not_used)
                parts.text("summary", f"Recalled without: {names}")
                for each in found.not_used:
                    said = f"{words(each.what).capitalize()}: {each.why}. {each.remedy}"
                    parts.text("p", said, "small")


async def _included(memory: Memory, found: Context) -> None:
    with parts.card("In it"):
        if not found.included:
            parts.empty("No entry is in the block.", "Ask otherwise, or give it more room.")
            return
        rows = [
            (partial(_entry, each.entry_id, await _said(memory, each.entry_id)),
             words(each.tier), f"{each.tokens:,}")
            for each in found.included
        ]  # fmt: skip
        parts.table(("Entry", "Tier", "Tokens"), rows, caption="Entries in the block")


async def _left_out(memory: Memory, found: Context) -> None:
    with parts.card("Left out"):
        if not found.evicted:
            parts.text("p", "Nothing had to give way.", "quiet")
            return
        rows = [(*await _cells(memory, each), _WHY[each.reason]) for each in found.evicted]
        parts.table(("Entry", "Tier", "Tokens", "Why"), rows, caption="Entries that gave way")


async def _cells(memory: Memory, each: Evicted) -> tuple[parts.Cell, str, str]:
    said = await _said(memory, each.entry_id)
    return partial(_entry, each.entry_id, said), words(each.tier), f"{each.tokens:,}"


async def _said(memory: Memory, entry_id: UUID) -> str:
    try:
        return titled(await memory.get(entry_id))
    except NotFound:
        return tail(entry_id)


def _entry(entry_id: UUID, said: str) -> None:
    parts.link(shortened(said), at(f"/entries/{entry_id}"))
