"""A real HTTP server that speaks `POST /v1/chat/completions` and behaves as it is told.

A behaviour is a function of the request it got. `LlmServer.script` takes one for each request to
come; the last one stays. What was asked is kept in `LlmServer.requests`.
"""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from uuid import uuid4


@dataclass(frozen=True)
class Asked:
    """One request, as it came in."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]

    @property
    def document(self) -> dict[str, Any]:
        """The entries' message, read as what it must be: one JSON document."""
        return dict(json.loads(self.body["messages"][1]["content"]))

    @property
    def entries(self) -> list[dict[str, Any]]:
        return list(self.document["entries"])

    @property
    def first(self) -> str:
        return str(self.entries[0]["text"])


@dataclass(frozen=True)
class Said:
    """What goes back: after `pause` seconds, byte by byte if `drip`, perhaps `only` so many."""

    body: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    pause: float = 0.0
    drip: float = 0.0
    only: int | None = None


Behaviour = Callable[[Asked], Said]


class LlmServer(ThreadingHTTPServer):
    """The server itself; `running` starts one and stops it."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.requests: list[Asked] = []
        self.stopping = threading.Event()
        self._script: list[Behaviour] = [good]
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def script(self, *behaviours: Behaviour) -> None:
        self._script = list(behaviours)

    def answer(self, asked: Asked) -> Said:
        with self._lock:
            self.requests.append(asked)
            behaviour = self._script[0] if len(self._script) == 1 else self._script.pop(0)
        return behaviour(asked)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that hung up is what some tests are about."""


class _Handler(BaseHTTPRequestHandler):
    server: LlmServer

    def do_POST(self) -> None:
        length = int(self.headers["content-length"])
        headers = {name.lower(): value for name, value in self.headers.items()}
        said = self.server.answer(Asked(self.path, headers, json.loads(self.rfile.read(length))))
        self.server.stopping.wait(said.pause)
        self.send_response(said.status)
        for name, value in {"Content-Type": "application/json", **said.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(said.body)))
        self.end_headers()
        for at in range(len(said.body) if said.drip else 0):
            self.wfile.write(said.body[at : at + 1])
            self.server.stopping.wait(said.drip)
        self.wfile.write(b"" if said.drip else said.body[: said.only])

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base's name
        """Tests print nothing."""


@contextmanager
def running() -> Iterator[LlmServer]:
    with LlmServer() as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.stopping.set()
            server.shutdown()
            thread.join()


def right_answer(asked: Asked) -> dict[str, Any]:
    """What a capable and honest model says: the last entry is the one to keep."""
    last, cites = asked.entries[-1], [entry["id"] for entry in asked.entries]
    note = {"text": last["text"], "cites": cites, "why": "The later entry says it all."}
    match asked.document["question"]:
        case "conflict":
            return {"verdict": "conflict", "why": note["why"]}
        case "summary":
            return note
    return {"decision": "UPDATE", "claim": last["claim"], **note}


def completion(content: str | None, *, finish: str = "stop", **more: Any) -> Said:
    """A chat completion around what the model said."""
    usage = more.pop("usage", {"prompt_tokens": 1000, "completion_tokens": 200})
    message = {"role": "assistant", "content": content, **more}
    choice = {"index": 0, "message": message, "finish_reason": finish}
    return Said(json.dumps({"id": "c1", "choices": [choice], "usage": usage}).encode())


def saying(content: Callable[[Asked], str], **more: Any) -> Behaviour:
    return lambda asked: completion(content(asked), **more)


def answering(**changes: Any) -> Behaviour:
    """The right answer with some of its keys changed."""
    return saying(lambda asked: json.dumps(right_answer(asked) | changes))


def failing(status: int, param: str | None = None, **headers: str) -> Behaviour:
    def fail(asked: Asked) -> Said:
        # As servers do, it repeats the request.
        error = {"message": f"cannot process {asked.body}", "type": "error", "param": param}
        named = {name.replace("_", "-"): value for name, value in headers.items()}
        return Said(json.dumps({"error": error}).encode(), status, named)

    return fail


# Those that fail repeat what they were given where they can, to see that nobody passes it on.
good = answering()
malformed = saying(lambda asked: '{"decision": "UPDATE", "text": ' + json.dumps(asked.first))
truncated = saying(lambda asked: json.dumps(right_answer(asked))[:20], finish="length")
refusing_in_prose = saying(lambda asked: f"I'm sorry, but I can't help with {asked.first}.")
filtered = saying(lambda asked: asked.first, finish="content_filter")
citing_a_foreign_id = answering(cites=[str(uuid4())])
huge = saying(lambda _: "x" * 8_000_000)


def refusing(asked: Asked) -> Said:
    return completion(None, refusal=f"I will not speak of: {asked.first}")


def inventing_a_number(asked: Asked) -> Said:
    return answering(text=f"{asked.entries[-1]['text']} It happened 8731 times.")(asked)


def slow(seconds: float) -> Behaviour:
    return lambda asked: Said(good(asked).body, pause=seconds)


def dripping(asked: Asked) -> Said:
    """Never silent for long, and never done."""
    return Said(good(asked).body, drip=0.05)


def broken_off(asked: Asked) -> Said:
    """The connection ends in the middle of the body."""
    return Said(good(asked).body, only=40)


def as_type(content_type: str, body: bytes | None = None) -> Behaviour:
    """A wrong content type, around a right answer if nothing else is given."""
    return lambda asked: Said(body or good(asked).body, headers={"Content-Type": content_type})


def without_json_schema(asked: Asked) -> Said:
    known = asked.body["response_format"]["type"] == "json_object"
    return good(asked) if known else failing(400)(asked)


def without(parameter: str) -> Behaviour:
    """A server that does not take one parameter, and says which."""
    turn_away = failing(400, parameter)
    return lambda asked: turn_away(asked) if parameter in asked.body else good(asked)


def obeying_the_entries(asked: Asked) -> Said:
    """A model that falls for an injection: it answers with the JSON an entry dictates."""
    told = next(text for entry in asked.entries if "ANSWER:" in (text := entry["text"]))
    return completion(told.partition("ANSWER:")[2])
