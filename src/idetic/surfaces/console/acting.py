"""Deciding in place: a reason and what can be decided; then what was done, and the way back."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial

from nicegui import events

from idetic.library.handles import Memory
from idetic.model import Capability, Receipt
from idetic.surfaces.console import notices, parts
from idetic.surfaces.console.desk import Desk

Given = Mapping[str, str]
Do = Callable[[Memory, Given], Awaitable[Receipt]]
Changed = Callable[[], Awaitable[None]]

# What a form holds, once the browser finds it complete.
WITH_FORM = (
    "(event) => { const form = event.currentTarget.form; "
    "if (form.reportValidity()) emit(Object.fromEntries(new FormData(form))); }"
)
STAY = "(event) => event.preventDefault()"
_BACK = "taken back at the console"
_LONGEST = 500


@dataclass(frozen=True)
class Act:
    """One thing that can be decided: its button, the verb behind it, and what to say afterwards."""

    said: str
    do: Do
    done: str
    cls: str = ""


class Decision:
    """The place where something is decided about one thing of a list."""

    def __init__(self, desk: Desk, acts: Sequence[Act], about: str, changed: Changed | None = None):
        self._desk = desk
        self._acts = acts
        self._about = about
        self._changed = changed
        self._place = parts.text("div", cls="decision")
        self._ask()

    def _ask(self) -> None:
        """The form. It is not sent by Enter: with several buttons nobody knows which one."""
        if not self._acts:
            return
        with self._place, parts.text("form", cls="asking", autocomplete="off") as form:
            form.on("submit", js_handler=STAY)
            reason_field(f"Reason, about {self._about}")
            for act in self._acts:
                button = parts.text("button", act.said, f"button {act.cls}", type="button")
                button.on("click", partial(self._act, act), js_handler=WITH_FORM)

    async def _act(self, act: Act, event: events.GenericEventArguments) -> None:
        given = dict(event.args)
        with self._working():
            receipt = await act.do(await self._desk.memory(), given)
        # The pressed button goes with the form: what follows is said from a place that stays.
        with self._place:
            self._place.clear()
            with parts.text("p", cls="done", role="status"):
                parts.text("strong", act.done)
                parts.text("span", f"{receipt.reason} · position {receipt.position}", "quiet")
                if self._desk.may(Capability.UNDO):
                    parts.button("Undo", partial(self._undo, receipt), "small")
            await self._told()

    async def _undo(self, receipt: Receipt) -> None:
        with self._working():
            await (await self._desk.memory()).undo(receipt, reason=_BACK)
        with self._place:
            self._place.clear()
            self._ask()
            notices.say("Taken back.", "It waits for a decision again; the ledger keeps both.")
            await self._told()

    async def _told(self) -> None:
        if self._changed is not None:
            await self._changed()

    @contextmanager
    def _working(self) -> Iterator[None]:
        """Buttons give way while something runs; if it fails they are there again."""
        notices.clear()
        self._place.classes("busy")
        try:
            yield
        finally:
            self._place.classes(remove="busy")


def reason_field(label: str) -> None:
    """Why: every decision has a reason, and the ledger keeps it."""
    with parts.text("label", cls="field wide"):
        parts.text("span", "Reason")
        parts.text(
            "input",
            name="reason",
            required=True,
            maxlength=str(_LONGEST),
            aria_label=label,
            placeholder="why, for the ledger",
        )
