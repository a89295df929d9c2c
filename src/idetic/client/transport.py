"""The transport to a server: a verb becomes a request, its answer a noun, its problem an error.

Only what can be done twice with the effect of once is sent again: reading, opening a scope by its
id, and writes, which then carry the same idempotency key each time.
"""

from __future__ import annotations

import re
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import uuid4

import anyio
import httpx
from httpx_sse import EventSource

from idetic import wire
from idetic.client.client_errors import (
    AnswerUnreadable,
    ConnectionClosed,
    ServerUnavailable,
    error_of,
)
from idetic.errors import InputError
from idetic.model import Place
from idetic.verbs.declaration import KEY, PROGRESS, Verb
from idetic.verbs.handle import AsyncHandle

_AGAIN = frozenset({429, 502, 503, 504})
_FIRST_PAUSE = 0.2
_LONGEST_PAUSE = 10.0
_EVENTS = "text/event-stream"
_HOLE = re.compile(r"{(\w+)}")


@dataclass(frozen=True, slots=True)
class _Call:
    """One request: where it goes, what it carries, and whether it may be sent again."""

    method: str
    path: str
    sent: dict[str, Any]
    key: str | None
    again: bool
    progress: Any = None


class HttpTransport:
    """An HTTP connection with a key."""

    def __init__(
        self, url: str, key: str, *, retries: int, timeout: float, transport: Any | None = None
    ):
        if type(retries) is not int or not 0 <= retries <= 10:
            raise InputError("retries must be a whole number from 0 to 10.")
        if not isinstance(key, str) or not key.isascii() or not key.isprintable():
            raise InputError("key must be an API key, from `idk_` to its end.")
        try:
            self._http = httpx.AsyncClient(
                base_url=url,
                headers={"Authorization": f"Bearer {key}"},
                timeout=timeout,
                transport=transport,
            )
        except (TypeError, httpx.InvalidURL):
            raise InputError("url must be an address, such as http://127.0.0.1:8765.") from None
        self._retries = retries

    def __str__(self) -> str:
        return str(self._http.base_url)

    async def close(self) -> None:
        """Give the connections back."""
        await self._http.aclose()

    async def perform(
        self, verb: Verb[..., Any], handle: AsyncHandle, /, *args: Any, **kwargs: Any
    ) -> Any:
        """Send a verb to the server; its answer, of the verb's own type."""
        if verb.needs_open:
            handle.check_open()
        call = self._call(verb, handle.place, verb.values(args, kwargs))
        if call.progress is not None:
            data = await self._followed(call)
        else:
            data = _data(await self._sent(call))
        if verb.http is not None and verb.http.page is not None:
            data = data[verb.http.page.items]
        return None if verb.returns is type(None) else _read(verb.returns, data)

    async def stream(
        self, verb: Verb[..., Any], handle: AsyncHandle, /, *args: Any, **kwargs: Any
    ) -> AsyncIterator[bytes]:
        """An answer as it comes, for what may be too large to hold. Sent once."""
        call = self._call(verb, handle.place, verb.values(args, kwargs))
        async with self._open(call) as response:
            if not response.is_success:
                await response.aread()
                _data(response)
            async for chunk in response.aiter_bytes():
                yield chunk

    def _call(self, verb: Verb[..., Any], place: Place, values: dict[str, Any]) -> _Call:
        """The request for one call of a verb."""
        key, progress = values.pop(KEY, None), values.pop(PROGRESS, None)
        sent: dict[str, Any] = {}
        for name, value in values.items():
            one = verb.parameters[name]
            if one.travels and value is not None:
                sent[one.wire_name] = value if one.wire is None else one.wire.encode(value)
            elif value is not None:
                raise InputError(
                    f"{name} can be used in process only, not over HTTP; nothing was sent."
                )
        if verb.name == "open_scope":
            # The id is the caller's, so that opening twice opens once.
            parent, _, chosen = _address(place).rpartition("/")
            return _Call("POST", parent, {"id": chosen}, None, True)
        if verb.http is None:
            raise InputError(
                f"{verb.name} works only in the process that opened the database, not over HTTP."
            )
        if verb.placed and not verb.http.at_place:
            named = {"session_id": place.session_id, "interaction_id": place.interaction_id}
            sent |= {name: value for name, value in named.items() if value is not None}
        template = (_address(place) if verb.http.at_place else "/v1") + verb.http.path
        path = _HOLE.sub(lambda hole: str(sent.pop(hole[1])), template)
        if KEY in verb.parameters and key is None and self._retries:
            key = str(uuid4())
        again = verb.repeatable or key is not None
        return _Call(verb.http.method, path, sent, key, again, progress)

    async def _sent(self, call: _Call) -> httpx.Response:
        """Send a request, again where that is safe and the server was away or busy."""
        request = self._request(call)
        left, pause = self._retries if call.again else 0, _FIRST_PAUSE
        while True:
            try:
                with _reached():
                    response = await self._http.send(request)
                if response.status_code not in _AGAIN or not left:
                    return response
                asked = response.headers.get("retry-after", "")
                wait = max(pause, float(asked) if asked.isdigit() else 0.0)
            except ServerUnavailable:
                if not left:
                    raise
                wait = pause
            await anyio.sleep(min(wait, _LONGEST_PAUSE))
            left, pause = left - 1, pause * 2

    async def _followed(self, call: _Call) -> Any:
        """Long work: its result, and on the way how far it is."""
        async with self._open(call, Accept=_EVENTS) as response:
            if not response.headers.get("content-type", "").startswith(_EVENTS):
                await response.aread()
                return _data(response)
            async for event in EventSource(response).aiter_sse():
                if event.event == "failed":
                    raise _problem(event.json(), response.status_code)
                if event.event == "done":
                    return event.json()
                data = event.json()
                call.progress(data["done"], data["total"])
        raise AnswerUnreadable(
            "The server closed the stream of progress events before the work was done."
        )

    @asynccontextmanager
    async def _open(self, call: _Call, **headers: str) -> AsyncIterator[httpx.Response]:
        """A response whose body has not been read yet."""
        request = self._request(call)
        request.headers.update(headers)
        with _reached():
            response = await self._http.send(request, stream=True)
            try:
                yield response
            finally:
                await response.aclose()

    def _request(self, call: _Call) -> httpx.Request:
        """The HTTP request of a call; what JSON cannot say is refused before anything is sent."""
        if self._http.is_closed:
            raise ConnectionClosed
        headers = {} if call.key is None else {"Idempotency-Key": _header(call.key)}
        try:
            if call.method == "GET":
                query = {name: _query(value) for name, value in call.sent.items()}
                return self._http.build_request("GET", call.path, params=query)
            content = wire.as_json(call.sent)
        except (TypeError, ValueError, RecursionError):
            raise InputError("An argument cannot be written as JSON; nothing was sent.") from None
        headers["Content-Type"] = "application/json"
        return self._http.build_request(call.method, call.path, content=content, headers=headers)


def _address(place: Place) -> str:
    """Where a session or an interaction stands."""
    session = f"/v1/sessions/{place.session_id}"
    inner = place.interaction_id
    return session if inner is None else f"{session}/interactions/{inner}"


def _query(value: Any) -> Any:
    """A value as a query holds it: a text, several of them, or an object's JSON."""
    if isinstance(value, Mapping):
        return wire.as_json(value).decode()
    if isinstance(value, list):
        return [_query(each) for each in value]
    if isinstance(value, datetime):
        return value.isoformat()
    return value if isinstance(value, bool | int) else str(value)


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
    """The idempotency key, if it can stand in a header."""
    if not isinstance(key, str) or not key.isascii() or not key.isprintable():
        raise InputError("Over HTTP an idempotency key must be a text of printable ASCII.")
    return key


def _data(response: httpx.Response) -> Any:
    """What a response holds; a problem is raised as the error it stands for."""
    if response.status_code == 204:
        return None
    try:
        data = response.json()
    except ValueError:
        raise AnswerUnreadable(status=response.status_code) from None
    if not response.is_success:
        raise _problem(data, response.status_code)
    return data


def _problem(data: Any, status: int) -> Exception:
    """The error that an answer stands for, also where the answer is no problem at all."""
    if not isinstance(data, Mapping) or "code" not in data:
        return AnswerUnreadable(status=status)
    return error_of(data)


def _read(kind: Any, data: Any) -> Any:
    """An answer as the noun that the verb returns; anything else is unreadable."""
    try:
        return wire.read(kind, data)
    except (TypeError, ValueError, KeyError, AttributeError):
        raise AnswerUnreadable from None
