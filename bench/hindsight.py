"""Hindsight beside us: its own server as a process of its own, asked through its own client.

It runs without a language model (provider `none`: texts are kept as chunks) and without its
cross-encoder (provider `rrf`), whose weights come from a model hub. Its embedder is ours, behind
the interface of a text-embeddings-inference server. It keeps its tables in the same PostgreSQL.
It embeds a message with its date, so in the first run its writes wait for the model; in the next
one those vectors come from the file, too.
"""

from __future__ import annotations

import json
import os
import socket
import subprocess
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import import_module
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
from anyio.from_thread import start_blocking_portal
from psycopg.conninfo import conninfo_to_dict

from bench.common import ROOT
from bench.peer_stores import Embed
from bench.sets import Message

PROGRAM = ROOT / ".venv-hindsight" / "bin" / "hindsight-api"
# Seconds that a start or a write may take; on a busy machine the start took five minutes.
PATIENCE = 600.0
# What it returns by default. Long messages need more for ten of them; a token is 3 characters
# or more.
MAX_TOKENS = 4096
CHARACTERS = 3


class HindsightStore:
    """Hindsight's `retain_batch` and `recall`, a bank for each space, a document per message."""

    def __init__(self, dsn: str, home: Path, embed: Embed):
        client: Any = import_module("hindsight_client").Hindsight
        home.mkdir(parents=True, exist_ok=True)
        self._longest = 0
        with ExitStack() as stack:
            model = stack.enter_context(embedding_server(embed))
            address = stack.enter_context(_server(_database(dsn), model, home / "hindsight.log"))
            self._portal = stack.enter_context(start_blocking_portal())
            self._client = self._portal.call(lambda: _opened(client, address))
            stack.callback(self._portal.call, self._client.aclose)
            self._stack = stack.pop_all()

    def write(self, space: str, messages: Mapping[str, Message]) -> None:
        """One `retain_batch`, which returns when all is stored."""
        items = [_item(key, message) for key, message in messages.items()]
        self._longest = max(self._longest, *(len(item["content"]) for item in items))
        self._portal.call(lambda: self._client.aretain_batch(space, items))

    def search(self, space: str, question: str, limit: int) -> list[str]:
        """The best of its own fusion: meaning, words, links, time."""
        room = max(MAX_TOKENS, limit * self._longest // CHARACTERS)
        found = self._portal.call(lambda: self._client.arecall(space, question, max_tokens=room))
        return list(dict.fromkeys(hit.document_id for hit in found.results))[:limit]

    def close(self) -> None:
        """End the client, the server and the embedder behind it."""
        self._stack.close()


async def _opened(client: Any, address: str) -> Any:
    # Its HTTP session belongs to the loop that it is made in.
    return client(base_url=address, timeout=PATIENCE)


def _item(key: str, message: Message) -> dict[str, Any]:
    item: dict[str, Any] = {"content": message.text, "document_id": key}
    return item | ({"timestamp": message.at} if message.at else {})


def _database(dsn: str) -> str:
    """A database for it alone, as the address that it reads."""
    with psycopg.connect(dsn, autocommit=True) as connection:
        connection.execute("CREATE DATABASE hindsight")
    told = {name: quote(str(value), safe="") for name, value in conninfo_to_dict(dsn).items()}
    login = f"{told['user']}:{told['password']}"
    return f"postgresql://{login}@/hindsight?host={told['host']}&port={told.get('port', 5432)}"


@contextmanager
def _server(database: str, model: str, log: Path) -> Iterator[str]:
    """Its server as its package starts it, until it answers; ended afterwards."""
    if not PROGRAM.is_file():
        raise FileNotFoundError(f"{PROGRAM} is not installed; run make bench T=peers")
    port = _free_port()
    settings = {
        "LLM_PROVIDER": "none",
        "EMBEDDINGS_PROVIDER": "tei",
        "EMBEDDINGS_TEI_URL": model,
        "RERANKER_PROVIDER": "rrf",
        "DATABASE_URL": database,
        "HOST": "127.0.0.1",
        "PORT": str(port),
    }
    around = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    around |= {f"HINDSIGHT_API_{name}": value for name, value in settings.items()}
    with log.open("wb") as told:
        server = subprocess.Popen([PROGRAM], env=around, cwd=log.parent, stdout=told, stderr=told)
        try:
            _wait(server, f"http://127.0.0.1:{port}", log)
            yield f"http://127.0.0.1:{port}"
        finally:
            _end(server)


def _end(server: subprocess.Popen[bytes]) -> None:
    server.terminate()
    try:
        server.wait(30)
    except subprocess.TimeoutExpired:
        server.kill()
        server.wait()


def _wait(server: subprocess.Popen[bytes], address: str, log: Path) -> None:
    end = time.monotonic() + PATIENCE
    while time.monotonic() < end and server.poll() is None:
        try:
            with urllib.request.urlopen(f"{address}/health", timeout=5):  # noqa: S310 - our own
                return
        except (urllib.error.URLError, OSError):
            time.sleep(0.5)
    lines = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()
    raise RuntimeError(f"its server does not start: {lines[-1] if lines else 'no output'}")


def _free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        port: int = found.getsockname()[1]
        return port


@contextmanager
def embedding_server(embed: Embed) -> Iterator[str]:
    """The embedder behind HTTP: the two calls of text-embeddings-inference that clients make."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            self._answer({"model_id": "bge-small-en-v1.5"})

        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            self._answer(embed(asked["inputs"]))

        def _answer(self, told: Any) -> None:
            body = json.dumps(told).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: Any) -> None:
            """Nothing is printed: the table is."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
