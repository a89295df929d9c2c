"""`remember`: the shortest way to memory of one user, with and without `await`.

    from idetic import remember

    ada = remember(user="ada")
    ada.add("I'm allergic to peanuts.")
    print(ada.search("what can she eat?"))

The embedded database, `assistant_agent`, tenant "default". `ada.memory` is the whole API. As with
`Idetic`, what works on memory is loaded when a database is opened.
"""

from __future__ import annotations

import atexit
import logging
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from typing import TYPE_CHECKING, Any, Self
from uuid import UUID

from idetic.errors import IdeticError, InputError
from idetic.library.blocking import blocking
from idetic.library.idetic import Idetic
from idetic.verbs.handle import SyncHandle

if TYPE_CHECKING:
    from anyio.from_thread import BlockingPortal

    from idetic.assistant.intake import TurnReceipt
    from idetic.assistant.messages import Messages
    from idetic.assistant.profile import Profile
    from idetic.assistant.why import WhyAnswer
    from idetic.erasure import Erased, ErasedAnchor
    from idetic.library.handles import Memory
    from idetic.library.sync import SyncMemory
    from idetic.model import Entry, Principal, Scope
    from idetic.recall.context import Context
    from idetic.recall.hits import Hit, Recall
    from idetic.spec.memory_spec import MemorySpec

log = logging.getLogger("idetic")
AGENT = "assistant_agent"
TENANT = "default"


@dataclass(frozen=True, slots=True)
class Found:
    """The result of a search: the relevant hits, best first; `print` shows each with its source.

    `recall` has all hits, also those below the floors. `unknown` says why no hit is relevant.
    """

    recall: Recall
    hits: tuple[Hit, ...]
    unknown: str | None = None

    def __iter__(self) -> Iterator[Hit]:
        return iter(self.hits)

    def __len__(self) -> int:
        return len(self.hits)

    def __getitem__(self, place: int) -> Hit:
        return self.hits[place]

    def __str__(self) -> str:
        """One line for each hit: its text, what it is, who said it and when."""
        return "\n".join(map(_hit_line, self.hits)) or f"I don't know: {self.unknown}."


def _hit_line(hit: Hit) -> str:
    """A hit in one line."""
    entry = hit.entry
    day = f"{entry.valid_at or entry.created_at:%Y-%m-%d}"
    by = entry.speaker or entry.origin.value
    until = f" until {entry.invalid_at:%Y-%m-%d}" if entry.invalid_at else ""
    return f"{' '.join(hit.excerpt.split())}  [{hit.standing}{until}, {by}, {day}]"


class UserMemory:
    """The memory of one user; `memory` is the same memory with every verb."""

    def __init__(self, db: Idetic, memory: Memory):
        self._db = db
        self.memory = memory

    def __repr__(self) -> str:
        return f"UserMemory({self.memory.scope})"

    async def add(
        self, messages: Messages, *, speaker: str | None = None, at: datetime | None = None
    ) -> list[TurnReceipt]:
        """Remember a text, messages with role and content, or a whole chat's export.

        The rules draw facts from it at once; a model as the extractor does that later, in a worker.
        """
        receipts = await self.memory.add(messages, speaker=speaker, at=at)
        if self._db.extractor is None:
            await self.memory.extract()
        return receipts

    async def search(self, question: str, *, limit: int = 5) -> Found:
        """Find entries that answer a question, best first."""
        from idetic.recall.floors import above_floors

        recalled = await self.memory.recall(question, limit=limit)
        kept, unknown = above_floors(recalled)
        return Found(recalled, kept.hits if kept else (), unknown)

    async def context(self, question: str, *, budget: int | None = None) -> Context:
        """Make a block of quoted evidence about a question, for a prompt."""
        return await self.memory.context(question, budget=budget)

    async def facts(self) -> list[Entry]:
        """List the current facts, newest first."""
        from idetic.model import Tier, Typology

        return await self.memory.list(tier=Tier.PERSISTENT, typology=Typology.SEMANTIC)

    async def profile(self, *, budget: int | None = None) -> Profile:
        """Make a page of this user's facts and preferences."""
        from idetic.assistant.profile import BUDGET

        return await self.memory.profile(budget=BUDGET if budget is None else budget)

    async def why(self, what: Hit | Entry | UUID | Context | Found | str) -> WhyAnswer:
        """Explain a hit, a fact, a context or the answer to a question: who said what, and when."""
        from idetic.assistant.why import WhyAnswer

        if isinstance(what, str):
            what = await self.search(what, limit=1)
        ids = _ids(what)
        return WhyAnswer(await self.memory.why(ids) if ids else ())

    async def forget(
        self, what: Hit | Entry | UUID | None = None, *, reason: str = "the user asked for it"
    ) -> Erased | ErasedAnchor:
        """Delete one entry, the words it rests on, and all entries made from them, for good.

        Without an argument it deletes everything about this user.
        """
        if what is None:
            return await self.memory.erase_anchor(reason=reason)
        (entry_id,) = _ids(what)
        return await self.memory.forget(entry_id, reason=reason, sources=True)

    async def close(self) -> None:
        """Close the database."""
        await self._db.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(self, *_error: object) -> None:
        await self.close()


def _ids(what: Hit | Entry | UUID | Context | Found) -> list[UUID]:
    """The entries that something consists of."""
    from idetic.model import Entry
    from idetic.recall.context import Context
    from idetic.recall.hits import Hit

    if isinstance(what, UUID):
        return [what]
    if isinstance(what, Hit):
        return [what.entry.id]
    if isinstance(what, Entry):
        return [what.id]
    if isinstance(what, Context):
        return [one.entry_id for one in what.included]
    if isinstance(what, Found):
        return [hit.entry.id for hit in what.hits]
    raise InputError(
        f"A {type(what).__name__} has no entries to look at.",
        remedy="Pass a hit, an entry, an id, a context, or a question.",
    )


async def remember_async(
    user: str,
    *,
    tenant: str = TENANT,
    agent: str = AGENT,
    principal: Principal | None = None,
    **options: Any,
) -> UserMemory:
    """Memory of one user for code with an event loop; `options` are those of `Idetic.open`.

    The first call fetches the embedding model, unless you give an `embedder`.
    """
    db = Idetic.open(**options)
    try:
        await _start(db, with_model=options.get("embedder") is None)
        return await user_memory(db, user, tenant=tenant, agent=agent, principal=principal)
    except BaseException:
        await db.close()
        raise


async def _start(db: Idetic, *, with_model: bool) -> None:
    """Open the database and fetch the model side by side: neither needs the other."""
    from anyio import create_task_group, to_thread

    try:
        async with create_task_group() as group:
            if with_model:
                group.start_soon(to_thread.run_sync, _fetch_model)
            await db.start()
    except ExceptionGroup as failed:
        # The caller started no tasks, so the one error is raised without its group.
        raise failed.exceptions[0] from None


def _fetch_model() -> None:
    """Bring the embedding model here if it is missing; without it, words alone are searched."""
    from idetic.embed import install

    try:
        install(log.warning)
    except IdeticError as error:
        log.warning("Going on without the embedding model: %s %s", error.message, error.remedy)


async def user_memory(
    db: Idetic,
    user: str,
    *,
    tenant: str = TENANT,
    agent: str = AGENT,
    principal: Principal | None = None,
) -> UserMemory:
    """Memory of one user in a database that is open; closing it closes the database."""
    # A release may bring another version of the shipped spec; nobody here has to know.
    assistant = await db.agent(agent, apply=agent == AGENT, embed_inline=True)
    return UserMemory(db, assistant.within(user_scope(assistant.spec, user, tenant, principal)))


def user_scope(
    spec: MemorySpec, user: str, tenant: str = TENANT, principal: Principal | None = None
) -> Scope:
    """The scope of one user: the tenant and the user are the keys of the anchor, in this order."""
    from idetic.model import Principal
    from idetic.verbs.authorization import bind

    keys = [key.name for key in spec.anchor.keys]
    anchor = dict(zip(keys, (tenant, user), strict=False))
    return bind(spec, anchor, principal or Principal.agent("assistant"))


class SyncUserMemory(SyncHandle):
    """What an assistant remembers of one user, without `await`.

    It closes by `close()`, at the end of a `with` block, or with the program.
    """

    add = blocking(UserMemory.add)
    search = blocking(UserMemory.search)
    context = blocking(UserMemory.context)
    facts = blocking(UserMemory.facts)
    profile = blocking(UserMemory.profile)
    why = blocking(UserMemory.why)
    forget = blocking(UserMemory.forget)

    def __init__(self, target: UserMemory, portal: BlockingPortal, stack: ExitStack):
        super().__init__(target, portal)
        # Closes the database, and ends the thread of its event loop.
        self._stack = stack
        atexit.register(self.close)

    @property
    def memory(self) -> SyncMemory:
        """The whole API for this user."""
        from idetic.library.sync import SyncMemory

        return self.beside(SyncMemory, self.target.memory)

    def close(self) -> None:
        """Close the database. Twice is fine."""
        atexit.unregister(self.close)
        self._stack.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_error: object) -> None:
        self.close()


def remember(
    user: str,
    *,
    tenant: str = TENANT,
    agent: str = AGENT,
    principal: Principal | None = None,
    **options: Any,
) -> SyncUserMemory:
    """Memory of one user: `ada = remember(user="ada")`; `options` are those of `Idetic.open`."""
    from anyio.from_thread import start_blocking_portal

    with ExitStack() as stack:
        portal = stack.enter_context(start_blocking_portal())
        ask = partial(remember_async, tenant=tenant, agent=agent, principal=principal, **options)
        target = portal.call(partial(ask, user))
        stack.callback(portal.call, target.close)
        return SyncUserMemory(target, portal, stack.pop_all())
