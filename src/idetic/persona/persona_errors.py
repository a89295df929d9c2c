"""Errors of persona memory, each with its remedy."""

from __future__ import annotations

from idetic.errors import GateRefused, IdeticError, InputError, Refused, SpecError
from idetic.spec.problems import SpecInvalid


class EventRefused(InputError):
    """The event is not something the log can hold."""

    code = "event_refused"


class KindUnknown(EventRefused):
    """There is no such kind of event."""

    code = "kind_unknown"
    remedy = "Use one of the nine kinds that docs/reference/identity.md lists; nothing was written."


class MetadataReserved(EventRefused):
    """The metadata hold a key that only Idetic writes."""

    code = "metadata_reserved"
    remedy = "Name the key differently; nothing was written."


class EventsUnreadable(InputError):
    """The file of events cannot be read."""

    code = "events_unreadable"
    remedy = (
        "Give a file of JSON Lines, as docs/how-to/import-events.md describes it; events that were "
        "imported before stay, and importing again goes on from there."
    )


class IdentityError(SpecError):
    """The identity is not usable."""

    code = "identity"
    remedy = "Run `idetic persona check FILE` and follow the remedies."


class IdentityInvalid(SpecInvalid):
    """The identity has problems."""

    code = "identity_invalid"
    remedy = "Correct what is listed, then run `idetic persona check FILE`."


class IdentityChanged(IdentityError):
    """The identity file is no longer the version that the change was made for."""

    code = "identity_changed"
    remedy = "Load the identity again and repeat the change; nothing was written."
    http_status = 409


class NotTunable(Refused):
    """Only an identity's instructions may be tuned by the agent itself."""

    code = "not_tunable"
    remedy = "Have a person edit the identity file; the agent may change `instructions` alone."


class HygieneBroken(IdeticError):
    """A part of the Actor's prompt does not come from the Actor's view."""

    code = "hygiene"
    remedy = "Build the Actor's prompt from what the Actor's view returned; nothing was sent."
    http_status = 500


class PromptTooSmall(InputError):
    """The prompt's budget does not even hold the instructions and the task."""

    code = "prompt_too_small"
    remedy = "Raise `prompt_tokens` in the identity, or shorten the instructions or the task."


class TooManyRounds(IdeticError):
    """The model kept calling tools and gave no answer."""

    code = "too_many_rounds"
    remedy = "Raise `max_rounds`, or look at the loop's tool results for what it was missing."
    http_status = 502
    exit_code = 8


class ModelMalformed(IdeticError):
    """What the model replied is not a reply."""

    code = "model_malformed"
    remedy = "Return text, or a `ModelReply` with text or tool calls, from the `llm` callable."
    http_status = 502
    exit_code = 8


class NoteRefused(GateRefused):
    """The note overlaps with what the Subconscious remembers."""

    code = "note_refused"
    remedy = "Say what the Actor shall do, in words of its own; nothing was written."
