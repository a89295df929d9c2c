"""What memory answers: a prompt's block, and an answer with its evidence."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from uuid import UUID

from nicegui import events, ui

from idetic.errors import InputError, NotFound
from idetic.library.handles import Interaction, Memory, Session
from idetic.lifecycle.overview import OpenSession
from idetic.recall.context import Eviction
from idetic.surfaces.console import elements as el
from idetic.surfaces.console.markup import part, show
from idetic.surfaces.console.page_context import PageContext
from idetic.surfaces.console.wording import shortened, tail

_LIMIT = 20
_MOST = 50
_SENTENCE = 140
# More open sessions than anybody chooses from.
_OPEN_SESSIONS = 200
_WHY = {
    Eviction.BLOCK_BUDGET: "the budget of its tier is used up",
    Eviction.CEILING: "the budget of the whole text is used up",
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
    query = context.asked("q")
    show(
        "context_form.html",
        query=query,
        budget=context.asked("budget"),
        ceiling=context.spec.injection.ceiling,
        limit=context.asked("limit") or _LIMIT,
        most=_MOST,
        places=places,
        session=context.asked("session"),
    )
    if not query:
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
    ids = {each.entry_id for each in found.included} | {each.entry_id for each in found.evicted}
    titles = {entry_id: await sentence_of(memory, entry_id) for entry_id in ids}
    show("context.html", found=found, titles=titles, why=_WHY)


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
            "That session is not open, or belongs to another memory.",
            remedy="Choose an open session from the list.",
        )
    session_id, *interaction = map(UUID, asked.split("/"))
    session = memory.session(session_id)
    return session.interaction(*interaction) if interaction else session


async def sentence_of(memory: Memory, entry_id: UUID) -> str:
    """Return an entry's sentence in one line; the end of its id if it is gone."""
    try:
        return shortened((await memory.get(entry_id)).body_text, _SENTENCE)
    except NotFound:
        return tail(entry_id)


async def build_ask(context: PageContext) -> None:
    """Build the page to ask. A question goes through the socket, to stay out of addresses."""
    with el.card():
        el.text(
            "p",
            "An answer quotes entries of this memory, each with the strength of its source. "
            "Where no entry answers, memory says that it does not know.",
            "quiet",
        )
        with el.text("form", cls="asking") as form:
            attributes = {"id": "question", "autocomplete": "off", "maxlength": 2000}
            part("field", "Question", attributes, wide=True)
            part("submit", "Ask")
        place = el.text("div", cls="answer", aria_live="polite")

    async def ask(event: events.GenericEventArguments) -> None:
        """Answer a question below the form, with links for all but customers.

        A customer is told what is known, and nothing of how it is kept.
        """
        el.clear_notices()
        place.clear()
        answered = await (await context.memory()).ask(event.args)
        with place:
            linked = not context.customer
            show("answer.html", question=event.args, answered=answered, linked=linked)

    form.on("submit", ask, js_handler=_SEND_FIELD)
    ui.context.client.run_javascript("document.getElementById('question')?.focus()")
