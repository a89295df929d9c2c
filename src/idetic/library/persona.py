"""`PersonaMemory`: one agent's persona memory as a user holds it, composed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from uuid import UUID

from idetic.erasure import Subject
from idetic.errors import AnchorRefused, InputError, TextRefused
from idetic.gates.gate import Gates
from idetic.gateway.content import SHORT, check_text
from idetic.library.persona_erasing import PersonaErased, PersonaErasure
from idetic.persona.deriving import Derivation, Deriver
from idetic.persona.dream import Dream, Dreamed, Progress, Reasoners
from idetic.persona.embedding import PATIENCE, PersonaEmbedder
from idetic.persona.events import Persona, persona_of
from idetic.persona.identity import Identity
from idetic.persona.layers import Common, Layers, layers
from idetic.persona.loops import Loop
from idetic.persona.notes import Note, NoteBoard
from idetic.persona.views import ActorMemoryView, SubconsciousMemoryView
from idetic.ports import Clock
from idetic.recall.model import Model
from idetic.spec.loader import load
from idetic.spec.primitives import Boundary
from idetic.store.database import Database

SPEC = "persona_agent"


@dataclass(frozen=True, slots=True)
class PersonaPools:
    """The same database as three roles: the application's, and one for each persona."""

    application: Database
    actor: Database
    subconscious: Database

    async def close(self) -> None:
        """Give the personas' connections back; the application's are its owner's."""
        await self.actor.close()
        await self.subconscious.close()


class PersonaMemory:
    """Persona memory of one agent: two views, loops that write, the dream, and notes."""

    def __init__(
        self, identity: Identity, actors: Layers, own: Layers, seen: Layers, erasure: PersonaErasure
    ):
        self.identity = identity
        self.agent_id = identity.agent_id
        self.actor = ActorMemoryView(identity.agent_id, actors, identity)
        self.subconscious = SubconsciousMemoryView(identity.agent_id, own, seen, identity)
        self._layers = {Persona.ACTOR: actors, Persona.SUBCONSCIOUS: own}
        self._erasure = erasure

    @property
    def layers(self) -> Mapping[Persona, Layers]:
        """Each persona's layers, for the rooms that work on both."""
        return self._layers

    def loop(self, task: str | None = None, persona: Persona = Persona.ACTOR) -> Loop:
        """A new loop of one persona, with an id of its own; it always closes."""
        return Loop(self._layers[persona_of(persona)], task)

    async def dream(
        self, progress: Progress | None = None, *, reasoner: Reasoners | None = None
    ) -> Dreamed:
        """Backfill what the derived layers of both personas lack, and say what they cover.

        `reasoner` makes a reasoner that compacts what was too long to be kept whole.
        """
        actors, own = self._layers[Persona.ACTOR], self._layers[Persona.SUBCONSCIOUS]
        return await Dream(actors, own, progress, reasoner).run()

    async def note(self, text: str) -> Note:
        """Leave the Actor an operational note; refused if it overlaps with what the Subconscious
        remembers."""
        return await NoteBoard(self._layers[Persona.SUBCONSCIOUS]).leave(text)

    async def erase(self, subject: Subject | str | Iterable[str], *, reason: str) -> PersonaErased:
        """Empty all that names a subject, in both logs and what was derived; this is for good."""
        return await self._erasure.erase(subject, reason=reason)


def compose_persona(
    pools: PersonaPools,
    tenant: str | UUID,
    identity: Identity,
    model: Model,
    clock: Clock,
    vector_schema: str,
    *,
    derivation: Derivation | None = None,
    derive: bool = True,
    patience: float = PATIENCE,
) -> PersonaMemory:
    """Put one agent's persona memory together; the only place where both personas meet."""
    if not isinstance(identity, Identity):
        raise InputError(
            "An identity is an Identity.", remedy='For example `Identity(agent_id="help-desk")`.'
        )
    spec = load(SPEC)
    common = Common(
        tenant=_tenant(tenant),
        agent_id=identity.agent_id,
        clock=clock,
        embedder=PersonaEmbedder(model, pools.application, patience),
        deriver=Deriver(derivation or Derivation()),
        ingest=Gates(spec).at(Boundary.INGEST),
        retrieval=spec.retrieval,
        vector_schema=vector_schema,
        derive=derive,
    )
    actors = layers(common, Persona.ACTOR, pools.actor)
    own = layers(common, Persona.SUBCONSCIOUS, pools.subconscious)
    databases = {Persona.ACTOR: pools.actor, Persona.SUBCONSCIOUS: pools.subconscious}
    return PersonaMemory(
        identity,
        actors,
        own,
        # The Actor's tables through the Subconscious's role, which may only read them.
        layers(common, Persona.ACTOR, pools.subconscious),
        PersonaErasure((actors, own), databases, pools.application),
    )


def _tenant(value: str | UUID) -> str:
    try:
        text = check_text(str(value) if isinstance(value, UUID) else value, SHORT, "tenant")
    except TextRefused as error:
        raise AnchorRefused(error.message) from None
    # Control characters separate the parts of the scope that row-level security reads.
    if text == "*" or not text.isprintable():
        raise AnchorRefused("The tenant may be neither '*' nor hold control characters.")
    return text
