"""The form that decides about several entries of a queue at once: all of them or none."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from nicegui import events
from nicegui.elements.mixins.text_element import TextElement

from idetic.errors import InputError
from idetic.evidence import Outcome
from idetic.model import Capability, Receipt
from idetic.surfaces.console import elements as el
from idetic.surfaces.console.decision_form import UNDO_REASON, Changed, reason_field
from idetic.surfaces.console.page_context import PageContext

_TICKED = "(event) => emit(event.target.checked)"


@dataclass(frozen=True, slots=True)
class BulkChoice:
    """An outcome that several entries can have: its button, and which entries can have it."""

    label: str
    outcome: Outcome
    possible: frozenset[UUID]
    cls: str = ""


class BulkForm:
    """Boxes beside the entries of a list, and one form that decides about those that are ticked."""

    def __init__(self, context: PageContext, choices: Sequence[BulkChoice], changed: Changed):
        self._context = context
        self._choices = choices
        self._changed = changed
        self._ticked: dict[UUID, TextElement] = {}
        self._cards: dict[UUID, TextElement] = {}
        with el.card("Several at once", "bulk"):
            self._count = el.text("p", "", "quiet", role="status")
            with el.socket_form(autocomplete="off"):
                reason_field("Reason for all that are ticked")
                for choice in choices:
                    el.socket_button(choice.label, partial(self._decide, choice), choice.cls)
            keys = (
                "Keys: J and K go to the next and the last card, X ticks it, R goes to the reason."
            )
            el.text("p", keys, "quiet small")
            self._done = el.text("div", cls="decision")
        self._tell()

    def box(self, entry_id: UUID, card: TextElement, about: str) -> None:
        """Show the box of one entry, in the card that tells of it."""
        self._cards[entry_id] = card
        with el.text("label", cls="field check"):
            box = el.text("input", type="checkbox", aria_label=f"Tick: {about}")
            box.on("change", partial(self._tick, entry_id, box), js_handler=_TICKED)

    def _tick(self, entry_id: UUID, box: TextElement, event: events.GenericEventArguments) -> None:
        """Remember which entries are ticked."""
        if event.args:
            self._ticked[entry_id] = box
        else:
            self._ticked.pop(entry_id, None)
        self._tell()

    def _tell(self) -> None:
        """Say how many entries are ticked."""
        count = len(self._ticked)
        self._count.set_text("Tick entries below." if not count else f"{count} ticked.")

    async def _decide(self, choice: BulkChoice, event: events.GenericEventArguments) -> None:
        """Decide about all that are ticked, and hide their cards."""
        chosen = list(self._ticked)
        cannot = [one for one in chosen if one not in choice.possible]
        if not chosen or cannot:
            raise InputError(
                f"{len(cannot)} of the ticked entries cannot have this: {choice.label.lower()}."
                if cannot
                else "No entry is ticked.",
                remedy="Untick them, and press the button again." if cannot else "Tick some below.",
            )
        el.clear_notices()
        memory = await self._context.memory()
        receipts = await memory.dispose(chosen, choice.outcome, reason=event.args["reason"])
        self._show(chosen, shown=False)
        self._done.clear()
        with self._done, el.text("p", cls="done", role="status"):
            el.text("strong", f"{choice.label}: {len(receipts)} entries.")
            if self._context.may(Capability.UNDO):
                el.button("Undo all", partial(self._undo, chosen, receipts), "small")
        await self._changed()

    async def _undo(self, chosen: Sequence[UUID], receipts: Sequence[Receipt]) -> None:
        """Take all of one decision back, the last entry first, and show the cards again."""
        memory = await self._context.memory()
        for receipt in reversed(receipts):
            await memory.undo(receipt, reason=UNDO_REASON)
        self._done.clear()
        self._show(chosen, shown=True)
        with self._done:
            el.text("p", f"Undone: {len(receipts)} entries wait again.", "done", role="status")
        await self._changed()

    def _show(self, chosen: Sequence[UUID], *, shown: bool) -> None:
        """Show or hide the cards of some entries; their boxes are no longer ticked."""
        for entry_id in chosen:
            card = self._cards[entry_id]
            card.classes(remove="decided") if shown else card.classes("decided")
            if box := self._ticked.pop(entry_id, None):
                box.run_method("click")
            self._ticked.pop(entry_id, None)
        self._tell()


def choices_of(
    found: Mapping[UUID, Sequence[Outcome]], labels: Mapping[Outcome, tuple[str, str]]
) -> list[BulkChoice]:
    """Return the outcomes that entries of a list can have, in the order of their labels."""
    return [
        BulkChoice(label, outcome, possible, cls)
        for outcome, (label, cls) in labels.items()
        if (possible := frozenset(one for one, can in found.items() if outcome in can))
    ]
