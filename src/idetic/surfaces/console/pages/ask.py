"""Ask: a hedged answer with its evidence, as the audience of whoever asks may hear it."""

from __future__ import annotations

from nicegui import ui
from starlette.requests import Request

from idetic.library.answers import Answered, AnswerEvidence
from idetic.surfaces.console import notices, parts
from idetic.surfaces.console.addresses import at
from idetic.surfaces.console.desk import Desk
from idetic.surfaces.console.wording import words


async def build(desk: Desk, _: Request) -> None:
    """The page. A question goes through the socket, so that it stays out of addresses."""
    with parts.card():
        parts.text(
            "p",
            "Answers quote what is remembered, with the strength of its source. "
            "What is not remembered is not answered.",
            "quiet",
        )
        typed = {"question": ""}
        with parts.text("form", cls="asking") as form:
            with parts.text("label", cls="field wide"):
                parts.text("span", "Question")
                field = parts.text("input", id="question", autocomplete="off", maxlength="2000")
            parts.text("button", "Ask", "button primary", type="submit")
        field.on(
            "input",
            lambda event: typed.update(question=event.args),
            js_handler="(event) => emit(event.target.value)",
        )
        shown = parts.text("div", cls="answer", aria_live="polite")

    async def ask() -> None:
        notices.clear()
        shown.clear()
        answered = await (await desk.memory()).ask(typed["question"])
        with shown:
            _answer(desk, typed["question"], answered)

    form.on("submit.prevent", ask)
    ui.context.client.run_javascript("document.getElementById('question')?.focus()")


def _answer(desk: Desk, question: str, answered: Answered) -> None:
    parts.heading(question)
    if not answered.known:
        parts.empty("I don't know.", "Nothing that is remembered speaks to this question.")
        return
    with parts.text("ol", cls="evidence"):
        for each in answered.evidence:
            with parts.text("li"):
                _evidence(desk, each)


def _evidence(desk: Desk, evidence: AnswerEvidence) -> None:
    if evidence.hedge:
        parts.text("p", f"{evidence.hedge.rstrip(' .:')}:", "hedge")
    parts.note(evidence.text)
    with parts.row("small quiet"):
        parts.badge(words(evidence.strength))
        with parts.text("span"):
            parts.text("span", "noted ")
            parts.moment(evidence.noted_at)
        # A customer is told what is known, and nothing of how it is kept.
        if not desk.customer:
            parts.link("the entry", at(f"/entries/{evidence.entry_id}"))
