"""The line to the server: one request through the `openai` package, bounded in time and size.

The package does not repeat anything here: every request passes the meter first, and only our own
loop knows of it.
"""

from __future__ import annotations

import importlib
import logging
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from types import ModuleType
from typing import TYPE_CHECKING, Any

import anyio

from .endpoint import Endpoint
from .errors import ReasonerMalformed, ReasonerUnavailable
from .reply import Failed, Reply, by_body, by_status

if TYPE_CHECKING:
    from openai import AsyncOpenAI

# A completion of a few thousand tokens is some 20 kB; what a model thought aloud may be more.
_MAX_BYTES = 1 << 20

_LATER = "Try again later, or raise `seconds_per_call` in `Caps`."
_REACH = "Check that the server runs and that `base_url` is right, then try again."


class Line:
    """One client of one endpoint; close it when done."""

    def __init__(self, endpoint: Endpoint, seconds: float):
        self._host, self._seconds = endpoint.host, seconds
        self._openai = _package()
        self._client: AsyncOpenAI = self._openai.AsyncOpenAI(
            api_key=endpoint.key(),
            base_url=endpoint.url,
            timeout=seconds,
            max_retries=0,
            # The entries go to the server that was named, and to no other.
            http_client=self._openai.DefaultAsyncHttpxClient(follow_redirects=False),
        )
        if endpoint.base_url is not None:
            # The SDK takes these from the environment; another server has no business with them.
            self._client.organization = self._client.project = None
        self._broken = _transport_errors()

    async def close(self) -> None:
        """Give back the connections."""
        await self._client.close()

    async def send(self, request: Mapping[str, Any]) -> Reply | Failed:
        """One request. Nothing is raised, so that no error of the SDK's, which carries the
        request, hangs on to one of ours."""
        openai = self._openai
        try:
            with _quietly(), anyio.fail_after(self._seconds):
                return await self._fetch(request)
        except openai.APIStatusError as error:
            headers = {k.lower(): v for k, v in error.response.headers.items()}
            return by_status(self._host, error.status_code, headers, error.param)
        except (TimeoutError, openai.APITimeoutError) as error:
            return self._timed_out(error)
        except (openai.APIConnectionError, *self._broken) as error:
            said = f"The connection to the reasoner at {self._host} failed."
            return Failed(said, _REACH, again=True, spent=not _unreached(error))
        except openai.OpenAIError as error:
            said = f"The openai package could not ask {self._host}: {type(error).__name__}."
            return Failed(said, _REACH)

    async def _fetch(self, request: Mapping[str, Any]) -> Reply | Failed:
        create: Any = self._client.chat.completions.with_streaming_response.create
        # By way of `extra_body`: older releases of the SDK do not know every parameter.
        messages, model = request["messages"], request["model"]
        async with create(messages=messages, model=model, extra_body=request) as response:
            body = bytearray()
            async for chunk in response.iter_bytes():
                body += chunk
                if len(body) > _MAX_BYTES:
                    said = f"The reasoner at {self._host} answered with more than a megabyte."
                    remedy = "Use another model or server."
                    return Failed(said, remedy, spent=True, error=ReasonerMalformed)
            kind = response.headers.get("content-type", "")
            return by_body(self._host, bytes(body), kind)

    def _timed_out(self, error: BaseException) -> Failed:
        said = f"The reasoner at {self._host} did not answer within {self._seconds:g} seconds."
        return Failed(said, _LATER, again=True, spent=not _unreached(error))


def _unreached(error: BaseException) -> bool:
    """Whether not even a connection came about, so that no model can have worked."""
    return type(error.__cause__).__name__ in ("ConnectError", "ConnectTimeout")


def _package() -> ModuleType:
    try:
        openai = importlib.import_module("openai")
    except ImportError:
        raise ReasonerUnavailable(
            "The package `openai` is not installed.", remedy="Run `pip install 'idetic[llm]'`."
        ) from None
    logging.getLogger("openai._base_client").addFilter(_NO_BODIES)  # adding it again does nothing
    return openai


def _transport_errors() -> tuple[type[Exception], ...]:
    # The SDK wraps them until the body is read. It speaks httpx2; before its third version, httpx.
    loaded = [sys.modules[name] for name in ("httpx", "httpx2") if name in sys.modules]
    return tuple(module.HTTPError for module in loaded)


# Before its third version the SDK logged whole requests at DEBUG. That must not happen to ours,
# and everyone else's logging must stay as it is.
_asking: ContextVar[bool] = ContextVar("_asking", default=False)


class _NoBodies(logging.Filter):
    def filter(self, record: logging.LogRecord) -> bool:
        return record.levelno > logging.DEBUG or not _asking.get()


_NO_BODIES = _NoBodies()


@contextmanager
def _quietly() -> Iterator[None]:
    token = _asking.set(True)
    try:
        yield
    finally:
        _asking.reset(token)
