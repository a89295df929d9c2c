"""What memory answers: the block that a prompt would be given, and an answer with its evidence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from uuid import UUID

from nicegui import events, ui

from idetic.errors import InputError, NotFound
from idetic.library.answers import Answered
from idetic.library.handles import Interaction, Memory, Session
from idetic.lifecycle.overview import OpenSession
from idetic.recall.context import Evicted, Eviction, Included
from idetic.surfaces.console import elements as el
from idetic.surfaces.console.addresses import at
from idetic.surfaces.console.page_context import PageContext
from idetic.surfaces.console.wording import not_used, tail, titled, words

_LIMIT = 20
_MOST = 50
# More open sessions than anybody chooses from.
_OPEN_SESSIONS = 200
_WHY = {
    Eviction.BLOCK_BUDGET: "its tier's share of the budget is used up",
    Eviction.CEILING: "the ceiling of the whole block is reached",
    Eviction.NOT_RECALLED: "this question does not recall it",
}
_WRONG_NUMBER = (
    "The budget and the number of entries are whole numbers.",
    "Type digits only, or leave the field empty.",
)
# Sends the text of a form's only field over the socket.
_SEND_FIELD = "(event) => { event.preventDefault(); emit(event.target.elements[0].value); }"


async def build_context(context: PageContext) -> None:
    """Build the preview: a question and a budget; then the block, and what gave way."""
    memory = await context.memory()
    opened = await memory.sessions(limit=_OPEN_SESSIONS)
    places = {place: said for session in opened for place, said in _places(session)}
    _form(context, places)
    query = context.asked("q")
    if not query:
        el.empty(
            "Nothing was asked yet.",
            "Ask what the agent would ask: the block it would be given appears here, word for "
            "word.",
        )
        return
    try:
        budget = context.parsed("budget", int, *_WRONG_NUMBER)
        limit = context.parsed("limit", int, *_WRONG_NUMBER)
        place = _place(memory, context.asked("session"), places)
        limit = _LIMIT if limit is None else min(max(limit, 1), _MOST)
        found = await place.context(query, budget=budget, limit=limit, preview=True)
    except InputError as error:
        # The form stays, to be filled in better.
        el.tell_error(error)
        return
    with el.card("How it fits"):
        share = found.tokens / found.ceiling if found.ceiling else 0.0
        el.bar("tokens", share, f"{found.tokens:,} of {found.ceiling:,}")
        if found.unknown:
            el.notice("Memory does not know.", found.unknown, "warn")
        not_used("Recalled without", found.not_used)
    with el.card("The block"):
        el.text("pre", found.text, "block", tabindex="0", aria_label="The block of the prompt")
    included = await _rows(memory, found.included)
    nothing = ("No entry is in the block.", "Ask otherwise, or give it more room.")
    head = ("Entry", "Tier", "Tokens")
    el.table_card("In it", head, included, "Entries in the block", *nothing)
    with el.card("Left out"):
        if not found.evicted:
            el.text("p", "Nothing had to give way.", "quiet")
            return
        rows = await _rows(memory, found.evicted)
        el.table((*head, "Why"), rows, "Entries that gave way")


def _places(session: OpenSession) -> Iterator[tuple[str, str]]:
    """List an open session and each of its interactions, by value and label of a choice."""
    opened = f"{session.opened_at:%m-%d %H:%M}, {session.opened_by}"
    yield str(session.id), f"{tail(session.id)}, {opened}"
    for interaction in session.interactions:
        said = f"{tail(session.id)}, thread {tail(interaction)}, {opened}"
        yield f"{session.id}/{interaction}", said


def _place(memory: Memory, asked: str, places: Mapping[str, str]) -> Memory | Session | Interaction:
    """Return where the question is asked: in an open session, in a thread of it, or in neither."""
    if not asked:
        return memory
    if asked not in places:
        raise InputError(
            "That session is not open, or is not one of this memory.",
            remedy="Choose one of the list; what a closed one held is persistent by now, or gone.",
        )
    session_id, *interaction = map(UUID, asked.split("/"))
    session = memory.session(session_id)
    return session.interaction(*interaction) if interaction else session


def _form(context: PageContext, places: Mapping[str, str]) -> None:
    """Show the form: the question, the bounds of the block, and the session it is asked in."""
    ceiling = context.spec.injection.ceiling
    with el.card(), el.address_form(at("/context")):
        query, question = context.asked("q"), "What would the agent ask?"
        el.field(question, wide=True, name="q", value=query, required=True, id="query")
        label = f"Budget in tokens, at most {ceiling:,}"
        budget, limit = context.asked("budget"), context.asked("limit") or str(_LIMIT)
        number, most = partial(el.field, type="number", min="1"), str(ceiling)
        number(label, name="budget", value=budget, max=most, placeholder=most)
        number("Entries at most", name="limit", value=limit, max=str(_MOST))
        session = {"": "none"} | dict(places)
        el.choice("session", "In the session", session, context.asked("session"))
        el.submit("Preview")
        said = "What is shown is recorded as read by you; to the session, nothing was shown."
        el.text("p", said, "quiet small full")


async def _rows(memory: Memory, found: Sequence[Included | Evicted]) -> list[el.Row]:
    """Return the cells of entries in the block, or of those left out with the reason."""
    rows: list[el.Row] = []
    for each in found:
        try:
            said = titled(await memory.get(each.entry_id))
        except NotFound:
            said = tail(each.entry_id)
        entry = partial(el.link, said, at(f"/entries/{each.entry_id}"))
        why = (_WHY[each.reason],) if isinstance(each, Evicted) else ()
        rows.append((entry, words(each.tier), each.tokens, *why))
    return rows


async def build_ask(context: PageContext) -> None:
    """Build the page to ask. A question goes through the socket, to stay out of addresses."""
    with el.card():
        el.text(
            "p",
            "Answers quote what is remembered, with the strength of its source. "
            "What is not remembered is not answered.",
            "quiet",
        )
        with el.text("form", cls="asking") as form:
            label, most = "Question", "2000"
            el.field(label, wide=True, id="question", autocomplete="off", maxlength=most)
            el.submit("Ask")
        place = el.text("div", cls="answer", aria_live="polite")

    async def ask(event: events.GenericEventArguments) -> None:
        """Answer a question below the form, with links for all but customers."""
        el.clear_notices()
        place.clear()
        answered = await (await context.memory()).ask(event.args)
        with place:
            el.text("h2", event.args)
            _answer(answered, linked=not context.customer)

    form.on("submit", ask, js_handler=_SEND_FIELD)
    ui.context.client.run_javascript("document.getElementById('question')?.focus()")


def _answer(answered: Answered, *, linked: bool) -> None:
    """Show what was found. A customer is told what is known, and nothing of how it is kept."""
    if not answered.known:
        el.empty("I don't know.", "Nothing that is remembered speaks to this question.")
        return
    with el.text("ol", cls="evidence"):
        for each in answered.evidence:
            with el.text("li"):
                if each.hedge:
                    el.text("p", f"{each.hedge.rstrip(' .:')}:", "hedge")
                el.note(each.text)
                with el.row("small quiet"):
                    el.badge(words(each.strength))
                    with el.text("span"):
                        el.text("span", "noted ")
                        el.moment(each.noted_at)
                    if linked:
                        el.link("the entry", at(f"/entries/{each.entry_id}"))
