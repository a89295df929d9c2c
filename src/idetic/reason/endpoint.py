"""Which server a reasoner asks, for which model, with which key."""

from __future__ import annotations

import os
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from idetic.errors import InputError

from .errors import ReasonerUnavailable

KEY_VARIABLE = "IDETIC_REASONER_KEY"
_OPENAI_KEY_VARIABLE = "OPENAI_API_KEY"
_OPENAI = "https://api.openai.com/v1"


@dataclass(frozen=True, slots=True)
class Endpoint:
    """A server that speaks `POST /chat/completions`, and a model it serves.

    Without `base_url` it is OpenAI's own.
    """

    model: str
    base_url: str | None = None
    api_key: str | None = field(default=None, repr=False)
    """Without one, `IDETIC_REASONER_KEY`; for OpenAI's own server also `OPENAI_API_KEY`."""
    retries: int = 2
    """How often a call is repeated that met a limit, a fault of the server or silence."""
    answer_tokens: int = 1_500
    """The most an answer may take; raise it for models that think before they answer."""

    def __post_init__(self) -> None:
        if not isinstance(self.model, str) or not self.model.strip():
            raise InputError("A reasoner needs the name of a model.")
        if not _host(self.url):
            raise InputError(
                "base_url is not an address.",
                remedy="Give it whole, for example `http://localhost:11434/v1`.",
            )
        if "@" in urlsplit(self.url).netloc:
            raise InputError("base_url holds credentials.", remedy="Give the key as `api_key`.")
        if type(self.retries) is not int or not 0 <= self.retries <= 10:
            raise InputError("retries is a whole number from 0 to 10.")
        if type(self.answer_tokens) is not int or self.answer_tokens < 1:
            raise InputError("answer_tokens is a whole number above 0.")

    @property
    def url(self) -> str:
        """The base address that requests go to."""
        return self.base_url or _OPENAI

    @property
    def host(self) -> str:
        """The server as errors name it: no path and no credentials."""
        return _host(self.url)

    def key(self) -> str:
        """The key to send. OpenAI's is never taken from the environment for another server."""
        found = self.api_key or os.environ.get(KEY_VARIABLE)
        if not found and self.base_url is None:
            found = os.environ.get(_OPENAI_KEY_VARIABLE)
        if not found and self.base_url is None:
            raise ReasonerUnavailable(
                "There is no key for the reasoner.",
                remedy=f"Set {KEY_VARIABLE}, or give `base_url` for a server that needs no key.",
            )
        # Servers at home ask for no key, yet the SDK does.
        found = found or "none"
        if not (found.isascii() and found.isprintable()):
            raise InputError("The reasoner's key holds characters that no header can carry.")
        return found


def _host(url: str) -> str:
    try:
        parts = urlsplit(url)
        port = f":{parts.port}" if parts.port else ""
    except (ValueError, AttributeError, TypeError):
        return ""
    return f"{parts.hostname}{port}" if parts.scheme in ("http", "https") and parts.hostname else ""
