"""Settings of a running system: a file, then the environment, then options, the strongest.

A field of `Settings` is all there is to a setting: its path is the key in a file and of `--set`,
and names its environment variable. What a value is good for stands beside it, here: the parts that
`Idetic.open` is given, and what holds for the whole process.
"""

from __future__ import annotations

import os
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, nullcontext
from dataclasses import dataclass, field
from decimal import Decimal
from importlib.util import find_spec
from pathlib import Path
from typing import Annotated, Any, Literal, TypedDict

from pydantic import Field, SecretStr, ValidationError

from idetic import telemetry
from idetic.embed.files import MODEL_VARIABLE
from idetic.engine import ExtractorFactory, ReasonerFactory
from idetic.errors import InputError
from idetic.extract.model_extractor import ModelExtractor
from idetic.extract.port import Extraction, Extractor, Turn
from idetic.library.reasoner_settings import ReasonerSettings, SettingsPart
from idetic.library.webhook import WebhookSettings
from idetic.lifecycle.outbox import ProposalReceiver
from idetic.reason.openai_compatible import OpenAICompatible
from idetic.reason.port import ReasonerUnavailable
from idetic.recall.floors import FloorOverride
from idetic.recall.rerank import Reranker, RerankerError

SET = "--set"
# Variables that had their names before they were settings; any other is made of its key.
_VARIABLES = {"embedder": MODEL_VARIABLE, "sentry_dsn": "SENTRY_DSN"}
# What nobody may type: everybody on a machine can read a command's arguments.
_NEVER_TYPED = ("reasoner.key", "webhook.secret")


Floor = Annotated[float, Field(ge=0, lt=1, allow_inf_nan=False)]


class FloorSettings(SettingsPart):
    """Below which values this process says that it does not know, whatever its specs say."""

    question: Floor | None = None
    hit: Floor | None = None

    def override(self) -> FloorOverride | None:
        """What `Idetic.open` is given; None where nothing is set."""
        unset = self.question is None and self.hit is None
        return None if unset else FloorOverride(self.question, self.hit)


class Settings(SettingsPart):
    """Everything that may be set about a process that runs memory."""

    embedder: Literal["int8", "fp16"] | None = None
    """Which form of the embedding model loads; None takes the one that is installed."""
    reranker: Literal["on", "off"] = "on"
    """Whether specs that put a reranker on top have it in this process."""
    extractor: Literal["rules", "model", "none"] = "rules"
    """What draws claims out of conversations: the rules, the reasoner's model, or nothing."""
    log: Literal["debug", "info", "warning", "error"] | None = None
    """From which level on the log is kept."""
    otel: bool = False
    sentry_dsn: SecretStr | None = None
    floors: FloorSettings = FloorSettings()
    reasoner: ReasonerSettings = ReasonerSettings()
    webhook: WebhookSettings = WebhookSettings()

    def at(self, key: str) -> Any:
        """The value of one setting, by its path."""
        here: Any = self
        for step in key.split("."):
            here = getattr(here, step)
        return here

    def parts(self) -> Parts:
        """What `Idetic.open` is given."""
        return {
            "reasoner": self.reasoner.factory(),
            "reranker": RerankerOff() if self.reranker == "off" else None,
            "extractor": self._extractor(),
            "floors": self.floors.override(),
            "receiver": self.webhook.receiver(),
        }

    def _extractor(self) -> ExtractorFactory | None:
        """What makes the extractor of a run; None stands for the rules."""
        if self.extractor == "none":
            return lambda: nullcontext(NoExtractor())
        return self._model_extractor if self.extractor == "model" else None

    @asynccontextmanager
    async def _model_extractor(self) -> AsyncIterator[Extractor]:
        """The reasoner's model as an extractor, for one run and within its caps."""
        async with OpenAICompatible(*self.reasoner.endpoint_and_meter()) as reasoner:
            yield ModelExtractor(reasoner, name=f"model {self.reasoner.model}")

    def check_ready(self) -> None:
        """Refuse what a server would only find missing when a job needs it: a package, a key."""
        endpoint = self.reasoner.endpoint()
        if endpoint is None:
            return
        endpoint.key()
        if find_spec("openai") is None:
            raise ReasonerUnavailable(
                "`reasoner.model` is set, and the package `openai` is not installed.",
                remedy="Run `pip install 'idetic[llm]'`.",
            )

    @contextmanager
    def in_force(self) -> Iterator[None]:
        """What holds for a whole process while it works: telemetry, and which model loads."""
        before = os.environ.get(MODEL_VARIABLE)
        records = bool(self.log or self.otel or self.sentry_dsn)
        if records:
            dsn = self.sentry_dsn.get_secret_value() if self.sentry_dsn else None
            telemetry.configure(logs=self.log, otel=self.otel, sentry_dsn=dsn)
        if self.embedder is not None:
            os.environ[MODEL_VARIABLE] = self.embedder
        try:
            yield
        finally:
            if self.embedder is not None:
                del os.environ[MODEL_VARIABLE]
                os.environ |= {} if before is None else {MODEL_VARIABLE: before}
            if records:
                telemetry.use()


class NoExtractor:
    """Draws nothing: what was said is kept, and nothing is made of it."""

    name, version = "none", "1"

    async def extract(self, turns: Sequence[Turn]) -> Extraction:
        """Extract nothing; the turns stay unread, for a later extraction."""
        return Extraction(unread=tuple(turn.id for turn in turns), stopped="extraction is off here")


class Parts(TypedDict):
    """Arguments of `Idetic.open` that settings decide about."""

    reasoner: ReasonerFactory | None
    reranker: Reranker | None
    extractor: ExtractorFactory | None
    floors: FloorOverride | None
    receiver: ProposalReceiver | None


class RerankerOff:
    """The reranker of a process that has none: recall keeps the fused order, and says why."""

    def rerank(self, query: str, texts: Sequence[str]) -> list[float]:
        """Refuse, with what to do about it."""
        raise RerankerError("it is off here", remedy="Set `reranker` to `on`, or leave it out.")


# --- where values come from ---------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class SettledSettings:
    """Settings, and for each key that was given where its value comes from, in words."""

    settings: Settings = field(default_factory=Settings)
    sources: Mapping[str, str] = field(default_factory=dict)

    def shown(self) -> list[dict[str, Any]]:
        """Each setting with its value and source; a secret is not shown."""
        return [
            {"name": key, "value": _plain(self.settings.at(key)), "source": self._source(key)}
            for key in keys()
        ]

    def _source(self, key: str) -> str:
        """Where a value comes from; one that nobody gave is a default, or not there at all."""
        absent = "not set" if self.settings.at(key) is None else "the default"
        return self.sources.get(key, absent)


def keys(part: type[SettingsPart] = Settings, above: str = "") -> tuple[str, ...]:
    """The path of every setting, in order."""
    paths: list[str] = []
    for name, info in part.model_fields.items():
        inner: Any = info.annotation
        nested = isinstance(inner, type) and issubclass(inner, SettingsPart)
        paths += keys(inner, f"{above}{name}.") if nested else [f"{above}{name}"]
    return tuple(paths)


def variable(key: str) -> str:
    """The environment variable of a setting."""
    return _VARIABLES.get(key, f"IDETIC_{key.replace('.', '_').upper()}")


def settle(
    file: Mapping[str, Any],
    environment: Mapping[str, str],
    options: Mapping[str, str],
    path: str | None = None,
) -> SettledSettings:
    """Settings out of their three sources; raises InputError for what cannot be one.

    `file` and `options` are by key, as `flat` gives them; `path` is what the file is called.
    """
    known = keys()
    for key in options:
        _check_option(key, known)
    named = {key: environment.get(variable(key), "") for key in known}
    given: dict[str, tuple[Any, str]] = {
        **{key: (value, f"the file {path}") for key, value in file.items()},
        **{
            key: (value, f"the environment variable {variable(key)}")
            for key, value in named.items()
            if value
        },
        **{key: (value, f"the option {SET} {key}") for key, value in options.items()},
    }
    sources = {key: source for key, (_, source) in given.items()}
    settings = _validated({key: value for key, (value, _) in given.items()}, sources)
    settings.reasoner.check()
    if settings.extractor == "model" and settings.reasoner.model is None:
        raise InputError(
            "`extractor` is `model`, and no model is set.",
            remedy="Set `reasoner.model` too, or let `extractor` be `rules`.",
        )
    return SettledSettings(settings, sources)


def flat(data: Mapping[str, Any], above: str = "") -> dict[str, Any]:
    """Nested data by dotted keys."""
    values: dict[str, Any] = {}
    for key, value in data.items():
        inner = isinstance(value, Mapping) and f"{above}{key}" not in keys()
        values |= flat(value, f"{above}{key}.") if inner else {f"{above}{key}": value}
    return values


def _check_option(key: str, known: Sequence[str]) -> None:
    """Refuse an option that names no setting, or one that must not be typed."""
    if key not in known:
        raise InputError(f"There is no setting {key!r}.", remedy=f"Known: {', '.join(known)}.")
    if key in _NEVER_TYPED:
        raise InputError(
            f"`{key}` cannot be given as an option: every user of this machine can read it.",
            remedy=f"Set {variable(key)}, or name a file with `reasoner.key_file`.",
        )


def _validated(values: Mapping[str, Any], sources: Mapping[str, str]) -> Settings:
    """The settings that values by key make; an error names the key and its source."""
    nested: dict[str, Any] = {}
    for key, value in values.items():
        *above, last = key.split(".")
        here = nested
        for step in above:
            here = here.setdefault(step, {})
        here[last] = value
    try:
        return Settings.model_validate(nested)
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
    key = ".".join(map(str, first["loc"]))
    raise InputError(
        f"The setting `{key}` cannot be used: {first['msg']}.",
        remedy=f"Correct it in {sources.get(key, 'its source')}.",
    )


def _plain(value: Any) -> Any:
    """A setting's value for people and programs; a secret as stars."""
    if isinstance(value, SecretStr):
        return "***"
    return str(value) if isinstance(value, Path | Decimal) else value
