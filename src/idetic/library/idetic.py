"""`Idetic`: an open database. The composition root of the library."""

from __future__ import annotations

import getpass
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from anyio import to_thread

from idetic.context import shipped_contexts
from idetic.embed.port import Embedder
from idetic.errors import DatabaseClosed, InputError, SpecChanged, SpecNotFound
from idetic.library.handles import Agent, Memory
from idetic.library.keys import Keys
from idetic.library.rooms import Rooms, compose
from idetic.lifecycle.consolidation import ReasonerFactory
from idetic.ports import Clock, SystemClock
from idetic.recall.model import Model
from idetic.recall.rerank import Reranker
from idetic.spec.loader import load
from idetic.spec.memory_spec import MemorySpec
from idetic.store.connect import Opened, open_database
from idetic.store.database import Database
from idetic.store.plan import Plan
from idetic.store.registry import Registry, SpecVersion

SpecSource = str | Path | Mapping[str, Any] | MemorySpec


class Idetic:
    """Governed memory on one PostgreSQL database.

    `Idetic.open()` uses the embedded server in the user's data directory and starts it if
    need be; `Idetic.open("postgresql://…")` uses any PostgreSQL 15+ with pgvector, pg_trgm
    and btree_gist. Use it as `async with Idetic.open() as db`.
    """

    def __init__(
        self,
        dsn: str | None,
        admin_dsn: str | None,
        home: Path | None,
        clock: Clock,
        keep: bool | None,
        embedder: Embedder | None = None,
        reranker: Reranker | None = None,
        reasoner: ReasonerFactory | None = None,
    ):
        self.reranker = reranker
        self.reasoner = reasoner
        self._arguments = (dsn, admin_dsn, home, keep)
        self.clock = clock
        self.model = Model(embedder)
        self.keys = Keys(self)
        self._opened: Opened | None = None

    @classmethod
    def open(
        cls,
        dsn: str | None = None,
        *,
        admin_dsn: str | None = None,
        home: str | Path | None = None,
        clock: Clock | None = None,
        keep: bool | None = None,
        embedder: Embedder | None = None,
        reranker: Reranker | None = None,
        reasoner: ReasonerFactory | None = None,
    ) -> Self:
        """Say which database; nothing is touched until `async with` or `start()`.

        `admin_dsn` is a login that may create roles and schemas, where `dsn`'s may not;
        `home` is where the embedded server lives; `keep` leaves that server running; `embedder`
        replaces the pinned model; `reranker` serves specs that put one on top; `reasoner` makes the
        reasoner that `memory.consolidate()` may ask, one for each run.
        """
        if dsn is not None and (not isinstance(dsn, str) or not dsn.strip()):
            raise InputError("The DSN is a text such as 'postgresql://user@host/database'.")
        if dsn is None and admin_dsn is not None:
            raise InputError("admin_dsn goes with a dsn; the embedded server needs neither.")
        if home is not None and not isinstance(home, str | Path):
            raise InputError("home is a directory, as a text or a Path.")
        place = Path(home) if home else None
        return cls(
            dsn, admin_dsn, place, clock or SystemClock(), keep, embedder, reranker, reasoner
        )

    async def start(self) -> Self:
        """Open the database; raises a clear error if it lacks anything."""
        if self._opened is None:
            dsn, admin_dsn, home, keep = self._arguments
            self._opened = await open_database(dsn, admin_dsn, home=home, keep=keep)
        return self

    async def close(self) -> None:
        """Close the pool; the last one out stops an embedded server that is not kept."""
        if self._opened is not None:
            await self._opened.database.close()
            if self._opened.server is not None:
                await to_thread.run_sync(self._opened.server.release)

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        await self.close()

    @property
    def database(self) -> Database:
        """The open database; reference contexts and surfaces build on it."""
        if self._opened is None:
            raise DatabaseClosed(
                "This database is not open yet.", remedy="Use `async with Idetic.open() as db`."
            )
        return self._opened.database

    @property
    def embedded(self) -> bool:
        """Whether this database is the embedded server's."""
        return self._opened is not None and self._opened.server is not None

    @property
    def dsn(self) -> str:
        """The DSN of the application role, for tools that want a connection of their own."""
        return self.database.dsn

    async def agent(
        self, spec: SpecSource, *, apply: bool = False, embed_inline: bool = False
    ) -> Agent:
        """An agent by its spec: a shipped name, a file, a mapping, a MemorySpec, or the name of
        one that this database holds.

        A spec that the database has never seen is applied. A changed one is refused unless
        `apply=True`: look at `plan` first. `embed_inline` gives each entry its vector as it is
        written, for the time the model takes; otherwise it stays pending until `memory.embed()`.
        """
        chosen = await self._find(spec)
        plan = await self.plan(chosen)
        if plan.from_version not in (None, plan.to_version) and not apply:
            raise SpecChanged(
                f"The spec of {chosen.agent} differs from version {plan.from_version}, "
                "which this database holds.",
                remedy="Look at `await db.plan(spec)` or `idetic spec plan`, then apply it with "
                "`db.agent(spec, apply=True)` or `idetic spec apply`.",
            )
        if not plan.empty:
            plan = await self.apply(chosen)
        rooms = self._rooms(chosen, plan)
        return Agent(chosen, plan.to_version, rooms, embed_inline=embed_inline)

    async def authenticate(self, key: str) -> Memory:
        """The memory that an API key stands for: its scope is the key's, whatever is asked."""
        return await self.keys.authenticate(key)

    def _rooms(self, spec: MemorySpec, plan: Plan) -> Rooms:
        """Compose the rooms of one agent: the only place where they meet."""
        return compose(
            spec, plan.to_version, self.database, plan.extensions, self.model, self.clock,
            self.reranker,
            self.reasoner,
        )  # fmt: skip

    async def plan(self, spec: SpecSource) -> Plan:
        """What applying a spec would change; changes nothing."""
        return await self._registry.plan(load(spec))

    async def apply(self, spec: SpecSource) -> Plan:
        """Apply a spec and store its version. Applying twice changes nothing."""
        return await self._registry.apply(load(spec), by=getpass.getuser(), at=self.clock.now())

    async def spec_versions(self, agent: str | None = None) -> list[SpecVersion]:
        """Every stored spec version, oldest first."""
        return await self._registry.versions(agent)

    @property
    def _registry(self) -> Registry:
        return Registry(self.database, shipped_contexts())

    async def _find(self, spec: SpecSource) -> MemorySpec:
        """A name that is not shipped may be one that the database holds."""
        try:
            return load(spec)
        except SpecNotFound:
            known = isinstance(spec, str) and spec.isascii() and spec.isidentifier()
            stored = await self.spec_versions(str(spec)) if known else []
            if not stored:
                raise
            return load(stored[-1].spec)
