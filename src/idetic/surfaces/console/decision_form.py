"""The form that decides something in place: a reason, its buttons, the outcome, and the undo."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from nicegui import events

from idetic.library.handles import Memory
from idetic.model import Capability, Receipt
from idetic.surfaces.console import elements as el
from idetic.surfaces.console.markup import part
from idetic.surfaces.console.page_context import PageContext

Changed = Callable[[], Awaitable[None]]
_UNDO_REASON = "taken back at the console"
_LONGEST_REASON = 500


@dataclass(frozen=True, slots=True)
class Choice:
    """One possible decision: its button, the call with its reason, and what to say afterwards."""

    label: str
    decide: Callable[[Memory, str], Awaitable[Receipt]]
    done: str
    cls: str = ""
    # What is erased cannot come back.
    for_good: bool = False


class DecisionForm:
    """The place where one thing of a list is decided; `changed` is called after each decision."""

    def __init__(
        self, context: PageContext, choices: Sequence[Choice], about: str, changed: Changed
    ):
        self._context = context
        self._choices = choices
        self._about = about
        self._changed = changed
        self._place = el.text("div", cls="decision")
        self._draw()

    def _draw(self) -> None:
        """Show the field for the reason and a button for each choice; nothing without choices."""
        if not self._choices:
            return
        # Not sent by Enter: with several buttons nobody knows which one that would be.
        with self._place, el.socket_form(autocomplete="off"):
            reason_field(f"Reason, about {self._about}")
            for choice in self._choices:
                el.socket_button(choice.label, partial(self._decide, choice), choice.cls)

    async def _decide(self, choice: Choice, event: events.GenericEventArguments) -> None:
        """Carry a choice out, and show its receipt in place of the form."""
        with self._working():
            receipt = await choice.decide(await self._context.memory(), event.args["reason"])
        # The pressed button goes with the form, so the outcome is told from the place around it.
        with self._place:
            self._place.clear()
            with el.text("p", cls="done", role="status"):
                el.text("strong", choice.done)
                el.text("span", f"{receipt.reason} · position {receipt.position}", "quiet")
                if self._context.may(Capability.UNDO) and not choice.for_good:
                    el.button("Undo", partial(self._undo, receipt), "small")
            await self._changed()

    async def _undo(self, receipt: Receipt) -> None:
        """Take a decision back, and show the form again."""
        with self._working():
            await (await self._context.memory()).undo(receipt, reason=_UNDO_REASON)
        with self._place:
            self._place.clear()
            self._draw()
            el.tell("Taken back.", "It waits for a decision again; the ledger keeps both.")
            await self._changed()

    @contextmanager
    def _working(self) -> Iterator[None]:
        """Hide the buttons while memory is called; if it fails they are there again."""
        el.clear_notices()
        self._place.classes("busy")
        try:
            yield
        finally:
            self._place.classes(remove="busy")


async def unchanged() -> None:
    """Leave the rest of a page as it is: a page without a list has nothing to draw anew."""


def reason_field(label: str) -> None:
    """Show the field for the reason: every decision has one, and the ledger keeps it."""
    attributes = {
        "name": "reason",
        "required": True,
        "maxlength": _LONGEST_REASON,
        "aria-label": label,
        "placeholder": "why, for the ledger",
    }
    part("field", "Reason", attributes, wide=True)
