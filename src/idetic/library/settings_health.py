"""How settings are: whether they can be read, and whether what they name is there and answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from importlib.util import find_spec
from urllib.parse import urlsplit
from uuid import UUID

from idetic.errors import InputError
from idetic.library.health import Check, CheckVerdict
from idetic.library.reasoner_settings import ReasonerSettings
from idetic.library.settings import RerankerSwitch, SettledSettings
from idetic.reason.openai_compatible import OpenAICompatible
from idetic.reason.port import ConflictAsked, ReasonerError, ReasonerMalformed, ShownEntry

# A model that answers this can do its work; no word of it is anybody's memory.
_ASKED = ConflictAsked(
    ShownEntry(UUID(int=1), "The lamp in the hall is on."),
    ShownEntry(UUID(int=2), "The lamp in the hall is off."),
)


async def examine_settings(
    held: SettledSettings, file: str | None, broken: InputError | None = None
) -> list[Check]:
    """Every check about settings; `broken` is why those of the file, or all of them, do not hold.

    The reasoner is asked one question, within the caps of a run.
    """
    return [
        _settings(held.sources, file, broken),
        *await _reasoner(held.settings.reasoner),
        *_sentry(held),
    ]


def without_reranker(checks: list[Check], held: SettledSettings) -> list[Check]:
    """The checks of a process that needs no reranker, if the settings turn it off."""
    if held.settings.reranker is RerankerSwitch.ON:
        return checks
    off = Check("reranker", CheckVerdict.GOOD, "off by its setting; the fused order stands")
    return [off if check.name == "reranker" else check for check in checks]


def _settings(sources: Mapping[str, str], file: str | None, broken: InputError | None) -> Check:
    """Which settings hold, and where they were read."""
    if broken is not None:
        return Check("settings", CheckVerdict.BAD, broken.message, broken.remedy)
    where = f"{file}; " if file else ""
    return Check("settings", CheckVerdict.GOOD, f"{where}set: {', '.join(sources) or 'nothing'}")


async def _reasoner(settings: ReasonerSettings) -> list[Check]:
    """Whether the endpoint is reached and the model answers in the form that is asked for."""
    try:
        endpoint = settings.endpoint()
        if endpoint is None:
            return []
        # Once: whoever looks would rather know now than after three attempts.
        once = replace(endpoint, retries=0)
        async with OpenAICompatible(once, settings.meter()) as reasoner:
            answered = await reasoner.judge(_ASKED)
    except ReasonerMalformed as error:
        found = f"it answers, but not as asked: {error.message}"
        return [Check("reasoner", CheckVerdict.WARNING, found, error.remedy)]
    except (ReasonerError, InputError) as error:
        return [Check("reasoner", CheckVerdict.BAD, error.message, error.remedy)]
    took = f"{answered.usage.tokens} tokens, {answered.usage.seconds:.1f} s"
    return [Check("reasoner", CheckVerdict.GOOD, f"{endpoint.model} at {endpoint.host}, {took}")]


def _sentry(held: SettledSettings) -> list[Check]:
    """Whether Sentry's package is there and its address can be read. Nothing is sent."""
    dsn = held.settings.sentry_dsn
    if dsn is None:
        return []
    host = _host(dsn.get_secret_value())
    if host is None:
        remedy = "Copy the DSN whole from Sentry's project settings."
        return [Check("sentry", CheckVerdict.BAD, "its DSN cannot be read", remedy)]
    if find_spec("sentry_sdk") is None:
        remedy = "Run `pip install 'idetic[sentry]'`."
        return [Check("sentry", CheckVerdict.BAD, "its package is not installed", remedy)]
    return [Check("sentry", CheckVerdict.GOOD, f"reports to {host}")]


def _host(dsn: str) -> str | None:
    """The host of a DSN, without its key; None if it is none."""
    try:
        parts = urlsplit(dsn)
        port = f":{parts.port}" if parts.port else ""
    except ValueError:
        return None
    whole = parts.scheme in ("http", "https") and parts.username and parts.path.strip("/")
    return f"{parts.hostname}{port}" if whole and parts.hostname else None
