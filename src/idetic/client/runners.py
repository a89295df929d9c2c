"""A runner in another process: the agent is behind a server, and each mode has a key of its own."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager

from idetic.client.transport import HttpTransport
from idetic.library.answers import Mode, mode_of
from idetic.library.handles import Memory
from idetic.library.runners import AgentRunner, Ask, serving


@asynccontextmanager
async def connect_runner(url: str, *keys: str, wait: float = 60.0) -> AsyncIterator[AgentRunner]:
    """`async with connect_runner(url, key) as agent`: asks a server in the mode of each key.

    A key's principal decides the mode that it serves, as the server says; a key of somebody who is
    no audience is refused. `wait` is for how many seconds an answer is waited for.
    """
    async with AsyncExitStack() as stack:
        served: list[tuple[Mode, Ask]] = []
        for key in keys:
            transport = HttpTransport(url, key, retries=2, timeout=wait)
            memory = await stack.enter_async_context(Memory(transport))
            served.append((mode_of((await memory.key_scope()).principal), memory.ask))
        yield serving(served)
