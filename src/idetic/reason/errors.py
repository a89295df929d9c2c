"""What can go wrong with a reasoner, each with the way out.

No message holds a word of the entries: what a server or a model said is never quoted, because
either may repeat what it was given.
"""

from __future__ import annotations

from idetic.errors import IdeticError


class ReasonerError(IdeticError):
    """The reasoner did not do its part."""

    code = "reasoner"
    remedy = "Try again later, or go on without a reasoner: memory works without one."
    http_status = 502
    exit_code = 8


class ReasonerUnavailable(ReasonerError):
    """The reasoner could not be asked."""

    code = "reasoner_unavailable"
    remedy = "Check the model's name, `base_url` and the key, then try again."
    http_status = 503


class ReasonerMalformed(ReasonerError):
    """The reasoner's answer does not have the form that was asked for."""

    code = "reasoner_malformed"
    remedy = "Try again, or use a model that can answer in JSON; nothing was changed."


class ReasonerRefused(ReasonerError):
    """The reasoner declined to answer."""

    code = "reasoner_refused"
    remedy = "Look at the entries it was given, or use another model; nothing was changed."


class ReasonerLied(ReasonerError):
    """The reasoner's answer says something that the entries it cites do not."""

    code = "reasoner_lied"
    remedy = "Try again, or use a more capable model; nothing was changed."


class ReasonerCapped(ReasonerError):
    """The call would exceed a cap, so it was not made."""

    code = "reasoner_capped"
    remedy = "Raise the cap named above in `Caps`, or give the run fewer entries."
    http_status = 429
