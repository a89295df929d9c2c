"""A proxy that loses answers: the server has done its work, and the client never hears of it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass


@dataclass
class Cutting:
    """Where it listens, how many answers it still loses, and how many requests it saw."""

    address: str = ""
    lose: int = 0
    seen: int = 0


@asynccontextmanager
async def cutting(upstream: str) -> AsyncIterator[Cutting]:
    """One request per connection; of the next `lose` of them the answer is thrown away."""
    told = Cutting()
    host, _, port = upstream.removeprefix("http://").partition(":")

    async def handle(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        above, beyond = await asyncio.open_connection(host, int(port))
        try:
            request = await _message(reader)
            told.seen += 1
            beyond.write(request.replace(b"\r\n", b"\r\nConnection: close\r\n", 1))
            answer = await above.read()
            if told.lose:
                told.lose -= 1
            else:
                writer.write(answer)
        except asyncio.IncompleteReadError:
            pass
        finally:
            for each in (beyond, writer):
                each.close()

    server = await asyncio.start_server(handle, "127.0.0.1", 0)
    told.address = "http://{}:{}".format(*server.sockets[0].getsockname())
    try:
        yield told
    finally:
        server.close()
        await server.wait_closed()


async def _message(reader: asyncio.StreamReader) -> bytes:
    head = await reader.readuntil(b"\r\n\r\n")
    length = 0
    for line in head.lower().split(b"\r\n"):
        if line.startswith(b"content-length:"):
            length = int(line.partition(b":")[2])
    return head + (await reader.readexactly(length) if length else b"")
