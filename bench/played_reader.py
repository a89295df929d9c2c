"""A played reader and judge: a local HTTP server that speaks OpenAI's chat completions.

It knows nothing. As a reader it gives back the sentence that shares most words with the question;
as a judge it compares words. With it `bench.answers` is tried as it is used, over HTTP, without a
key and without a model; its figures say nothing about any model.
"""

from __future__ import annotations

import json
import re
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

from bench.answers_scores import answer_words, token_f1
from idetic.recall.tokens import ConservativeCounter

Answer = Callable[[dict[str, Any]], dict[str, Any]]
READER, JUDGE = "played-reader", "played-judge"
_COUNTER = ConservativeCounter()
_QUESTION = re.compile(r"^Question: (.*)$", re.MULTILINE)
_EXCERPT = re.compile(r"^Excerpt:\n(.*)^End of the excerpt\.$", re.MULTILINE | re.DOTALL)
_EXPECTED = re.compile(r"^Expected answer: (.*)$", re.MULTILINE)
_GIVEN = re.compile(r"^Given answer: (.*)$", re.MULTILINE)
# What stands before the words of memory's entries: their origin in brackets, a mark of quotation.
_BEFORE = re.compile(r"^(?:\[[^\]]*\]|>)\s*")
_END = re.compile(r"(?<=[.!?])\s+")


class PlayedReader(ThreadingHTTPServer):
    """The server. `key` is the one it asks for; `statuses` are what its first answers fail with."""

    daemon_threads = True

    def __init__(
        self, key: str | None = None, statuses: Sequence[int] = (), answer: Answer | None = None
    ):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.key = key
        self.answer = answer or completion
        self.asked: list[dict[str, Any]] = []
        self._statuses = list(statuses)
        self._lock = threading.Lock()

    @property
    def url(self) -> str:
        """Its base address."""
        return f"http://127.0.0.1:{self.server_address[1]}/v1"

    def status(self, path: str, authorization: str | None) -> int:
        """Whether a request is served, or what it fails with."""
        if path != "/v1/chat/completions":
            return 404
        if self.key is not None and authorization != f"Bearer {self.key}":
            return 401
        with self._lock:
            return self._statuses.pop(0) if self._statuses else 200

    def handle_error(self, request: Any, client_address: Any) -> None:
        """A client that was killed hangs up: that is no news."""

    def keep(self, body: dict[str, Any]) -> None:
        """Remember what was asked."""
        with self._lock:
            self.asked.append(body)


class _Handler(BaseHTTPRequestHandler):
    server: PlayedReader

    def do_POST(self) -> None:
        """Answer one request."""
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        status = self.server.status(self.path, self.headers["authorization"])
        if status == 200:
            self.server.keep(body)
        said = self.server.answer(body) if status == 200 else {"error": {"message": "played"}}
        sent = json.dumps(said).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(sent)))
        self.end_headers()
        self.wfile.write(sent)

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002 - the base's name
        """Nothing is logged: the harness prints what counts."""


def completion(body: dict[str, Any]) -> dict[str, Any]:
    """The chat completion for a request."""
    prompts = [str(message["content"]) for message in body["messages"]]
    said = judged(prompts[-1]) if body["model"] == JUDGE else read(prompts[-1])
    return saying(said, prompts)


def saying(said: str, prompts: Sequence[str]) -> dict[str, Any]:
    """A completion around what is said, its tokens counted cautiously."""
    choice = {"message": {"role": "assistant", "content": said}, "finish_reason": "stop"}
    usage = {
        "prompt_tokens": sum(map(_COUNTER.count, prompts)),
        "completion_tokens": _COUNTER.count(said),
    }
    return {"id": "played", "choices": [{"index": 0, **choice}], "usage": usage}


def read(prompt: str) -> str:
    """The sentence of the excerpt with the most words of the question, if it has two of them."""
    question, excerpt = _QUESTION.findall(prompt), _EXCERPT.search(prompt)
    if not question or not excerpt:
        return "ready"
    wanted = frozenset(answer_words(question[-1]))
    lines = (_BEFORE.sub("", line) for line in excerpt[1].splitlines())
    sentences = [sentence for line in lines for sentence in _END.split(line)]

    def shared(sentence: str) -> int:
        return len(wanted.intersection(answer_words(sentence)))

    best = max(sentences, key=shared, default="")
    return best if shared(best) >= 2 else "I don't know."


def judged(prompt: str) -> str:
    """CORRECT where the given answer has a token F1 of a half with the expected one."""
    expected, given = _EXPECTED.search(prompt), _GIVEN.search(prompt)
    if not expected or not given:
        return "ready"
    return "CORRECT" if token_f1(given[1], expected[1]) >= 0.5 else "WRONG"


@contextmanager
def played_reader(
    key: str | None = None, statuses: Sequence[int] = (), answer: Answer | None = None
) -> Iterator[PlayedReader]:
    """A played reader that runs, and is stopped afterwards."""
    with PlayedReader(key, statuses, answer) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.01,), daemon=True)
        thread.start()
        try:
            yield server
        finally:
            server.shutdown()
            thread.join()
