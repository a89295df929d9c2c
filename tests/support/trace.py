"""How far a call travels: the functions between a handle and the driver, the files it runs through.

`make trace` writes one note and closes one session on an embedded server of its own and prints the
way of both. `tests/integration/test_trace.py` bounds them, with the same functions.
"""

from __future__ import annotations

import shutil
import sys
import tempfile
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import FrameType
from typing import Any
from uuid import uuid4

import anyio
import psycopg
import pytest

import idetic
from idetic import Claim, Idetic, Observation, Principal
from idetic.context import Worlds
from idetic.library.handles import Memory

PACKAGE = Path(idetic.__file__).parent
MOST_CALLS = 6
# The aim is 25 (decision 0033). This is where it stands, and it only goes down.
MOST_FILES = 44
# Messages to the server: 19 and 32 before decision 0039; 15 and 12 one by one.
MOST_MESSAGES = {"close": 7, "erase": 10}
NOTE = "The night desk answers slowly."


@dataclass(frozen=True)
class Step:
    """One function of the package on the way to the driver."""

    file: str
    function: str

    def __str__(self) -> str:
        return f"{self.file}: {self.function}"


@contextmanager
def sending() -> Iterator[list[list[Step]]]:
    """Note who calls the driver, one way for each call: all that is sent goes through `wait`."""
    ways: list[list[Step]] = []
    wait = psycopg.AsyncConnection.wait

    async def noted(self: psycopg.AsyncConnection[Any], *args: Any, **named: Any) -> Any:
        # What the pool does in tasks of its own is nobody's call.
        if way := list(_way(sys._getframe(1))):
            ways.append(way[::-1])
        return await wait(self, *args, **named)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(psycopg.AsyncConnection, "wait", noted)
        yield ways


def _way(frame: FrameType | None) -> Iterator[Step]:
    """The package's functions on the stack, from the innermost outwards; wrappers count."""
    while frame is not None:
        if (file := _own(frame)) is not None:
            yield Step(file, frame.f_code.co_qualname)
        frame = frame.f_back


def _own(frame: FrameType) -> str | None:
    """The file of a function of the package, below it; None for anybody else's."""
    # By its module: what was made at run time, such as a dataclass's methods, has no file itself.
    path = Path(frame.f_globals.get("__file__") or frame.f_code.co_filename)
    return str(path.relative_to(PACKAGE)) if path.is_relative_to(PACKAGE) else None


async def way_to_the_driver(call: Callable[[], Awaitable[object]]) -> list[Step]:
    """The functions from the handle to the driver, as they stand when a call first sends."""
    with sending() as ways:
        await call()
    return ways[0]


async def messages_of(call: Callable[[], Awaitable[object]]) -> int:
    """How many messages a call sends to the server, each of them a round trip."""
    with sending() as ways:
        await call()
    return sum(way[-1].function == "send" for way in ways)


async def files_passed(call: Callable[[], Awaitable[object]]) -> list[str]:
    """The files of the package whose functions run during a call, also in threads it starts."""
    seen: dict[str, None] = {}

    def note(frame: FrameType, event: str, _argument: Any) -> None:
        if event == "call" and (file := _own(frame)) is not None:
            seen.setdefault(file)

    threading.setprofile(note)
    sys.setprofile(note)
    try:
        await call()
    finally:
        sys.setprofile(None)
        threading.setprofile(None)
    return list(seen)


# --- the calls that are bounded -----------------------------------------------------------------


def statements() -> list[Observation]:
    """What a session says: facts with claims, two of them alike, and a plain note."""
    claims = [Claim("partner bank", "cut-off", value) for value in ("16:00", "16:00", "17:00")]
    facts = [Observation(f"Wires leave until {claim.value}.", claim=claim) for claim in claims]
    return [*facts, Observation(NOTE)]


async def observe(db: Idetic) -> list[Step]:
    """The way of one note. The second one: the first also prepares what all others use."""
    memory = await bound(db)
    async with memory.session() as session:
        await session.observe("The first note of a connection.")
        return await way_to_the_driver(lambda: session.observe(NOTE))


async def close(db: Idetic) -> list[str]:
    """The files of one close, of a session after another one that had said the same."""
    memory = await bound(db)
    found: list[str] = []
    for _ in range(2):
        session = await memory.session().open()
        async with session.interaction() as turn:
            await turn.observe_many(statements())
        found = await files_passed(session.close)
    return found


async def messages(db: Idetic) -> dict[str, int]:
    """The messages of the same close, and of an erasure of what the session spoke of."""
    memory = await bound(db)
    found: dict[str, int] = {}
    for _ in range(2):
        session = await memory.session().open()
        async with session.interaction() as turn:
            await turn.observe_many(statements())
        found["close"] = await messages_of(session.close)
    keeper = memory.agent.bind(principal=Principal.maintenance("tracer"), **memory.scope.anchor)
    found["erase"] = await messages_of(lambda: keeper.erase("partner bank", reason="asked"))
    return found


async def bound(db: Idetic) -> Memory:
    """The World Agent's memory within an anchor of its own."""
    agent = await db.agent("world_agent")
    org_id, domain_id = uuid4(), uuid4()
    await Worlds(db).register(org_id, domain_id, "Payments")
    return agent.bind(org_id=org_id, domain_id=domain_id, principal=Principal.agent("tracer"))


# --- the script ---------------------------------------------------------------------------------


async def _print(home: Path) -> None:
    async with Idetic.open(home=home) as db:
        way, files, sent = await observe(db), await close(db), await messages(db)
    print(f"observe: {len(way)} calls to the driver (at most {MOST_CALLS})")
    print(*(f"  {number} {step}" for number, step in enumerate(way, start=1)), sep="\n")
    print(f"session.close: {len(files)} files (at most {MOST_FILES})")
    print(*(f"  {file}" for file in sorted(files)), sep="\n")
    for name, count in sent.items():
        print(f"{name}: {count} messages to the server (at most {MOST_MESSAGES[name]})")


def main() -> None:
    """Print both on an embedded server that is thrown away."""
    # Not a directory of the user's alone: started by root, the server runs as another user.
    home = Path(tempfile.mkdtemp(prefix="idetic-trace-"))
    home.chmod(0o755)
    try:
        anyio.run(_print, home)
    finally:
        shutil.rmtree(home, ignore_errors=True)


if __name__ == "__main__":
    main()
