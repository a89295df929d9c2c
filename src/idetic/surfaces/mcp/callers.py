"""Whose memory a request is about, and which session its notes go to.

The connection says whose memory it is; no argument does.
"""

from __future__ import annotations

import getpass
import logging
import threading
from asyncio import wrap_future
from collections import OrderedDict
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import Future
from dataclasses import dataclass
from typing import Any, Protocol, TypeVar
from uuid import UUID

from anyio import Lock

from idetic.embed import Installed, install
from idetic.errors import IdeticError, InputError, KeyRefused, ScopeClosed
from idetic.evidence import Closed
from idetic.keys import key_id_of
from idetic.library.handles import Memory, Session
from idetic.library.idetic import Idetic
from idetic.library.remember import AGENT, UserMemory, user_memory, user_scope
from idetic.model import Scope
from idetic.spec.loader import load
from idetic.spec.memory_spec import MemorySpec
from idetic.verbs.arguments import check_uuid

T = TypeVar("T")

# Where the HTTP transport leaves what it authenticated, in the request's own ASGI scope.
CALLER = "idetic.caller"
LOCAL = "local"


@dataclass(frozen=True, slots=True)
class Caller:
    """A memory, and the name of its caller: a key's id, or this machine."""

    db: Idetic
    memory: Memory
    name: str

    @property
    def user(self) -> UserMemory:
        """The same memory as `remember` has it, for conversations."""
        return UserMemory(self.db, self.memory)


class CallerSource(Protocol):
    """Says for each request whose memory it is about."""

    async def caller(self, request: Any) -> Caller:
        """The memory of a request; `request` is None where the transport has none."""
        ...

    async def scope(self, request: Any) -> tuple[MemorySpec, Scope]:
        """The spec and the scope of a request, which say what it is offered."""
        memory = (await self.caller(request)).memory
        return memory.agent.spec, memory.scope


class Local(CallerSource):
    """Somebody at this machine, who named the scope when the server was started."""

    def __init__(self, db: Idetic, memory: Memory):
        self._caller = Caller(db, inline(memory), LOCAL)

    async def caller(self, request: Any) -> Caller:
        """Always the same."""
        del request
        return self._caller


class OneKey(CallerSource):
    """One API key for the whole connection; asked again each time, so a revocation holds."""

    def __init__(self, db: Idetic, key: str):
        self._db = db
        self._key = key
        self._name = str(key_id_of(key))

    async def caller(self, request: Any) -> Caller:
        """What the key stands for now."""
        del request
        memory = inline(await self._db.authenticate(self._key))
        return Caller(self._db, memory, self._name)


class EachRequest(CallerSource):
    """The key of each request, as `http.py` authenticated it."""

    async def caller(self, request: Any) -> Caller:
        """What that key stands for; a request without one never gets here."""
        scope: Mapping[str, Any] = getattr(request, "scope", {})
        caller = scope.get(CALLER)
        if not isinstance(caller, Caller):
            raise KeyRefused
        return caller


def inline(memory: Memory) -> Memory:
    """The same memory, with vectors made as it is written: beside a stdio server no worker runs."""
    return memory.agent.embedding_inline().within(memory.scope)


# Sessions stay open in the database without us; this only saves a link of the chain per note.
MOST_KEPT = 1_000


class Sessions:
    """Open sessions by holder. The protocol may be stateless, so a connection cannot keep them."""

    def __init__(self) -> None:
        self._own: dict[str, UUID] = {}
        self._kept: OrderedDict[tuple[str, UUID], Session] = OrderedDict()
        self._opening = Lock()

    async def write(
        self, caller: Caller, named: str | None, work: Callable[[Session], Awaitable[T]]
    ) -> tuple[T, UUID]:
        """Do something in a session. The holder's own one, if closed meanwhile, is replaced."""
        if named is not None:
            wanted = check_uuid(named, "session_id")
            return await work(await self._open(caller, wanted)), wanted
        session, session_id = await self._own_of(caller)
        try:
            return await work(session), session_id
        except ScopeClosed:
            # Closed by somebody else, or its lease ran out: the next thread has begun.
            self._forget(caller, session_id)
        session, session_id = await self._own_of(caller)
        return await work(session), session_id

    def reading(self, caller: Caller, named: str | None) -> Memory | Session:
        """Where to read from: a session that is open here, else memory as a whole."""
        if named is not None:
            return caller.memory.session(check_uuid(named, "session_id"))
        own = self._own.get(caller.name)
        return caller.memory if own is None else caller.memory.session(own)

    async def close(self, caller: Caller, named: str | None, reason: str) -> tuple[Closed, UUID]:
        """End a session."""
        own = self._own.get(caller.name)
        session_id = own if named is None else check_uuid(named, "session_id")
        if session_id is None:
            raise InputError(
                "No session is open here.",
                remedy="Observe something first, or give the session_id that observe named.",
            )
        closed = await caller.memory.session(session_id).close(reason)
        self._forget(caller, session_id)
        return closed, session_id

    async def leave(self, callers: CallerSource) -> None:
        """End the own session of the one holder, if one is open: its connection has ended."""
        if self._own:
            await self.close(await callers.caller(None), None, "the connection ended")

    async def _own_of(self, caller: Caller) -> tuple[Session, UUID]:
        """The holder's own session, opened at need; locked, so that two calls at once share one."""
        async with self._opening:
            known = self._own.get(caller.name)
            session = caller.memory.session(known)
            session_id = check_uuid(session.id, "session_id")
            opened = await self._open(caller, session_id)
            self._own[caller.name] = session_id
        return opened, session_id

    async def _open(self, caller: Caller, session_id: UUID) -> Session:
        """A handle that takes writes. Kept while scope and spec are the same as when it opened."""
        name = (caller.name, session_id)
        kept = self._kept.get(name)
        if kept is not None and _fits(kept, caller.memory):
            self._kept.move_to_end(name)
            return kept
        session = await caller.memory.session(session_id).open()
        self._kept[name] = session
        while len(self._kept) > MOST_KEPT:
            self._kept.popitem(last=False)
        return session

    def _forget(self, caller: Caller, session_id: UUID) -> None:
        """Let go of a session that ended, so that the next write opens another."""
        self._kept.pop((caller.name, session_id), None)
        if self._own.get(caller.name) == session_id:
            del self._own[caller.name]


def _fits(session: Session, memory: Memory) -> bool:
    """Whether a kept session still has the spec's version and the scope of its caller."""
    return session.agent.version == memory.agent.version and session.scope == memory.scope


# --- the user of this machine: an assistant's memory of one person, ready without any setting ----

# A client is answered at once: the database is opened, and the agent made, beside the first
# answers, and then the embedding model is fetched. Until it is there, memory is found by its words.

log = logging.getLogger("idetic.mcp")


class OneUser(CallerSource):
    """One user of the shipped assistant, within the tenant of this machine.

    Without a name it is whoever runs this process. The database is opened when it is first needed.
    """

    def __init__(self, db: Idetic, user: str | None = None):
        self._db = db
        self._user = system_user() if user is None else user
        self._spec = load(AGENT)
        self._scope = user_scope(self._spec, self._user)
        self._caller: Caller | None = None
        self._opening = Lock()

    async def caller(self, request: Any) -> Caller:
        """Always the same; if the database could not be opened, the next request tries again."""
        del request
        async with self._opening:
            if self._caller is None:
                await self._db.start()
                user = await user_memory(self._db, self._user)
                self._caller = Caller(self._db, inline(user.memory), LOCAL)
        return self._caller

    async def scope(self, request: Any) -> tuple[MemorySpec, Scope]:
        """As the shipped spec has it, known before any database is."""
        del request
        return self._spec, self._scope

    async def prepare(self) -> None:
        """Open the database before it is asked for; then bring the model if it is missing."""
        try:
            caller = await self.caller(None)
        except IdeticError as error:
            log.warning("%s %s", error.message, error.remedy)
            return
        if await caller.db.model.get() is None:
            await self._fetch_model(caller)

    async def _fetch_model(self, caller: Caller) -> None:
        """Bring the embedding model, then give what waits for it its vectors."""
        log.info("The embedding model is fetched; until it is here, memory is found by its words.")
        try:
            installed = await _aside()
            caller.db.model.look_again()
            await caller.memory.embed()
        except (IdeticError, OSError) as error:
            log.warning("Memory is found by its words alone: %s", error)
        else:
            log.info("The embedding model is here, from the %s.", installed.source)


def system_user() -> str:
    """The name of the user who runs this process."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        # A container may run us as a number that has no name.
        raise InputError(
            "This user of the machine has no name.", remedy="Give --user NAME."
        ) from None


async def _aside() -> Installed:
    """Install in a thread that keeps nobody from leaving: a download may take minutes."""
    outcome: Future[Installed] = Future()
    outcome.set_running_or_notify_cancel()

    def work() -> None:
        """Put the installer's result, or its error, into the future."""
        try:
            outcome.set_result(install())
        except BaseException as raised:  # noqa: BLE001 - told to whoever waits
            outcome.set_exception(raised)

    threading.Thread(target=work, daemon=True).start()
    return await wrap_future(outcome)
