"""A conversation with a model behind an endpoint: messages and tools in, a reply out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import TracebackType
from typing import Any, Self

from .caps import Meter
from .dialect import Dialect
from .endpoint import Endpoint
from .errors import ReasonerMalformed, ReasonerRefused
from .openai_compatible import Asking
from .reply import Reply


class Chat:
    """One conversation's line to an endpoint; what it may take is its meter's.

    Use it as `async with`, or call `close`.
    """

    def __init__(self, endpoint: Endpoint, meter: Meter | None = None):
        self.meter = meter or Meter()
        self._endpoint = endpoint
        # Nothing is asked for in a schema, so there is none to concede.
        self._asking = Asking(endpoint, self.meter, Dialect(schema=False))

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

    async def __call__(
        self, messages: Sequence[Mapping[str, Any]], tools: Sequence[Mapping[str, Any]] = ()
    ) -> Reply:
        """What the model says to these messages, or which tools it wants called.

        What declines in words is an answer here, unlike where a form was asked for; silence and
        half an answer are not.
        """
        reply, _ = await self._asking.reply(
            lambda dialect: dialect.chat(self._endpoint, messages, tools)
        )
        if reply.refused and not reply.content:
            raise ReasonerRefused(remedy="Look at the task, or use another model.")
        if reply.cut:
            raise ReasonerMalformed(
                "The model's answer was cut off at its limit of tokens.",
                remedy="Raise `answer_tokens` of the endpoint.",
            )
        return reply
