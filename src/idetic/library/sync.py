"""The sync API: the async handles behind a portal, typed; no logic is written twice.

A verb is a plain call on these handles, as `Verb.__get__` says. What is not a verb is named here
once, with the types of the async method it calls.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import Any, ParamSpec, Self
from uuid import UUID

from anyio.from_thread import start_blocking_portal

from idetic.errors import IdeticError
from idetic.ids import Clock
from idetic.library.blocking import Attribute, blocking, blocking_as, passed_as
from idetic.library.handles import Agent, Memory, MemoryVerbs, PlaceVerbs, Session
from idetic.library.idetic import Idetic
from idetic.library.keys import Keys
from idetic.model import Observation, Place, Scope
from idetic.persona.agent import PersonaAgent
from idetic.persona.identity import Identity
from idetic.persona.loops import Loop
from idetic.persona.persona_memory import PersonaMemory
from idetic.persona.views import ActorMemoryView, SubconsciousMemoryView
from idetic.spec.memory_spec import MemorySpec
from idetic.verbs.handle import SyncHandle

P = ParamSpec("P")


class _SyncPlace(SyncHandle):
    """What sync sessions and interactions share."""

    id = Attribute[UUID]()
    place = Attribute[Place]()
    close = blocking(Session.close)
    renew = blocking(Session.renew)

    def open(self) -> Self:
        """Begin the scope, or resume one that is open; `with` does this and closes it too."""
        self.run(self.target.open)
        return self

    def resume(self) -> Self:
        """Go on with a scope that was opened elsewhere."""
        self.target.resume()
        return self


class SyncInteraction(_SyncPlace, PlaceVerbs):
    """An interaction, without `await`."""


class SyncSession(_SyncPlace, PlaceVerbs):
    """A session, without `await`."""

    interaction = passed_as(SyncInteraction, Session.interaction)


class SyncMemory(SyncHandle, MemoryVerbs):
    """One agent's memory within one scope, without `await`."""

    scope = Attribute[Scope]()
    session = passed_as(SyncSession, Memory.session)
    close = blocking(Memory.close)

    @property
    def agent(self) -> SyncAgent:
        """The agent whose memory this is."""
        return self.beside(SyncAgent, self.target.agent)

    def check(self, seen: Observation, **where: Any) -> None:
        """Raise what observing this would raise before the database is asked."""
        self.target.check(seen, **where)


class SyncAgent(SyncHandle):
    """An agent, without `await`."""

    spec = Attribute[MemorySpec]()
    version = Attribute[int]()
    bind = passed_as(SyncMemory, Agent.bind)
    within = passed_as(SyncMemory, Agent.within)


class SyncKeys(SyncHandle):
    """API keys, without `await`."""

    create = blocking(Keys.create)
    list = blocking(Keys.list)
    rotate = blocking(Keys.rotate)
    revoke = blocking(Keys.revoke)
    authenticate = blocking_as(SyncMemory, Keys.authenticate)


class SyncLoop(SyncHandle):
    """A loop of persona memory, without `await`."""

    id = Attribute[UUID]()
    underived = Attribute[IdeticError | None]()
    append = blocking(Loop.append)
    append_many = blocking(Loop.append_many)
    close = blocking(Loop.close)


class SyncActorView(SyncHandle):
    """What the Actor may ask, without `await`."""

    get_by_id = blocking(ActorMemoryView.get_by_id)
    get_range = blocking(ActorMemoryView.get_range)
    tail = blocking(ActorMemoryView.tail)
    loop = blocking(ActorMemoryView.loop)
    entry = blocking(ActorMemoryView.entry)
    entry_of = blocking(ActorMemoryView.entry_of)
    rag_query = blocking(ActorMemoryView.rag_query)
    fuzzy_query = blocking(ActorMemoryView.fuzzy_query)
    window = blocking(ActorMemoryView.window)
    operational_notes = blocking(ActorMemoryView.operational_notes)
    coverage = blocking(ActorMemoryView.coverage)
    head = blocking(ActorMemoryView.head)
    verify = blocking(ActorMemoryView.verify)


class SyncSubconsciousView(SyncHandle):
    """What the Subconscious may ask, without `await`."""

    get_by_id = blocking(SubconsciousMemoryView.get_by_id)
    get_range = blocking(SubconsciousMemoryView.get_range)
    tail = blocking(SubconsciousMemoryView.tail)
    loop = blocking(SubconsciousMemoryView.loop)
    rag_query = blocking(SubconsciousMemoryView.rag_query)
    fuzzy_query = blocking(SubconsciousMemoryView.fuzzy_query)
    window = blocking(SubconsciousMemoryView.window)
    coverage = blocking(SubconsciousMemoryView.coverage)
    verify = blocking(SubconsciousMemoryView.verify)


class SyncPersonaMemory(SyncHandle):
    """Persona memory, without `await`."""

    agent_id = Attribute[str]()
    loop = passed_as(SyncLoop, PersonaMemory.loop)
    dream = blocking(PersonaMemory.dream)
    note = blocking(PersonaMemory.note)
    erase = blocking(PersonaMemory.erase)

    @property
    def actor(self) -> SyncActorView:
        """What the Actor may ask."""
        return self.beside(SyncActorView, self.target.actor)

    @property
    def subconscious(self) -> SyncSubconsciousView:
        """The view of the Subconscious: the memory of both personas."""
        return self.beside(SyncSubconsciousView, self.target.subconscious)


class SyncPersonaAgent(SyncHandle):
    """An agent with persona memory, without `await`."""

    identity = Attribute[Identity]()
    do = blocking(PersonaAgent.do)
    learn = blocking(PersonaAgent.learn)
    dream = blocking(PersonaAgent.dream)
    roll_back = blocking(PersonaAgent.roll_back)


class SyncIdetic(SyncHandle):
    """An open database, without `await`."""

    clock = Attribute[Clock]()
    dsn = Attribute[str]()
    embedded = Attribute[bool]()
    agent = blocking_as(SyncAgent, Idetic.agent)
    authenticate = blocking_as(SyncMemory, Idetic.authenticate)
    persona = blocking_as(SyncPersonaMemory, Idetic.persona)
    persona_agent = blocking_as(SyncPersonaAgent, Idetic.persona_agent)
    import_events = blocking(Idetic.import_events)
    plan = blocking(Idetic.plan)
    apply = blocking(Idetic.apply)
    apply_specs = blocking(Idetic.apply_specs)
    spec_versions = blocking(Idetic.spec_versions)
    distribute = blocking(Idetic.distribute)
    close = blocking(Idetic.close)

    @property
    def keys(self) -> SyncKeys:
        """The API keys of this database."""
        return self.beside(SyncKeys, self.target.keys)

    def under(self, clock: Clock) -> SyncIdetic:
        """The same open database where now is what another clock says."""
        return self.beside(SyncIdetic, self.target.under(clock))


def _opener(opening: Callable[P, Idetic]) -> Callable[P, AbstractContextManager[SyncIdetic]]:
    """A function that opens a database, as a context manager for code without an event loop."""

    @contextmanager
    def open_sync(*args: P.args, **kwargs: P.kwargs) -> Iterator[SyncIdetic]:
        """`with open_sync() as db`: as `Idetic.open`, for code without an event loop."""
        target = opening(*args, **kwargs)
        with start_blocking_portal() as portal, SyncIdetic(target, portal) as db:
            yield db

    wanted = inspect.signature(opening).replace(return_annotation="Iterator[SyncIdetic]")
    vars(open_sync)["__signature__"] = wanted
    return open_sync


open_sync = _opener(Idetic.open)
