"""`Idetic`: an open database. The composition root of the library.

Importing this module loads neither the driver nor what works on memory: opening a database does,
and each method what it alone needs, such as the personas' code.
"""

from __future__ import annotations

import getpass
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import asynccontextmanager
from copy import copy
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self, TypeAlias
from uuid import UUID

from idetic.errors import (
    DatabaseClosed,
    ExportRefused,
    IdeticError,
    InputError,
    SpecChanged,
    SpecNotFound,
)
from idetic.ids import Clock, SystemClock

if TYPE_CHECKING:
    from idetic.embed.port import Embedder
    from idetic.engine import Engine, ExtractorFactory, ReasonerFactory
    from idetic.library.handles import Agent, Memory
    from idetic.library.keys import Keys
    from idetic.library.persona import PersonaPools
    from idetic.library.spec_migration import SpecMigration
    from idetic.lifecycle.outbox import ProposalReceiver
    from idetic.persona.agent import PersonaAgent
    from idetic.persona.conversation import Tool
    from idetic.persona.events import Persona, Progress
    from idetic.persona.identity import Identity
    from idetic.persona.log_import import ImportReport
    from idetic.persona.ltm_derivation import Derivation
    from idetic.persona.persona_memory import PersonaMemory
    from idetic.persona.persona_stores import PersonaStores
    from idetic.recall.floors import FloorOverride
    from idetic.recall.rerank import Reranker
    from idetic.recall.tokens import TokenCounter
    from idetic.spec.memory_spec import MemorySpec
    from idetic.store.connect import OpenedDatabase
    from idetic.store.database import Administration, Database
    from idetic.store.distribution_plan import Distribution
    from idetic.store.plan import Plan
    from idetic.store.registry import Registry, SpecVersion

    SpecSource: TypeAlias = str | Path | Mapping[str, Any] | MemorySpec
    # The DSN, the administrator's, the home of the embedded server, whether that is kept running.
    DatabasePlace: TypeAlias = tuple[str | None, str | None, Path | None, bool | None]

PERSONA_SPEC = "persona_agent"


class Idetic:
    """Governed memory on one PostgreSQL database.

    `Idetic.open()` uses the embedded server in the user's data directory and starts it if
    need be; `Idetic.open("postgresql://…")` uses any PostgreSQL 15+ with pgvector, pg_trgm
    and btree_gist. Use it as `async with Idetic.open() as db`.
    """

    # Parts that stand in for the shipped ones; `open` says what each of them is.
    reranker: Reranker | None = None
    reasoner: ReasonerFactory | None = None
    extractor: ExtractorFactory | None = None
    floors: FloorOverride | None = None
    receiver: ProposalReceiver | None = None

    def __init__(self, place: DatabasePlace, clock: Clock, embedder: Embedder | None):
        from anyio import Lock

        from idetic.recall.embedding import Model

        self._place = place
        self.clock = clock
        self.model = Model(embedder)
        self._keys: Keys | None = None
        self._opened: OpenedDatabase | None = None
        self._personas: PersonaPools | None = None
        self._opening = Lock()
        # Where a view of another one gets its persona pools; it owns none.
        self._lent: Callable[[], Awaitable[PersonaPools]] | None = None

    def __repr__(self) -> str:
        # Never the DSN: it may hold a password.
        which = "embedded server" if self._place[0] is None else "PostgreSQL"
        return f"Idetic({which}, {'closed' if self._opened is None else 'open'})"

    @classmethod
    def open(  # noqa: PLR0913 - each part by its own name
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
        extractor: ExtractorFactory | None = None,
        floors: FloorOverride | None = None,
        receiver: ProposalReceiver | None = None,
    ) -> Self:
        """Describe a database; `async with` or `start()` opens it.

        `dsn` is a login that may become `idetic_app` and that row-level security binds. `admin_dsn`
        is a login that may create roles and schemas. `home` is the directory of the embedded
        server; `keep` leaves that server running. `clock` gives the time; a clock far from the
        server's must say `simulated = True`. `embedder` replaces the pinned model, and `reranker`
        the installed one. `reasoner` makes a reasoner for each run of `memory.consolidate()`.
        `extractor` makes an extractor that replaces the rules. `floors` override the floors of
        every spec. `receiver` gets the messages of the outbox from workers: proposals and revision
        signals.
        """
        if dsn is not None and (not isinstance(dsn, str) or not dsn.strip()):
            raise InputError("The DSN must be a text such as 'postgresql://user@host/database'.")
        if dsn is None and admin_dsn is not None:
            raise InputError("admin_dsn was given without dsn; the embedded server needs neither.")
        if home is not None and not isinstance(home, str | Path):
            raise InputError("home must be a directory, as a text or a Path.")
        place = (dsn, admin_dsn, Path(home) if home else None, keep)
        made = cls(place, clock or SystemClock(), embedder)
        made.reranker, made.reasoner, made.extractor = reranker, reasoner, extractor
        made.floors, made.receiver = floors, receiver
        return made

    async def start(self) -> Self:
        """Open the database; an error names anything that it lacks."""
        from idetic.store.connect import open_database

        if self._opened is None:
            dsn, admin_dsn, home, keep = self._place
            self._opened = await open_database(dsn, admin_dsn, home=home, keep=keep)
            try:
                await self.database.check_clock(self.clock)
            except IdeticError:
                await self.close()
                self._opened = None
                raise
        return self

    def under(self, clock: Clock) -> Idetic:
        """The same open database with another clock, for writing entries of the past.

        It is open as long as this one is, and closing it does nothing.
        """
        other: Idetic = copy(self)
        other.clock, other._keys, other._lent = clock, None, self._persona_pools
        return other

    async def close(self) -> None:
        """Close the pool; the last process to close stops an embedded server that is not kept."""
        from anyio import to_thread

        if self._opened is not None and self._lent is None:
            if self._personas is not None:
                await self._personas.close()
            await self._opened.database.close()
            self._opened.administration.close()
            if self._opened.server is not None:
                await to_thread.run_sync(self._opened.server.release)

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(self, *_error: object) -> None:
        await self.close()

    @property
    def keys(self) -> Keys:
        """The API keys of this database."""
        from idetic.library.keys import Keys

        # One for as long as the database is open: it remembers agents.
        self._keys = self._keys or Keys(self)
        return self._keys

    @property
    def database(self) -> Database:
        """The open database; reference contexts and surfaces build on it."""
        return self._there.database

    @property
    def administration(self) -> Administration:
        """Access to the database with the admin login; no code that works on memory gets it."""
        return self._there.administration

    @property
    def _there(self) -> OpenedDatabase:
        """The database that was opened, or an error that says how to open it."""
        if self._opened is None:
            raise DatabaseClosed(
                "This database is not open yet.", remedy="Use `async with Idetic.open() as db`."
            )
        return self._opened

    @property
    def embedded(self) -> bool:
        """Whether this database is on the embedded server."""
        return self._opened is not None and self._opened.server is not None

    @property
    def dsn(self) -> str:
        """The DSN of the application role, for tools that want a connection of their own."""
        return self.database.dsn

    async def agent(
        self,
        spec: SpecSource,
        *,
        apply: bool = False,
        embed_inline: bool = False,
        persona: Persona | str = "actor",
    ) -> Agent:
        """Open an agent by its spec: a shipped name, a file, a mapping, a MemorySpec, or the name
        of an agent in this database.

        Idetic applies a spec that is new to the database. It refuses a changed spec unless
        `apply=True`; look at `plan` first. With `embed_inline` each write computes the entry's
        vector, which takes as long as the model needs; otherwise the vector waits for
        `memory.embed()` or a worker. `persona` chooses the memory if a log has two personas;
        principals without `read_across` may use only the Actor's. `name@version` opens a stored
        version: the newest, or one that `migrate` has left, for reading and verifying.
        """
        chosen = await self._find(spec)
        named = isinstance(spec, str) and "@" in spec
        plan = await self._stored_plan(chosen, apply=apply, left=named)
        return await self._agent(plan, persona, embed_inline=embed_inline)

    async def _stored_plan(
        self, chosen: MemorySpec, *, apply: bool = False, left: bool = False
    ) -> Plan:
        """The plan of a spec that this database holds; one that it has never seen is applied.

        `left` says that one whose family has been left may be opened.
        """
        from idetic.store.registry import check_upgraded

        plan = await self.plan(chosen)
        check_upgraded(plan)
        if plan.newest > plan.to_version and not left:
            raise SpecChanged(
                f"The memory of {chosen.agent} was moved out of the family {chosen.backend.place} "
                f"by version {plan.newest}.",
                remedy=f"Open `{chosen.agent}@{plan.newest}`, or its file. To read the old family, "
                f"open `{chosen.agent}@{plan.to_version}`.",
            )
        if plan.from_version not in (None, plan.to_version) and not apply:
            raise SpecChanged(
                f"The spec of {chosen.agent} differs from version {plan.from_version}, "
                "which this database holds.",
                remedy="Look at `await db.plan(spec)` or `idetic spec plan`, then apply it with "
                "`db.agent(spec, apply=True)` or `idetic spec apply`.",
            )
        return plan if plan.empty else await self.apply(chosen)

    async def _agent(self, plan: Plan, persona: Persona | str, *, embed_inline: bool) -> Agent:
        """An agent with the engine of one family; a persona's has a steward beside it."""
        from idetic.library.composition import compose
        from idetic.library.handles import Agent
        from idetic.persona.events import Persona, persona_of
        from idetic.store.family import Family

        whose = persona_of(persona)
        engine = partial(compose, self, plan, embed_inline=embed_inline)
        if Family(plan.spec, whose).persona is None:
            return Agent(engine(self.database, None))
        pools = await self._persona_pools()
        governed = engine(pools.steward, whose)
        own = engine(pools.actor, whose, alone=True) if whose is Persona.ACTOR else governed
        return Agent(own, steward=governed)

    async def authenticate(self, key: str) -> Memory:
        """Open the memory that an API key stands for; only the key decides the scope."""
        return await self.keys.authenticate(key)

    async def persona(
        self,
        identity: Identity,
        *,
        tenant: str | UUID,
        spec: SpecSource = PERSONA_SPEC,
        derivation: Derivation | None = None,
        derive: bool = True,
        patience: float | None = None,
    ) -> PersonaMemory:
        """Persona memory of the agent whose identity this is, within one tenant.

        `spec` is any spec with a log and an anchor of two keys: the tenant and the agent.
        `derivation` replaces the shipped compactor. `derive=False` writes only the log and leaves
        the other layers to a dream. `patience` is the number of seconds that an embedder may take.
        """
        from idetic.library.persona import PersonaPools, compose_persona
        from idetic.recall.embedding import PATIENCE
        from idetic.store.family import Family

        plan = await self._stored_plan(await self._find(spec))
        two = Family(plan.spec).persona is not None
        pools = await self._persona_pools() if two else PersonaPools(*[self.database] * 3)
        return compose_persona(
            self, plan, pools, tenant, identity,
            derivation=derivation,
            derive=derive,
            patience=PATIENCE if patience is None else patience,
        )  # fmt: skip

    async def persona_agent(
        self,
        identity: Identity | str | Path,
        *,
        tenant: str | UUID,
        tools: Mapping[str, Tool] | None = None,
        counter: TokenCounter | None = None,
        max_rounds: int | None = None,
    ) -> PersonaAgent:
        """An agent that does tasks, learns and dreams with persona memory, within one tenant.

        `identity` is an identity or the path of its file. `tools` are the functions that the model
        may call, `counter` counts its tokens, and `max_rounds` limits how often it is called for
        one task.
        """
        from idetic.persona.agent import MAX_ROUNDS, PersonaAgent
        from idetic.persona.identity import Identity, IdentityFile

        source = identity if isinstance(identity, Identity) else IdentityFile(identity)
        known = source if isinstance(source, Identity) else source.read()
        memory = await self.persona(known, tenant=tenant)
        rounds = MAX_ROUNDS if max_rounds is None else max_rounds
        return PersonaAgent(source, memory, tools=tools, counter=counter, max_rounds=rounds)

    async def import_events(
        self,
        file: str | Path,
        *,
        tenant: str | UUID,
        agent: str | None = None,
        spec: SpecSource = PERSONA_SPEC,
        dry_run: bool = False,
        progress: Progress | None = None,
    ) -> ImportReport:
        """Import events, a file of JSON Lines, into the logs of their agents.

        With `agent`, only this agent's events are imported, and lines without `agent_id` belong to
        it. `spec` is any spec with a log. `dry_run` writes nothing. You may run an interrupted
        import again: it writes no event twice.
        """
        from idetic.persona.identity import Identity
        from idetic.persona.log_import import LogImport

        async def stores(agent_id: str) -> Mapping[Persona, PersonaStores]:
            """The stores of one agent, which the import opens when it needs them."""
            return (await self.persona(Identity(agent_id), tenant=tenant, spec=spec)).stores

        run = LogImport(stores, agent=agent, dry_run=dry_run, progress=progress)
        return await run.run(file)

    async def _persona_pools(self) -> PersonaPools:
        """A pool for each persona's role, opened when persona memory is first asked for."""
        from idetic.library.persona import PersonaPools
        from idetic.store.catalog import close_catalog
        from idetic.store.connect import open_role
        from idetic.store.family import STEWARD_ROLE

        if self._lent is not None:
            return await self._lent()
        opened = self._there
        async with self._opening:
            if self._personas is None:
                if self.embedded:
                    # The server is ours: nobody else's monitoring reads these catalogs.
                    async with self.administration.connection() as connection:
                        await close_catalog(connection)
                roles = ("idetic_actor", "idetic_subconscious", STEWARD_ROLE)
                self._personas = PersonaPools(*[await open_role(opened, role) for role in roles])
            return self._personas

    async def plan(self, spec: SpecSource) -> Plan:
        """Make the plan of applying a spec; this changes nothing."""
        from idetic.spec.loader import load

        return await self._registry.plan(load(spec))

    async def apply(self, spec: SpecSource) -> Plan:
        """Apply a spec and store its version. Applying twice changes nothing.

        If the agent's tables are distributed over a cluster, new tables are distributed too.
        """
        from idetic.library.distribution import stay_distributed
        from idetic.spec.loader import load

        wanted, by, at = load(spec), getpass.getuser(), self.clock.now()
        plan = await self._registry.apply(wanted, by=by, at=at, empty=self.database.citus)
        if self.database.citus and not plan.empty:
            await stay_distributed(self, wanted.agent)
            await self._registry.apply(wanted, by=by, at=at)
        return plan

    @asynccontextmanager
    async def sandbox(self, spec: SpecSource) -> AsyncIterator[Agent]:
        """An agent for trying a spec; its tables and all its writes are removed at the end.

        The trial is one transaction that is rolled back. Keep it short: nobody can write to the
        tables that the spec refers to until it ends. It needs the admin login, as `apply` does.
        """
        from idetic.library.composition import compose
        from idetic.library.handles import Agent
        from idetic.spec.loader import load
        from idetic.store.family import Family
        from idetic.store.sandbox import sandboxed

        wanted, by, at = load(spec), getpass.getuser(), self.clock.now()
        if Family(wanted).persona is not None:
            raise InputError(
                "A spec whose log has two personas cannot be tried in a sandbox.",
                remedy="Apply it to a database of its own, and try it there.",
            )
        async with sandboxed(self._registry, wanted, by=by, at=at) as (plan, database):
            # Alone: no job of it goes to the queue of this database.
            yield Agent(compose(self, plan, database, None, embed_inline=True, alone=True))

    async def apply_specs(self, path: str | Path) -> int:
        """Apply the versions of the spec that an export names, if its agent is new here.

        Each entry names its spec version, so both databases need the same versions. This is not
        part of the import's transaction: an applied spec stays if the import fails.
        """
        from idetic.spec.loader import load
        from idetic.transfer.exports import spec_rows

        agent, rows = spec_rows(path)
        if await self.spec_versions(agent):
            return 0
        specs = [load(row["spec"]) for row in rows]
        if [spec.digest for spec in specs] != [row["digest"] for row in rows]:
            raise ExportRefused("A spec in this file does not match its digest.")
        home = specs[0].backend.place
        for spec in specs:
            # A version of another family came by a migration, and here it moves nothing.
            await (self.apply(spec) if spec.backend.place == home else self.migrate(spec))
            home = spec.backend.place
        return len(specs)

    async def migrate(
        self,
        spec: SpecSource,
        *,
        default: Mapping[str, Any] | None = None,
        mapping: Sequence[Mapping[str, Any]] = (),
        dry_run: bool = False,
        progress: Callable[[int, int], None] | None = None,
    ) -> SpecMigration:
        """Move an agent's memory into the family of a changed spec, and switch to it.

        It makes the changes that `apply` refuses: other anchor keys, canonical nouns or versions
        tables. `default` has the values of new anchor keys for all anchors. A row of `mapping`
        names one anchor by its old keys and gives its new values. After an interruption, call it
        again: it continues.
        """
        from idetic.library.spec_migration import Migration
        from idetic.spec.loader import load
        from idetic.transfer.new_anchors import KeyValues

        values = KeyValues(default or {}, tuple(mapping))
        work = Migration(self, self._registry, self._governing, load(spec), values)
        return await work.run(dry_run=dry_run, progress=progress)

    async def abandon_migration(self, agent: str) -> bool:
        """Reopen the family that an unfinished `migrate` closed; returns whether there was one.

        The rows that it has copied stay in the new family, and nothing reads them.
        """
        from idetic.spec.loader import load
        from idetic.store.spec_migration import abandon

        stored = await self.spec_versions(agent)
        async with self.administration.connection() as connection:
            return bool(stored) and await abandon(connection, load(stored[-1].spec))

    async def _governing(self, spec: MemorySpec, plan: Plan) -> list[Engine]:
        """The engine of each family of an agent, with the rights of who governs it."""
        from idetic.library.composition import compose

        made = []
        for persona in spec.backend.personas:
            database = (await self._persona_pools()).steward if persona else self.database
            made.append(compose(self, replace(plan, spec=spec), database, persona))
        return made

    async def spec_versions(self, agent: str | None = None) -> list[SpecVersion]:
        """Every stored spec version, oldest first."""
        return await self._registry.versions(agent)

    async def close_catalog(self) -> list[str]:
        """Close the catalogs that show table sizes to PUBLIC; returns those that were open.

        It needs a superuser's login. The embedded server's catalogs are closed when persona memory
        is first used.
        """
        from idetic.store.catalog import close_catalog

        async with self.administration.connection() as connection:
            return await close_catalog(connection)

    async def distribute(self, agent: str, *, dry_run: bool = False) -> Distribution:
        """Spread an agent's tables over a Citus cluster by tenant; a second call changes nothing.

        `dry_run` returns the plan, on any server, and changes nothing. Agents that refer to the
        same canonical tables are distributed together.
        """
        from idetic.library.distribution import distribute

        return await distribute(self, agent, dry_run=dry_run)

    @property
    def _registry(self) -> Registry:
        """The registry of specs, with the reference contexts that Idetic ships."""
        from idetic.context import shipped_contexts
        from idetic.store.registry import Registry

        return Registry(self.database, self.administration, shipped_contexts())

    async def _find(self, spec: SpecSource) -> MemorySpec:
        """A name that is not shipped may be one that the database holds."""
        from idetic.spec.loader import load

        try:
            return load(spec)
        except SpecNotFound:
            agent, _, version = spec.partition("@") if isinstance(spec, str) else ("", "", "")
            known = agent.isascii() and agent.isidentifier()
            stored = await self.spec_versions(agent) if known else []
            wanted = [each for each in stored if version in ("", str(each.version))]
            if not wanted:
                raise
            return load(wanted[-1].spec)
