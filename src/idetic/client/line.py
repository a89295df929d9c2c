"""The line to a server: one request, its answer as a noun, its problem as an error.

Only what can be done twice with the effect of once is sent again: reading, opening a scope by its
id, and writes, which then carry the same idempotency key each time.
"""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, TypeVar
from uuid import uuid4

import anyio
import httpx

from idetic import wire
from idetic.client.errors import AnswerUnreadable, ConnectionClosed, ServerUnavailable, told
from idetic.errors import InputError
from idetic.verbs.arguments import check_uuid

T = TypeVar("T")
Progress = Callable[[int, int], None]

_AGAIN = frozenset({429, 502, 503, 504})
_FIRST_PAUSE = 0.2
_LONGEST_PAUSE = 10.0
_EVENTS = "text/event-stream"


class Line:
    """An HTTP connection with a key."""

    def __init__(
        self, url: str, key: str, *, retries: int, timeout: float, transport: Any | None = None
    ):
        if type(retries) is not int or not 0 <= retries <= 10:
            raise InputError("retries is a whole number from 0 to 10.")
        if not isinstance(key, str) or not key.isascii() or not key.isprintable():
            raise InputError("key is an API key, from `idk_` to its end.")
        try:
            self._http = httpx.AsyncClient(
                base_url=url,
                headers={"Authorization": f"Bearer {key}"},
                timeout=timeout,
                transport=transport,
            )
        except (TypeError, httpx.InvalidURL):
            raise InputError("url is a server's address, such as http://127.0.0.1:8765.") from None
        self._retries = retries

    async def close(self) -> None:
        """Give the connections back."""
        await self._http.aclose()

    async def read(self, path: str, kind: type[T], query: Mapping[str, Any] | None = None) -> T:
        """Look at something."""
        asked = {key: value for key, value in (query or {}).items() if value is not None}
        return await self._sent("GET", path, kind, query=asked, again=True)

    async def ask(self, path: str, kind: type[T], body: Any = None) -> T:
        """Something that may be done twice with the effect of once."""
        return await self._sent("POST", path, kind, body=body, again=True)

    async def do(self, path: str, kind: type[T], body: Any = None) -> T:
        """Something that is sent once, whatever becomes of it."""
        return await self._sent("POST", path, kind, body=body)

    async def write(self, path: str, kind: type[T], body: Any, key: str | None) -> T:
        """A write. Its key, or one made here, makes it safe to send again."""
        if key is None and self._retries:
            key = str(uuid4())
        return await self._sent("POST", path, kind, body=body, key=key, again=key is not None)

    async def follow(self, path: str, kind: type[T], body: Any, progress: Progress | None) -> T:
        """Long work: its result, and on the way how far it is."""
        if progress is None:
            return await self.ask(path, kind, body)
        request = self._request("POST", path, None, body, None)
        request.headers["Accept"] = _EVENTS
        with _reached():
            response = await self._http.send(request, stream=True)
            try:
                if not response.headers.get("content-type", "").startswith(_EVENTS):
                    await response.aread()
                    return _noun(kind, response)
                return await _followed(response, kind, progress)
            finally:
                await response.aclose()

    async def stream(self, path: str, query: Mapping[str, Any]) -> AsyncIterator[bytes]:
        """An answer as it comes, for what may be too large to hold. Sent once."""
        request = self._request("GET", path, query, None, None)
        with _reached():
            response = await self._http.send(request, stream=True)
            try:
                if not response.is_success:
                    await response.aread()
                    _noun(bytes, response)
                async for chunk in response.aiter_bytes():
                    yield chunk
            finally:
                await response.aclose()

    async def _sent(
        self,
        method: str,
        path: str,
        kind: type[T],
        *,
        query: Mapping[str, Any] | None = None,
        body: Any = None,
        key: str | None = None,
        again: bool = False,
    ) -> T:
        request = self._request(method, path, query, body, key)
        left, pause = self._retries if again else 0, _FIRST_PAUSE
        while True:
            try:
                with _reached():
                    response = await self._http.send(request)
                if response.status_code not in _AGAIN or not left:
                    return _noun(kind, response)
                wait = max(pause, _asked_to_wait(response))
            except ServerUnavailable:
                if not left:
                    raise
                wait = pause
            await anyio.sleep(min(wait, _LONGEST_PAUSE))
            left, pause = left - 1, pause * 2

    def _request(
        self, method: str, path: str, query: Mapping[str, Any] | None, body: Any, key: str | None
    ) -> httpx.Request:
        if self._http.is_closed:
            raise ConnectionClosed
        headers = {} if key is None else {"Idempotency-Key": _header(key)}
        if method == "GET":
            return self._http.build_request(method, path, params=dict(query or {}))
        try:
            content = wire.as_json({} if body is None else body)
        except (TypeError, ValueError, RecursionError):
            raise InputError("An argument has no form in JSON; nothing was sent.") from None
        headers["Content-Type"] = "application/json"
        return self._http.build_request(method, path, content=content, headers=headers)


def part(value: object) -> str:
    """An id as a part of an address; nothing else can be one."""
    return str(check_uuid(value, "id"))


@contextmanager
def _reached() -> Iterator[None]:
    """Within it, what httpx says of the connection becomes an error of ours."""
    try:
        yield
    except httpx.TransportError as error:
        raise ServerUnavailable(f"The server does not answer: {type(error).__name__}.") from None
    except httpx.HTTPError:
        raise AnswerUnreadable from None


def _header(key: object) -> str:
    if not isinstance(key, str) or not key.isascii() or not key.isprintable():
        raise InputError("Over HTTP an idempotency key is a text of printable ASCII.")
    return key


def _asked_to_wait(response: httpx.Response) -> float:
    said = response.headers.get("retry-after", "")
    return float(said) if said.isdigit() else 0.0


def _noun(kind: type[T], response: httpx.Response) -> T:
    if response.status_code == 204:
        return wire.read(kind, None)
    try:
        data = response.json()
    except ValueError:
        raise AnswerUnreadable(status=response.status_code) from None
    if not response.is_success:
        raise _problem(data, response.status_code)
    return _read(kind, data)


def _problem(data: Any, status: int) -> Exception:
    if not isinstance(data, Mapping) or "code" not in data:
        return AnswerUnreadable(status=status)
    return told(data)


def _read(kind: type[T], data: Any) -> T:
    try:
        return wire.read(kind, data)
    except (TypeError, ValueError, KeyError, AttributeError):
        raise AnswerUnreadable from None


async def _followed(response: httpx.Response, kind: type[T], progress: Progress) -> T:
    name = ""
    async for line in response.aiter_lines():
        if line.startswith("event: "):
            name = line.removeprefix("event: ")
        elif line.startswith("data: "):
            data = json.loads(line.removeprefix("data: "))
            if name == "failed":
                raise _problem(data, response.status_code)
            if name == "done":
                return _read(kind, data)
            progress(data["done"], data["total"])
    raise AnswerUnreadable("The events ended before the work did.")
