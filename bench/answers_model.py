"""The models that read and judge: one endpoint, one prompt, one meter each."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path
from string import Template
from typing import Self

from idetic.reason import (
    Caps,
    Chat,
    Endpoint,
    Meter,
    Prices,
    ReasonerMalformed,
    ReasonerRefused,
    Usage,
)

_PROMPTS = Path(__file__).parent / "answers_prompts"
_BETWEEN = "-----\n"
# A long run meets limits and faults: waits of 0.5 s, doubled each time, a minute in all.
_RETRIES = 7
# A wrong address is to be told at once.
_FIRST_RETRIES = 1
# Only money bounds a run: a whole set is millions of tokens.
_UNBOUNDED = 10**12


@dataclass(frozen=True, slots=True)
class Prompt:
    """A prompt of two messages, kept as a file in bench/answers_prompts."""

    name: str
    system: str
    user: Template

    @classmethod
    def read(cls, name: str) -> Self:
        """The prompt of this name."""
        text = (_PROMPTS / f"{name}.txt").read_text(encoding="utf-8")
        system, _, user = text.partition(_BETWEEN)
        return cls(name, system, Template(user))

    @property
    def digest(self) -> str:
        """What changes with any word of the prompt."""
        return hashlib.sha256((self.system + self.user.template).encode()).hexdigest()[:12]

    def messages(self, values: Mapping[str, str]) -> list[dict[str, str]]:
        """The prompt as a chat, with these values in it."""
        return [
            {"role": "system", "content": self.system},
            {"role": "user", "content": self.user.substitute(values)},
        ]


@dataclass(frozen=True, slots=True)
class Said:
    """What a model said, how long it took, and its tokens if the endpoint counted them."""

    text: str
    seconds: float
    prompt_tokens: int | None
    completion_tokens: int | None


@dataclass(frozen=True, slots=True)
class ModelSettings:
    """Which model reads or judges, and what its tokens cost."""

    role: str
    endpoint: Endpoint
    prices: Prices | None

    @property
    def name(self) -> str:
        """The model and its server, as reports name it."""
        return f"{self.endpoint.model} at {self.endpoint.host}"


class Model:
    """A model with its prompt; use it as `async with`. Its meter counts what it took."""

    def __init__(self, settings: ModelSettings, max_cost: Decimal | None):
        self.settings = settings
        self.prompt = Prompt.read(settings.role)
        caps = Caps(
            tokens_per_call=_UNBOUNDED,
            tokens_per_run=_UNBOUNDED,
            calls_per_run=_UNBOUNDED,
            money_per_run=max_cost,
            seconds_per_call=180.0,
        )
        self._meter = Meter(caps, settings.prices)
        self._chat = Chat(replace(settings.endpoint, retries=_RETRIES), self._meter)

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self._chat.close()

    @property
    def used(self) -> Usage:
        """What all requests took so far, repeats included."""
        return self._meter.used

    async def probe(self) -> Usage:
        """Ask for one word, so that a wrong key or address shows before anything else is done."""
        endpoint = replace(self.settings.endpoint, retries=_FIRST_RETRIES)
        async with Chat(endpoint, self._meter) as chat:
            # What refuses or thinks too long has answered: that is no matter of the address.
            with suppress(ReasonerRefused, ReasonerMalformed):
                await chat([{"role": "user", "content": "Reply with the word: ready"}])
        return self.used

    async def ask(self, **values: str) -> Said:
        """What the model says to its prompt with these values."""
        start = time.perf_counter()
        reply = await self._chat(self.prompt.messages(values))
        prompt, completion = reply.tokens or (None, None)
        return Said(reply.content.strip(), time.perf_counter() - start, prompt, completion)
