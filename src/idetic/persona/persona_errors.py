"""Errors of persona memory, each with its remedy."""

from __future__ import annotations

from idetic.errors import GateRefused, IdeticError, InputError, Refused, SpecError
from idetic.spec.problems import SpecInvalid


class EventRefused(InputError, code="event_refused"):
    """The log cannot store this event."""


class KindUnknown(EventRefused, code="kind_unknown"):
    """There is no such kind of event."""

    remedy = "Use one of the nine kinds that docs/reference/identity.md lists; nothing was written."


class MetadataReserved(EventRefused, code="metadata_reserved"):
    """The metadata hold a key that only Idetic writes."""

    remedy = "Name the key differently; nothing was written."


class EventsUnreadable(InputError, code="events_unreadable"):
    """The file of events cannot be read."""

    remedy = (
        "Give a file of JSON Lines, as docs/how-to/import-events.md describes it; events that were "
        "imported before stay, and a second import continues after them."
    )


class IdentityError(SpecError, code="identity"):
    """The identity is not usable."""

    remedy = "Run `idetic persona check FILE` and follow the remedies."


class IdentityInvalid(SpecInvalid, code="identity_invalid"):
    """The identity has problems."""

    remedy = "Correct what is listed, then run `idetic persona check FILE`."


class IdentityChanged(IdentityError, code="identity_changed", http_status=409):
    """The identity file is no longer the version that the change was made for."""

    remedy = "Load the identity again and repeat the change; nothing was written."


class NotTunable(Refused, code="not_tunable"):
    """Only an identity's instructions may be tuned by the agent itself."""

    remedy = "Have a person edit the identity file; the agent may change `instructions` alone."


class HygieneBroken(IdeticError, code="hygiene", http_status=500):
    """A part of the Actor's prompt does not come from the Actor's view."""

    remedy = "Build the Actor's prompt from what the Actor's view returned; nothing was sent."


class PromptTooSmall(InputError, code="prompt_too_small"):
    """The instructions and the task do not fit into the prompt's budget."""

    remedy = "Raise `prompt_tokens` in the identity, or shorten the instructions or the task."


class TooManyRounds(IdeticError, code="too_many_rounds", http_status=502, exit_code=8):
    """The model kept calling tools and gave no answer."""

    remedy = "Raise `max_rounds`, or look at the loop's tool results for what it was missing."


class ModelMalformed(IdeticError, code="model_malformed", http_status=502, exit_code=8):
    """The model's reply has the wrong form."""

    remedy = "Return text, or a `ModelReply` with text or tool calls, from the `llm` callable."


class NoteRefused(GateRefused, code="note_refused"):
    """The note overlaps with what the Subconscious remembers."""

    remedy = "Say in other words what the Actor should do; nothing was written."
