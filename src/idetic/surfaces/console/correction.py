"""What somebody may change about one entry: confirm it, contradict it, edit it, forget it."""

from __future__ import annotations

from dataclasses import replace
from functools import partial
from uuid import UUID

from nicegui import events
from nicegui.elements.mixins.text_element import TextElement

from idetic.erasure import Erased
from idetic.evidence import Outcome
from idetic.library.handles import Memory
from idetic.model import Capability, Claim, Entry, Receipt, Tier, Typology
from idetic.spec.typology import WriteMode
from idetic.surfaces.console import elements as el
from idetic.surfaces.console.decision_form import Changed, Choice, DecisionForm
from idetic.surfaces.console.markup import part
from idetic.surfaces.console.page_context import PageContext
from idetic.surfaces.console.wording import titled, words

FORGET = "forget"
_DENIED = "What is not true is no longer recalled. The history keeps it, with your reason."
_FORGOTTEN = (
    "Forgetting removes the sentence and everything made of it, for good. The words that it rests "
    "on are entries of their own: forget those too if they are to go."
)


class Correction:
    """The forms about one entry, drawn when somebody asks for them; `changed` follows an edit.

    `said` is the place that shows the entry: it is emptied when the entry is forgotten.
    """

    def __init__(self, context: PageContext, entry: Entry, changed: Changed, said: TextElement):
        self._context = context
        self._said = said
        self._entry = entry
        self._changed = changed
        self._place = el.text("div", cls="correction")
        # Whether this login may change anything about the entry.
        self.offered = bool(self._choices() or self._editable() or context.may(Capability.ERASE))
        if self.offered:
            self._close()

    def _close(self) -> None:
        """Show the button that opens the forms."""
        self._place.clear()
        with self._place:
            said = f"Edit: {titled(self._entry)}"
            el.button("Edit", self._open, "small").props(f'aria-label="{_plain(said)}"')

    def _open(self) -> None:
        """Show the forms in place of the button."""
        context, entry = self._context, self._entry
        self._place.clear()
        with self._place:
            with el.text("div", cls="shown") as others:
                if self._editable():
                    self._edit_form()
                if choices := self._choices():
                    el.text("p", _DENIED, "quiet small")
                    DecisionForm(context, choices, titled(entry), _stay)

            async def forgotten() -> None:
                """Leave nothing of the entry on the page but the receipt."""
                others.clear()
                close.delete()
                self._said.clear()
                with self._said:
                    el.text("p", "This entry was forgotten.", "quiet")

            if context.may(Capability.ERASE):
                el.text("p", _FORGOTTEN, "quiet small")
                DecisionForm(context, [forget_choice(entry.id)], titled(entry), forgotten)
            close = el.button("Close", self._close, "small close")

    def _choices(self) -> list[Choice]:
        """Return what this login may decide about the entry, besides forgetting it."""
        context, entry, found = self._context, self._entry, []
        if entry.candidate and context.may(Capability.PROMOTE):
            confirm = partial(_dispose, entry.id, Outcome.PROMOTE)
            found.append(Choice("Confirm", confirm, "The entry is a fact now.", "primary"))
        elif context.spec.references.corroborations and context.may(Capability.CORROBORATE):
            confirm = partial(_dispose, entry.id, Outcome.RECORROBORATE)
            found.append(Choice("Confirm", confirm, "Confirmed.", "primary"))
        if entry.refs and context.may(Capability.CONTRADICT):
            against = partial(_contradict, entry)
            done = "The contradiction is in its queue now."
            found.append(Choice("Contradict", against, done))
        if context.may(Capability.ARCHIVE):
            wrong = partial(_archive, entry.id)
            found.append(Choice("It is not true", wrong, "It is no longer recalled.", "danger"))
        return found

    def _editable(self) -> bool:
        """Whether another value of the same claim may be stated in the entry's place."""
        context, entry = self._context, self._entry
        if entry.claim is None or entry.candidate or not context.whole:
            return False
        if entry.typology is Typology.PROCEDURAL:
            return context.may(Capability.PREFER)
        stated = context.spec.writes_of(Tier.PERSISTENT, entry.typology).mode
        return stated is WriteMode.EXPLICIT and context.may(Capability.OBSERVE)

    def _edit_form(self) -> None:
        """Show the sentence and its value, to be written anew."""
        claim = self._entry.claim
        if claim is None:
            return
        with el.socket_form(autocomplete="off"):
            told = {"name": "text", "value": self._entry.body_text, "required": True}
            part("field", "The sentence", {**told, "maxlength": 2000}, wide=True)
            label = f"Value of “{words(claim.attribute)}” of {claim.subject}"
            part("field", label, {"name": "value", "value": claim.value, "required": True})
            el.socket_button("Save the change", self._edit, "primary")
            corroborated = self._context.spec.references.corroborations
            if self._entry.typology is Typology.SEMANTIC and not corroborated:
                el.socket_button("Confirm as it is", self._confirm)

    async def _confirm(self, _event: events.GenericEventArguments) -> None:
        """State the same again, where no corroboration can: that is one more source."""
        entry, memory = self._entry, await self._context.memory()
        if entry.claim is None:
            return
        el.clear_notices()
        await memory.fact(entry.body_text, entry.claim)
        with self._place:
            el.tell("Confirmed.", "Your statement is one more source of this fact.")
            await self._changed()

    async def _edit(self, event: events.GenericEventArguments) -> None:
        """State the new sentence; what held before ends and stays as history."""
        entry, given = self._entry, event.args
        memory = await self._context.memory()
        if entry.claim is None:
            return
        claim = replace(entry.claim, value=given["value"].strip())
        el.clear_notices()
        await _state(memory, entry, given["text"].strip(), claim)
        with self._place:
            el.tell("Changed.", "The former sentence is kept as history. It is not recalled.")
            await self._changed()


async def _state(memory: Memory, entry: Entry, text: str, claim: Claim) -> Receipt:
    """State a claim anew, the way that entries of its kind are stated."""
    if entry.typology is Typology.PROCEDURAL:
        return await memory.prefer(text, claim=claim)
    return await memory.fact(text, claim)


def forget_choice(entry_id: UUID) -> Choice:
    """Return the choice that empties an entry for good."""
    done = "The entry is forgotten for good."
    return Choice("Forget", partial(_forget, entry_id), done, "danger", typed=FORGET)


async def _forget(entry_id: UUID, memory: Memory, reason: str) -> Erased:
    return await memory.forget(entry_id, reason=reason)


async def _dispose(entry_id: UUID, outcome: Outcome, memory: Memory, reason: str) -> Receipt:
    return (await memory.dispose([entry_id], outcome, reason=reason))[0]


async def _contradict(entry: Entry, memory: Memory, reason: str) -> Receipt:
    return await memory.contradict(entry.id, entry.refs[0], reason=reason)


async def _archive(entry_id: UUID, memory: Memory, reason: str) -> Receipt:
    return await memory.archive(entry_id, reason=reason)


async def _stay() -> None:
    """Leave the rest of the page as it is; the form itself shows what was done."""


def _plain(said: str) -> str:
    """Return a text without what ends an attribute."""
    return said.replace('"', "'").replace("\\", "")
