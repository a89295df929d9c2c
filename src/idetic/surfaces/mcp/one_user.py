"""The user of this machine: an assistant's memory of one person, ready without any setting.

A client is answered at once: the database is opened, and the agent made, beside the first answers,
and then the embedding model is fetched. Until it is there, memory is found by its words.
"""

from __future__ import annotations

import getpass
import logging
import threading
from asyncio import wrap_future
from concurrent.futures import Future
from typing import Any

from anyio import Lock

from idetic.embed import Installed, install
from idetic.errors import IdeticError, InputError
from idetic.library.idetic import Idetic
from idetic.library.remember import AGENT, user_memory, user_scope
from idetic.model import Scope
from idetic.spec.loader import load
from idetic.spec.memory_spec import MemorySpec
from idetic.surfaces.mcp.callers import LOCAL, Caller, CallerSource, inline

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
                held = await user_memory(self._db, self._user)
                self._caller = Caller(self._db, inline(held.memory), LOCAL)
        return self._caller

    async def scope(self, request: Any) -> tuple[MemorySpec, Scope]:
        """As the shipped spec has it, known before any database is."""
        del request
        return self._spec, self._scope

    async def prepare(self) -> None:
        """Open the database before it is asked for; then bring the model if it is missing."""
        try:
            held = await self.caller(None)
        except IdeticError as error:
            log.warning("%s %s", error.message, error.remedy)
            return
        if await held.db.model.get() is None:
            await self._fetch_model(held)

    async def _fetch_model(self, held: Caller) -> None:
        """Bring the embedding model, then give what waits for it its vectors."""
        log.info("The embedding model is fetched; until it is here, memory is found by its words.")
        try:
            installed = await _aside()
            held.db.model.look_again()
            await held.memory.embed()
        except (IdeticError, OSError) as error:
            log.warning("Memory is found by its words alone: %s", error)
        else:
            log.info("The embedding model is here, from the %s.", installed.source)


def system_user() -> str:
    """The name of whoever runs this process."""
    try:
        return getpass.getuser()
    except (OSError, KeyError):
        # A container may run us as a number that has no name.
        raise InputError(
            "This user of the machine has no name.", remedy="Give --user NAME."
        ) from None


async def _aside() -> Installed:
    """Install in a thread that keeps nobody from leaving: a download may take minutes."""
    done: Future[Installed] = Future()
    done.set_running_or_notify_cancel()

    def work() -> None:
        """Hand what the installer gives or raises to whoever waits for it."""
        try:
            done.set_result(install())
        except BaseException as raised:  # noqa: BLE001 - told to whoever waits
            done.set_exception(raised)

    threading.Thread(target=work, daemon=True).start()
    return await wrap_future(done)
