"""The form that decides about several items of a queue at once."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from nicegui import events
from nicegui.elements.mixins.text_element import TextElement

from idetic.errors import InputError
from idetic.library.handles import Memory
from idetic.model import Capability, Receipt
from idetic.surfaces.console import elements as el
from idetic.surfaces.console.decision_form import (
    UNDO_REASON,
    Changed,
    Choice,
    DecisionForm,
    order_of,
    reason_field,
)
from idetic.surfaces.console.markup import part
from idetic.surfaces.console.page_context import PageContext

_TICK_ALL = (
    "() => document.querySelectorAll('.item:not(.decided) .choose input:not(:checked)')"
    ".forEach((box) => box.click())"
)
_TICKED = "(event) => emit(event.target.checked)"
_KEYS = (
    "Keys: J goes to the next entry and K to the one before, X ticks it, A ticks all, "
    "R goes to the reason, U undoes the last decision."
)
# How many cards a queue shows at first, and how many more each time. A card takes three reads and
# a form: with twenty, contradictions took three times as long to paint as the two of the demo.
LISTED = 10
# A position of the ledger names a quarantine, an id everything else.
ItemId = UUID | int


@dataclass(frozen=True, slots=True)
class QueueItem:
    """One thing that waits: what it is about, what may be decided, and what shows it."""

    id: ItemId
    about: str
    choices: Sequence[Choice]
    show: Callable[[], None]


def show_items(context: PageContext, items: Sequence[QueueItem], changed: Changed) -> None:
    """Show a card for each item with its form; above them the form for several at once."""
    bulk = None
    if sum(bool(item.choices) for item in items) > 1:
        bulk = BulkForm(context, items, changed)
    for item in items:
        with el.card(cls="item") as card:
            card.props("tabindex=-1")
            if bulk is not None:
                bulk.box(item, card)
            item.show()
            DecisionForm(context, item.choices, item.about, changed)


def show_more(context: PageContext, rest: bool) -> None:
    """Show the link to the rest of a queue, if there is any."""
    if rest:
        with el.row():
            more = context.again("/queues", shown=context.shown(LISTED) + LISTED)
            part("link", "Show more", more, "button")


class BulkForm:
    """Boxes beside the items of a list, and one form that decides about those that are ticked."""

    def __init__(self, context: PageContext, items: Sequence[QueueItem], changed: Changed):
        self._context = context
        self._changed = changed
        self._ticked: dict[ItemId, TextElement] = {}
        self._cards: dict[ItemId, TextElement] = {}
        # By the label of its button, what each item has of a choice.
        self._choices: dict[str, dict[ItemId, Choice]] = {}
        # The item with the most choices first: so the buttons stand in the order of its own.
        for item in sorted(items, key=lambda one: -len(one.choices)):
            for choice in item.choices:
                self._choices.setdefault(choice.label, {})[item.id] = choice
        with el.card("Several at once", "bulk"):
            with el.row():
                self._count = el.text("span", "", "quiet", role="status")
                every = el.text("button", "Tick all", "button small tick-all", type="button")
                every.on("click", js_handler=_TICK_ALL)
            with el.socket_form(autocomplete="off"):
                reason_field("Reason for all that are ticked")
                first = [next(iter(found.values())) for found in self._choices.values()]
                for one in sorted(first, key=order_of):
                    el.socket_button(one.label, partial(self._decide, one.label), one.cls)
            el.text("p", _KEYS, "quiet small keys")
            self._done = el.text("div", cls="decision")
        self._tell()

    def box(self, item: QueueItem, card: TextElement) -> None:
        """Show the box of one item, in the card that tells of it."""
        self._cards[item.id] = card
        with el.text("label", cls="field check choose"):
            box = el.text("input", type="checkbox", aria_label=f"Tick: {item.about}")
            el.text("span", "Tick")
            box.on("change", partial(self._tick, item.id, box), js_handler=_TICKED)

    def _tick(self, item_id: ItemId, box: TextElement, event: events.GenericEventArguments) -> None:
        """Remember which items are ticked."""
        if event.args:
            self._ticked[item_id] = box
        else:
            self._ticked.pop(item_id, None)
        self._tell()

    def _tell(self) -> None:
        """Say how many items are ticked."""
        count = len(self._ticked)
        self._count.set_text(f"{count} ticked." if count else "Tick the entries to decide about.")

    async def _decide(self, label: str, event: events.GenericEventArguments) -> None:
        """Decide about all that are ticked, and hide their cards."""
        chosen, possible = list(self._ticked), self._choices[label]
        cannot = [one for one in chosen if one not in possible]
        if not chosen or cannot:
            raise InputError(
                f"“{label}” is not possible for {len(cannot)} of the ticked entries."
                if cannot
                else "No entry is ticked.",
                remedy="Untick those that have no such button." if cannot else "Tick at least one.",
            )
        el.clear_notices()
        self._done.clear()
        memory, reason = await self._context.memory(), event.args["reason"]
        receipts: dict[ItemId, Receipt] = {}
        try:
            await self._decided(memory, {one: possible[one] for one in chosen}, reason, receipts)
        finally:
            # Where one by one was decided and one was refused, the others are decided all the same.
            if receipts:
                self._told(possible[chosen[0]], receipts)
                await self._changed()

    async def _decided(
        self,
        memory: Memory,
        choices: Mapping[ItemId, Choice],
        reason: str,
        receipts: dict[ItemId, Receipt],
    ) -> None:
        """Carry choices out and keep each receipt: all at once where that is possible."""
        together = next(iter(choices.values())).together
        if together is not None:
            ids = [one for one in choices if isinstance(one, UUID)]
            receipts.update(zip(ids, await together(memory, ids, reason), strict=True))
            return
        for item_id, choice in choices.items():
            decided = await choice.decide(memory, reason)
            receipts[item_id] = decided if isinstance(decided, Receipt) else decided.receipt

    def _told(self, choice: Choice, receipts: Mapping[ItemId, Receipt]) -> None:
        """Hide the cards of what was decided, and show what undoes it."""
        self._show(list(receipts), shown=False)
        with self._done, el.text("p", cls="done", role="status"):
            count = "1 entry" if len(receipts) == 1 else f"{len(receipts)} entries"
            el.text("strong", f"{choice.label}: {count}.")
            if self._context.may(Capability.UNDO) and not choice.final:
                el.button("Undo all", partial(self._undo, receipts), "small").props("data-undo")

    async def _undo(self, receipts: Mapping[ItemId, Receipt]) -> None:
        """Take all of one decision back, the last item first, and show the cards again."""
        memory = await self._context.memory()
        for receipt in reversed(list(receipts.values())):
            await memory.undo(receipt, reason=UNDO_REASON)
        self._done.clear()
        self._show(list(receipts), shown=True)
        with self._done:
            el.text("p", f"Undone: {len(receipts)} entries wait again.", "done", role="status")
        await self._changed()

    def _show(self, chosen: Sequence[ItemId], *, shown: bool) -> None:
        """Show or hide the cards of some items; their boxes are no longer ticked."""
        for item_id in chosen:
            card = self._cards[item_id]
            card.classes(remove="decided") if shown else card.classes("decided")
            if box := self._ticked.pop(item_id, None):
                box.run_method("click")
            self._ticked.pop(item_id, None)
        self._tell()
