"""Settings of a reasoner: which endpoint, by which key, and what one run may take."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path

from pydantic import BaseModel, ConfigDict, SecretStr

from idetic.engine import ReasonerFactory
from idetic.errors import InputError
from idetic.reason.caps import Caps, Meter, Prices
from idetic.reason.endpoint import Endpoint
from idetic.reason.openai_compatible import OpenAICompatible

_KEY_BYTES = 4096
_CAPS, _ENDPOINT = Caps(), Endpoint("any")


class SettingsPart(BaseModel):
    """Settings that belong together: frozen, no unknown keys."""

    model_config = ConfigDict(frozen=True, extra="forbid", protected_namespaces=())


class ReasonerSettings(SettingsPart):
    """Which endpoint reasons in the background, and what one run may take; without a model, none.

    Any server that speaks OpenAI's chat completions will do; without `base_url`, OpenAI's own.
    """

    model: str | None = None
    base_url: str | None = None
    key: SecretStr | None = None
    key_file: Path | None = None
    retries: int = _ENDPOINT.retries
    answer_tokens: int = _ENDPOINT.answer_tokens
    tokens_per_call: int = _CAPS.tokens_per_call
    tokens_per_run: int = _CAPS.tokens_per_run
    calls_per_run: int = _CAPS.calls_per_run
    seconds_per_call: float = _CAPS.seconds_per_call
    money_per_run: Decimal | None = None
    prompt_price: Decimal | None = None
    completion_price: Decimal | None = None

    def endpoint(self) -> Endpoint | None:
        """The endpoint, with the key from its file if one is named; None without a model."""
        return None if self.model is None else self._endpoint(self._key())

    def _endpoint(self, key: str | None) -> Endpoint:
        """The endpoint with a key, or with what the environment has for it."""
        return Endpoint(self.model or "", self.base_url, key, self.retries, self.answer_tokens)

    def meter(self) -> Meter:
        """A meter for one run: every run may take the same."""
        names = "tokens_per_call tokens_per_run calls_per_run seconds_per_call money_per_run"
        caps = Caps(**{name: getattr(self, name) for name in names.split()})
        prices = None
        if self.prompt_price is not None and self.completion_price is not None:
            prices = Prices(self.prompt_price, self.completion_price)
        return Meter(caps, prices)

    def factory(self) -> ReasonerFactory | None:
        """What makes the reasoner of a run; None without a model.

        The key is read for each run: one that was rotated holds from the next run on.
        """
        if self.model is None:
            return None
        return lambda: OpenAICompatible(*self.endpoint_and_meter())

    def endpoint_and_meter(self) -> tuple[Endpoint, Meter]:
        """What one run asks, and what it may take."""
        return self._endpoint(self._key()), self.meter()

    def check(self) -> None:
        """Refuse what could never reason, before anything waits for it."""
        # A key alone is no wish to reason: it may stand in the environment for a program's own.
        others = self.model_fields_set - {"key", "model"}
        if self.model is None and others:
            raise InputError(
                f"`reasoner.{min(others)}` is set without a model.",
                remedy="Set `reasoner.model` too, or neither.",
            )
        if self.key is not None and self.key_file is not None:
            raise InputError(
                "`reasoner.key` and `reasoner.key_file` are both set.", remedy="Keep one of them."
            )
        if (self.prompt_price is None) != (self.completion_price is None):
            raise InputError(
                "One of `reasoner.prompt_price` and `reasoner.completion_price` is not set.",
                remedy="Set both, for a million tokens each.",
            )
        if self.model is not None:
            self._endpoint(None)
        self.meter()

    def _key(self) -> str | None:
        """The key: what is set, or the first line of its file."""
        if self.key_file is None:
            return self.key.get_secret_value() if self.key else None
        try:
            with self.key_file.expanduser().open("rb") as file:
                lines = file.read(_KEY_BYTES).decode().split()
        except (OSError, ValueError) as error:
            why = (getattr(error, "strerror", None) or "it is no text").lower()
            raise InputError(
                f"The file of the reasoner's key, {str(self.key_file)!r}, cannot be read: {why}.",
                remedy="Correct `reasoner.key_file`, or let whoever runs this read it.",
            ) from None
        if len(lines) != 1:
            raise InputError(
                f"The file {str(self.key_file)!r} does not hold one key.",
                remedy="Write the reasoner's key into it, and nothing else.",
            )
        return lines[0]
