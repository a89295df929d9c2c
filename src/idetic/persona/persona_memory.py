"""`PersonaMemory`: one agent's persona memory as a user holds it."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from uuid import UUID

from idetic.erasure import Erased, Subject
from idetic.errors import InputError
from idetic.model import Principal, Scope
from idetic.persona.events import Persona, Progress, persona_of
from idetic.persona.identity import Identity
from idetic.persona.loops import Dream, Dreamed, Loop, Reasoners
from idetic.persona.notes import OperationalNote, leave_note
from idetic.persona.persona_stores import PersonaStores
from idetic.persona.views import ActorMemoryView, SubconsciousMemoryView

Erase = Callable[[Persona, Scope, Subject, str], Awaitable[Erased]]
"""The engine's erasure of a subject in one persona's family, for a reason."""


@dataclass(frozen=True, slots=True)
class PersonaErased:
    """Receipt of an erasure: the ids that were emptied, by `persona.table`."""

    removed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    receipts: Mapping[Persona, Erased] = field(default_factory=dict, repr=False)

    @property
    def found(self) -> bool:
        """Whether there was anything to empty."""
        return bool(self.removed)

    def __str__(self) -> str:
        """The receipt in one line."""
        if not self.found:
            return "Nothing found: nothing was removed."
        parts = (f"{len(ids)} in {table}" for table, ids in self.removed.items())
        return f"Removed: {', '.join(parts)}."


class PersonaMemory:
    """Persona memory of one agent: its views, loops that write, the dream, and notes.

    `stores` has each persona's stores. `seen` are the Actor's stores, opened with the role of the
    Subconscious, which may only read them and leave notes.
    """

    def __init__(
        self,
        identity: Identity,
        stores: Mapping[Persona, PersonaStores],
        seen: PersonaStores,
        erase: Erase,
    ):
        self.identity = identity
        self.agent_id = identity.agent_id
        self.actor = ActorMemoryView(stores[Persona.ACTOR], identity)
        self.stores = dict(stores)
        self._seen = seen
        self._erase = erase

    def __repr__(self) -> str:
        return f"PersonaMemory({self.agent_id})"

    @property
    def subconscious(self) -> SubconsciousMemoryView:
        """The view of the Subconscious: the memory of both personas."""
        own = self._of(Persona.SUBCONSCIOUS)
        return SubconsciousMemoryView(own, self._seen, self.identity)

    def loop(self, task: str | None = None, persona: Persona = Persona.ACTOR) -> Loop:
        """A new loop of one persona, with an id of its own; it always closes."""
        return Loop(self._of(persona_of(persona)), task)

    async def dream(
        self, progress: Progress | None = None, *, reasoner: Reasoners | None = None
    ) -> Dreamed:
        """Create the missing entries, vectors and summaries of every persona; returns the coverage.

        `reasoner` makes a reasoner that compacts events that are too long to keep whole.
        """
        actors, own = self.stores[Persona.ACTOR], self.stores.get(Persona.SUBCONSCIOUS)
        return await Dream(actors, own, progress, reasoner).run()

    async def note(self, text: str) -> OperationalNote:
        """Leave the Actor an operational note; refused if it overlaps with what the Subconscious
        remembers."""
        return await leave_note(self._of(Persona.SUBCONSCIOUS), self._seen, text)

    async def erase(self, subject: Subject | str | Iterable[str], *, reason: str) -> PersonaErased:
        """Empty every event and entry that names a subject, for good.

        It erases in the family of each persona. A loop that lost an event gets a new summary of its
        other events.
        """
        whom = subject if isinstance(subject, Subject) else Subject(subject)
        receipts: dict[Persona, Erased] = {}
        for persona, stores in self.stores.items():
            scope = replace(stores.store.scope, principal=Principal.maintenance("erasure"))
            receipts[persona] = erased = await self._erase(persona, scope, whom, reason)
            ids = [UUID(one) for one in erased.removed.get("log", ())]
            emptied = await stores.events("events", ids=ids) if ids else []
            for loop_id in dict.fromkeys(event.loop_id for event in emptied):
                await stores.close_loop(loop_id)
        removed = {
            f"{persona}.{table}": ids
            for persona, erased in receipts.items()
            for table, ids in erased.removed.items()
        }
        return PersonaErased(removed, receipts)

    def _of(self, persona: Persona) -> PersonaStores:
        """The stores of a persona; refused where the log of this agent does not have it."""
        if persona not in self.stores:
            raise InputError(
                "The log of this agent has one persona.",
                remedy="Declare `personas: [actor, subconscious]` in `backend.log` of a spec.",
            )
        return self.stores[persona]
