"""The form that decides something in place: a reason, its buttons, the outcome, and the undo.

What cannot be undone is confirmed by a word that is typed, and answered with a receipt to keep.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Any, TypeAlias
from uuid import UUID

from nicegui import events, ui

from idetic.erasure import Erased, ErasedAnchor
from idetic.errors import InputError
from idetic.library.handles import Memory
from idetic.model import Capability, Receipt, plain
from idetic.surfaces.console import elements as el
from idetic.surfaces.console.markup import part
from idetic.surfaces.console.page_context import PageContext

Changed = Callable[[], Awaitable[None]]
Decided: TypeAlias = Receipt | Erased | ErasedAnchor
UNDO_REASON = "undone at the console"
_LONGEST_REASON = 500
# What is mostly decided stands first, and what takes something away last.
_ORDER = {"primary": 0, "": 1, "danger": 2}


@dataclass(frozen=True, slots=True)
class Choice:
    """One possible decision: its button, the call with its reason, and what to say afterwards.

    `typed` is the word that confirms what cannot come back; `final` says that it cannot, and needs
    no word. `together` decides about several at once, all of them or none.
    """

    label: str
    decide: Callable[[Memory, str], Awaitable[Decided]]
    done: str
    cls: str = ""
    typed: str = ""
    final: bool = False
    together: Callable[[Memory, Sequence[UUID], str], Awaitable[Sequence[Receipt]]] | None = None


def order_of(choice: Choice) -> int:
    """Return the place of a choice's button among the others."""
    return _ORDER[choice.cls]


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
            for word in filter(None, {choice.typed for choice in self._choices}):
                part("field", f"Type “{word}” to confirm", {"name": "typed", "autocomplete": "off"})
            for choice in sorted(self._choices, key=order_of):
                el.socket_button(choice.label, partial(self._decide, choice), choice.cls)

    async def _decide(self, choice: Choice, event: events.GenericEventArguments) -> None:
        """Carry a choice out, and show its receipt in place of the form."""
        if choice.typed and event.args.get("typed", "").strip() != choice.typed:
            raise InputError(
                "Nothing was changed, because the word that confirms it is missing.",
                remedy=f"Type “{choice.typed}” into the field beside the button.",
            )
        with self._working():
            decided = await choice.decide(await self._context.memory(), event.args["reason"])
        receipt = decided if isinstance(decided, Receipt) else decided.receipt
        # The pressed button goes with the form, so the outcome is told from the place around it.
        with self._place:
            self._place.clear()
            with el.text("p", cls="done", role="status"):
                el.text("strong", choice.done)
                said = receipt.reason if decided is receipt else str(decided)
                el.text("span", f"{said} · ledger position {receipt.position}", "quiet")
                if choice.typed:
                    el.button("Save the receipt", partial(_save, decided, receipt), "small")
                elif self._context.may(Capability.UNDO) and not choice.final:
                    el.button("Undo", partial(self._undo, receipt), "small").props("data-undo")
            await self._changed()

    async def _undo(self, receipt: Receipt) -> None:
        """Take a decision back, and show the form again."""
        with self._working():
            await (await self._context.memory()).undo(receipt, reason=UNDO_REASON)
        with self._place:
            self._place.clear()
            self._draw()
            el.tell("Undone.", "The entry is as it was before. The ledger keeps both steps.")
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


def _save(decided: Decided, receipt: Receipt) -> None:
    """Have the browser save a receipt."""
    download(f"receipt-{receipt.id}.json", plain(decided))


def download(name: str, data: Any) -> None:
    """Have the browser save data as a JSON file."""
    ui.download.content(json.dumps(data, indent=2, default=str), name, "application/json")


async def unchanged() -> None:
    """Leave the rest of a page as it is: a page without a list has nothing to draw anew."""


def reason_field(label: str) -> None:
    """Show the field for the reason: every decision has one, and the ledger keeps it."""
    attributes = {
        "name": "reason",
        "required": True,
        "maxlength": _LONGEST_REASON,
        "aria-label": label,
        "placeholder": "Why? The ledger keeps this reason.",
    }
    part("field", "Reason", attributes, wide=True)
