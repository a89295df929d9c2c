"""A reasoner, and a conversation, behind any server that speaks OpenAI's chat completions.

The `openai` package sends each request but repeats none of them: every request passes the meter
first, and only our own loop knows of it.
"""

from __future__ import annotations

import importlib
import logging
import random
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import replace
from types import ModuleType
from typing import TYPE_CHECKING, Any, Self, TypeVar

import anyio

from .caps import Meter
from .drawing import claims_question, read_claims
from .endpoint import (
    ChatReply,
    Dialect,
    Endpoint,
    Failed,
    by_body,
    by_status,
    content_of,
    prompt_of,
)
from .port import (
    ClaimsAnswered,
    ClaimsAsked,
    ConflictAnswered,
    ConflictAsked,
    MergeAnswered,
    MergeAsked,
    ReasonerError,
    ReasonerMalformed,
    ReasonerRefused,
    ReasonerUnavailable,
    SummaryAnswered,
    SummaryAsked,
    Usage,
)
from .questions import (
    ReasonerQuestion,
    question_of,
    read_conflict,
    read_merge,
    read_summary,
    repaired,
)

if TYPE_CHECKING:
    from openai import AsyncOpenAI

# Seconds before the first repeat, doubled for each further one.
_FIRST_WAIT = 0.5
# A server that asks for more is better asked by another run.
_LONGEST_WAIT = 30.0
# A completion of a few thousand tokens is some 20 kB; what a model thought aloud may be more.
_MAX_BYTES = 1 << 20

_LATER = "Try again later, or raise `seconds_per_call` in `Caps`."
_REACH = "Check that the server runs and that `base_url` is right, then try again."

_A = TypeVar("_A", MergeAnswered, SummaryAnswered, ConflictAnswered, ClaimsAnswered)


class ChatServer:
    """Requests to one endpoint: metered, repeated where that may help, in the server's dialect.

    Use it as `async with`, or call `close`. Several requests at once are fine.
    """

    def __init__(self, endpoint: Endpoint, meter: Meter | None = None):
        self.meter = meter or Meter()
        self._endpoint, self._seconds = endpoint, self.meter.caps.seconds_per_call
        self._dialect = Dialect()
        self._openai = _package()
        self._client: AsyncOpenAI = self._openai.AsyncOpenAI(
            api_key=endpoint.key(),
            base_url=endpoint.url,
            timeout=self._seconds,
            max_retries=0,
            # The entries go to the server that was named, and to no other.
            http_client=self._openai.DefaultAsyncHttpxClient(follow_redirects=False),
        )
        if endpoint.base_url is not None:
            # The SDK takes these from the environment; another server has no business with them.
            self._client.organization = self._client.project = None

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections; the meter can still be read."""
        await self._client.close()

    async def _reply(
        self,
        messages: Sequence[Mapping[str, Any]],
        question: ReasonerQuestion | None = None,
        tools: Sequence[Mapping[str, Any]] = (),
    ) -> tuple[ChatReply, Usage]:
        """A reply to these messages, past limits, faults and what the server does not take."""
        dialect, usage, failures = replace(self._dialect), Usage(), 0
        while True:
            request = dialect.request(self._endpoint, messages, question, tools)
            with self.meter.call(prompt_of(request), self._endpoint.answer_tokens) as call:
                got = await self._send(request)
                if isinstance(got, Failed):
                    if not got.spent:
                        call.free()
                elif got.tokens is not None:
                    call.counted(*got.tokens)
            usage += call.usage
            if isinstance(got, ChatReply):
                self._dialect = dialect  # kept only now: a 400 may have been about something else
                return got, usage
            if got.turned_away and dialect.concede(got.parameter, form=question is not None):
                continue
            if not got.again or failures >= self._endpoint.retries:
                failed = got.error(got.message, remedy=got.remedy)
                failed.usage = usage
                raise failed
            await anyio.sleep(_pause(got, failures))
            failures += 1

    async def _send(self, request: Mapping[str, Any]) -> ChatReply | Failed:
        """Send one request. It raises nothing: an error of the SDK carries the request along."""
        openai, host = self._openai, self._endpoint.host
        try:
            with _quietly(), anyio.fail_after(self._seconds):
                return await self._fetch(request)
        except openai.APIStatusError as error:
            headers = {k.lower(): v for k, v in error.response.headers.items()}
            return by_status(host, error.status_code, headers, error.param)
        except (TimeoutError, openai.APITimeoutError) as error:
            message = f"The reasoner at {host} did not answer within {self._seconds:g} seconds."
            return Failed(message, _LATER, again=True, spent=not _unreached(error))
        except (openai.APIConnectionError, *_transport_errors()) as error:
            message = f"The connection to the reasoner at {host} failed."
            return Failed(message, _REACH, again=True, spent=not _unreached(error))
        except openai.OpenAIError as error:
            return Failed(
                f"The openai package could not ask {host}: {type(error).__name__}.", _REACH
            )

    async def _fetch(self, request: Mapping[str, Any]) -> ChatReply | Failed:
        """Ask once and read the answer; one of more than a megabyte is given up."""
        host = self._endpoint.host
        create: Any = self._client.chat.completions.with_streaming_response.create
        # By way of `extra_body`: older releases of the SDK do not know every parameter.
        messages, model = request["messages"], request["model"]
        async with create(messages=messages, model=model, extra_body=request) as response:
            body = bytearray()
            async for chunk in response.iter_bytes():
                body += chunk
                if len(body) > _MAX_BYTES:
                    message = (
                        f"The reasoner at {self._endpoint.host} answered with more than a megabyte."
                    )
                    remedy = "Use another model or server."
                    return Failed(message, remedy, spent=True, error=ReasonerMalformed)
            kind = response.headers.get("content-type", "")
            return by_body(host, bytes(body), kind)


class OpenAICompatible(ChatServer):
    """A `Reasoner` for one run: what it may take is its meter's, and is spent by its calls."""

    async def merge(self, asked: MergeAsked) -> MergeAnswered:
        """What should become of entries that speak of the same thing."""
        return await self._ask(question_of(asked), lambda said: read_merge(said, asked))

    async def summarise(self, asked: SummaryAsked) -> SummaryAnswered:
        """One note for many entries."""
        return await self._ask(question_of(asked), lambda said: read_summary(said, asked))

    async def judge(self, asked: ConflictAsked) -> ConflictAnswered:
        """Whether two statements conflict, are compatible, or say the same."""
        return await self._ask(question_of(asked), read_conflict)

    async def draw(self, asked: ClaimsAsked) -> ClaimsAnswered:
        """The claims that entries make, each checked against what it cites."""
        return await self._ask(claims_question(asked), lambda said: read_claims(said, asked))

    async def _ask(self, question: ReasonerQuestion, read: Callable[[str], _A]) -> _A:
        """The answer, with what it took. A malformed one may be repaired once."""
        messages, usage = question.messages(), Usage()
        try:
            reply, usage = await self._reply(messages, question)
            try:
                return replace(read(content_of(reply)), usage=usage)
            except ReasonerMalformed as error:
                wrong = error.message
            again, more = await self._reply(repaired(messages, reply.content, wrong), question)
            usage += more
            return replace(read(content_of(again)), usage=usage)
        except ReasonerError as error:
            error.usage = usage + (error.usage or Usage())
            raise


class Chat(ChatServer):
    """A conversation with a model: messages and tools in, a reply out."""

    async def __call__(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] = ()
    ) -> ChatReply:
        """What the model says to these messages, or which tools it wants called.

        What declines in words is an answer here, unlike where a form was asked for; silence and
        half an answer are not.
        """
        reply, _ = await self._reply(messages, tools=tools)
        if reply.refused and not reply.content:
            raise ReasonerRefused(remedy="Look at the task, or use another model.")
        if reply.cut:
            raise ReasonerMalformed(
                "The model's answer was cut off at its limit of tokens.",
                remedy="Raise `answer_tokens` of the endpoint.",
            )
        return reply


def _pause(failed: Failed, failures: int) -> float:
    """How long to wait before a repeat: as the server asks, else longer each time."""
    if failed.wait is None:
        # Spread, so that many workers turned away together do not come back together.
        spread = random.uniform(0.75, 1.25)  # noqa: S311 - not a secret
        return min(_FIRST_WAIT * 2.0**failures * spread, _LONGEST_WAIT)
    if failed.wait > _LONGEST_WAIT:
        raise ReasonerUnavailable(
            f"{failed.message} It asks to wait {failed.wait:,.0f} seconds.", remedy=failed.remedy
        )
    return failed.wait


def _unreached(error: BaseException) -> bool:
    """Whether not even a connection came about, so that no model can have worked."""
    return type(error.__cause__).__name__ in ("ConnectError", "ConnectTimeout")


def _package() -> ModuleType:
    """The `openai` package, imported when needed, with its log of our requests filtered."""
    try:
        openai = importlib.import_module("openai")
    except ImportError:
        raise ReasonerUnavailable(
            "The package `openai` is not installed.", remedy="Run `pip install 'idetic[llm]'`."
        ) from None
    logging.getLogger("openai._base_client").addFilter(_no_bodies)  # adding it again does nothing
    return openai


def _transport_errors() -> tuple[type[Exception], ...]:
    """The errors of the HTTP library that the SDK uses, which it does not always wrap."""
    # The SDK wraps them until the body is read. It speaks httpx2; before its third version, httpx.
    loaded = [sys.modules[name] for name in ("httpx", "httpx2") if name in sys.modules]
    return tuple(module.HTTPError for module in loaded)


# Before its third version the SDK logged whole requests at DEBUG. That must not happen to ours,
# and everyone else's logging must stay as it is.
_asking: ContextVar[bool] = ContextVar("_asking", default=False)


def _no_bodies(record: logging.LogRecord) -> bool:
    """Filter a log record: what the SDK says at DEBUG while it asks for us is dropped."""
    return record.levelno > logging.DEBUG or not _asking.get()


@contextmanager
def _quietly() -> Iterator[None]:
    """Mark what happens within as our own call, so that `_no_bodies` knows it."""
    token = _asking.set(True)
    try:
        yield
    finally:
        _asking.reset(token)
