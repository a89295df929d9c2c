"""`PersonaMemory`: one agent's persona memory as a user holds it, composed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from idetic.engine import Engine
from idetic.erasure import Subject
from idetic.errors import AnchorRefused, InputError, TextRefused
from idetic.gates.gate import Gates
from idetic.library.composition import compose
from idetic.library.persona_erasing import PersonaErased, PersonaErasure
from idetic.persona.deriving import Derivation, Deriver
from idetic.persona.dream import Dream, Dreamed, Progress, Reasoners
from idetic.persona.events import Persona, persona_of
from idetic.persona.identity import Identity
from idetic.persona.layers import Common, Layers, layers
from idetic.persona.loops import Loop
from idetic.persona.notes import Note, NoteBoard
from idetic.persona.views import ActorMemoryView, SubconsciousMemoryView
from idetic.ports import Clock
from idetic.recall.embedding import Model
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import Boundary
from idetic.store.database import Database
from idetic.store.plan import Plan
from idetic.verbs.arguments import SHORT, check_text

SPEC = "persona_agent"


@dataclass(frozen=True, slots=True)
class PersonaPools:
    """The same database as three roles: one for each persona, and one that governs both."""

    actor: Database
    subconscious: Database
    steward: Database

    @classmethod
    def of_one(cls, application: Database) -> PersonaPools:
        """Where there is one persona, the application's role is all of them."""
        return cls(application, application, application)

    async def close(self) -> None:
        """Give the connections back."""
        for pool in (self.actor, self.subconscious, self.steward):
            await pool.close()


class PersonaMemory:
    """Persona memory of one agent: its views, loops that write, the dream, and notes."""

    def __init__(
        self,
        identity: Identity,
        both: Mapping[Persona, Layers],
        seen: Layers,
        erasure: PersonaErasure,
    ):
        self.identity = identity
        self.agent_id = identity.agent_id
        self.actor = ActorMemoryView(identity.agent_id, both[Persona.ACTOR], identity)
        self._layers = dict(both)
        self._seen = seen
        self._erasure = erasure

    @property
    def subconscious(self) -> SubconsciousMemoryView:
        """What the Subconscious may ask: all of both personas."""
        own = self._of(Persona.SUBCONSCIOUS)
        return SubconsciousMemoryView(self.agent_id, own, self._seen, self.identity)

    @property
    def layers(self) -> Mapping[Persona, Layers]:
        """Each persona's layers, for the rooms that work on both."""
        return self._layers

    def loop(self, task: str | None = None, persona: Persona = Persona.ACTOR) -> Loop:
        """A new loop of one persona, with an id of its own; it always closes."""
        return Loop(self._of(persona_of(persona)), task)

    async def dream(
        self, progress: Progress | None = None, *, reasoner: Reasoners | None = None
    ) -> Dreamed:
        """Backfill what the derived layers of every persona lack, and say what they cover.

        `reasoner` makes a reasoner that compacts what was too long to be kept whole.
        """
        actors, own = self._layers[Persona.ACTOR], self._layers.get(Persona.SUBCONSCIOUS)
        return await Dream(actors, own, progress, reasoner).run()

    async def note(self, text: str) -> Note:
        """Leave the Actor an operational note; refused if it overlaps with what the Subconscious
        remembers."""
        return await NoteBoard(self._of(Persona.SUBCONSCIOUS), self._seen.store).leave(text)

    async def erase(self, subject: Subject | str | Iterable[str], *, reason: str) -> PersonaErased:
        """Empty all that names a subject, in every log and what was derived; this is for good."""
        return await self._erasure.erase(subject, reason=reason)

    def _of(self, persona: Persona) -> Layers:
        if persona not in self._layers:
            raise InputError(
                "The log of this agent has one persona.",
                remedy="Declare `personas: [actor, subconscious]` in `backend.log` of a spec.",
            )
        return self._layers[persona]


def compose_persona(
    plan: Plan,
    pools: PersonaPools,
    tenant: str | UUID,
    identity: Identity,
    model: Model,
    clock: Clock,
    *,
    derivation: Derivation | None,
    derive: bool,
    patience: float,
) -> PersonaMemory:
    """Put one agent's persona memory together; the only place where both personas meet."""
    if not isinstance(identity, Identity):
        raise InputError(
            "An identity is an Identity.", remedy='For example `Identity(agent_id="help-desk")`.'
        )
    spec, personas = plan.spec, _personas(plan.spec)
    common = Common(
        spec=spec,
        version=plan.to_version,
        extensions=plan.extensions,
        tenant=_tenant(tenant),
        agent_id=identity.agent_id,
        clock=clock,
        model=model,
        patience=patience,
        deriver=Deriver(derivation or Derivation(), spec),
        ingest=Gates(spec).at(Boundary.INGEST),
        derive=derive,
    )
    databases = {Persona.ACTOR: pools.actor, Persona.SUBCONSCIOUS: pools.subconscious}
    both = {persona: layers(common, persona, databases[persona]) for persona in personas}
    # The Actor's tables through the Subconscious's role, which may only read them.
    seen = layers(common, Persona.ACTOR, pools.subconscious)
    governed = partial(_governed, plan, pools.steward, model, clock)
    return PersonaMemory(identity, both, seen, PersonaErasure(both, governed))


def _governed(
    plan: Plan, steward: Database, model: Model, clock: Clock, persona: Persona
) -> Engine:
    """A persona's engine with the steward's rights."""
    return compose(
        plan.spec, plan.to_version, steward, plan.extensions, model, clock, None, None,
        persona=persona,
    )  # fmt: skip


def _personas(spec: MemorySpec) -> tuple[Persona, ...]:
    log = spec.backend.log
    if log is None or [key.type.value for key in spec.anchor.keys] != ["text", "text"]:
        raise InputError(
            f"The spec of {spec.agent} is not one of persona memory.",
            remedy="It has a `backend.log`, and two texts as anchor: the tenant and the agent.",
        )
    return log.personas


def _tenant(value: str | UUID) -> str:
    try:
        text = check_text(str(value) if isinstance(value, UUID) else value, SHORT, "tenant")
    except TextRefused as error:
        raise AnchorRefused(error.message) from None
    # Control characters separate the parts of the scope that row-level security reads.
    if text == "*" or not text.isprintable():
        raise AnchorRefused("The tenant may be neither '*' nor hold control characters.")
    return text
