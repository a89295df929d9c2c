"""A reasoner behind any server that speaks OpenAI's chat completions."""

from __future__ import annotations

import random
from collections.abc import Callable
from dataclasses import replace
from types import TracebackType
from typing import Any, Self, TypeVar

import anyio

from .answers import read_conflict, read_merge, read_summary
from .caps import Meter
from .dialect import Dialect, prompt_of
from .endpoint import Endpoint
from .errors import ReasonerMalformed, ReasonerUnavailable
from .line import Line
from .port import (
    ConflictAnswered,
    ConflictAsked,
    MergeAnswered,
    MergeAsked,
    SummaryAnswered,
    SummaryAsked,
    Usage,
)
from .questions import (
    Message,
    Question,
    conflict_question,
    merge_question,
    repaired,
    summary_question,
)
from .reply import Failed, Reply, content_of

# Seconds before the first repeat, doubled for each further one.
_FIRST_WAIT = 0.5
# A server that asks for more is better asked by another run.
_LONGEST_WAIT = 30.0

_A = TypeVar("_A", MergeAnswered, SummaryAnswered, ConflictAnswered)


class Asking:
    """Requests to one endpoint: metered, repeated where that may help, in the server's dialect."""

    def __init__(self, endpoint: Endpoint, meter: Meter, dialect: Dialect):
        self._endpoint, self._meter, self._dialect = endpoint, meter, dialect
        self._line = Line(endpoint, meter.caps.seconds_per_call)

    async def close(self) -> None:
        """Close the connections."""
        await self._line.close()

    async def reply(self, request: Callable[[Dialect], dict[str, Any]]) -> tuple[Reply, Usage]:
        """A reply to this request, past limits, faults and what the server does not take."""
        dialect, usage, failures = replace(self._dialect), Usage(), 0
        while True:
            got, spent = await self._send(request(dialect))
            usage += spent
            if isinstance(got, Reply):
                self._dialect = dialect  # kept only now: a 400 may have been about something else
                return got, usage
            if got.turned_away and dialect.concede(got.parameter):
                continue
            if not got.again or failures >= self._endpoint.retries:
                raise got.error(got.message, remedy=got.remedy)
            await anyio.sleep(_pause(got, failures))
            failures += 1

    async def _send(self, request: dict[str, Any]) -> tuple[Reply | Failed, Usage]:
        with self._meter.call(prompt_of(request), self._endpoint.answer_tokens) as call:
            got = await self._line.send(request)
            if isinstance(got, Reply):
                if got.tokens is not None:
                    call.counted(*got.tokens)
            elif not got.spent:
                call.free()
        return got, call.usage


class OpenAICompatible:
    """A `Reasoner` for one run: what it may take is its meter's, and is spent by its calls.

    Use it as `async with`, or call `close`. Several questions at once are fine.
    """

    def __init__(self, endpoint: Endpoint, meter: Meter | None = None):
        self.meter = meter or Meter()
        self._endpoint = endpoint
        self._asking = Asking(endpoint, self.meter, Dialect())

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    async def close(self) -> None:
        """Close the connections; the meter can still be read."""
        await self._asking.close()

    async def merge(self, asked: MergeAsked) -> MergeAnswered:
        """What should become of entries that speak of the same thing."""
        return await self._ask(merge_question(asked), lambda said: read_merge(said, asked))

    async def summarise(self, asked: SummaryAsked) -> SummaryAnswered:
        """One note for many entries."""
        return await self._ask(summary_question(asked), lambda said: read_summary(said, asked))

    async def judge(self, asked: ConflictAsked) -> ConflictAnswered:
        """Whether two statements conflict, are compatible, or say the same."""
        return await self._ask(conflict_question(asked), read_conflict)

    async def _ask(self, question: Question, read: Callable[[str], _A]) -> _A:
        """The answer, with what it took. A malformed one may be repaired once."""
        messages = question.messages()
        reply, usage = await self._reply(question, messages)
        try:
            return replace(read(content_of(reply)), usage=usage)
        except ReasonerMalformed as error:
            wrong = error.message
        again = repaired(messages, reply.content, wrong)
        reply, more = await self._reply(question, again)
        return replace(read(content_of(reply)), usage=usage + more)

    async def _reply(self, question: Question, messages: list[Message]) -> tuple[Reply, Usage]:
        return await self._asking.reply(
            lambda dialect: dialect.request(self._endpoint, question, messages)
        )


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
