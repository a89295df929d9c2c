"""Erasing somebody from persona memory: every log, and all that was derived from it.

The engine's erasure, once for each persona's family, with the steward's rights. A loop that lost an
event gets its summary anew, from what is left.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field, replace
from uuid import UUID

from idetic.engine import Binding, Engine
from idetic.erasure import Erased, Subject
from idetic.lifecycle.erasure import erase
from idetic.model import Principal
from idetic.persona.events import Persona
from idetic.persona.layers import Layers
from idetic.verbs.authorization import check_authorized


@dataclass(frozen=True, slots=True)
class PersonaErased:
    """What an erasure emptied: ids by `persona.table`. Nothing found is said plainly."""

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


class PersonaErasure:
    """Erases subjects from the persona memory of one agent."""

    def __init__(self, both: Mapping[Persona, Layers], governed: Callable[[Persona], Engine]):
        self._both = both
        self._governed = governed

    async def erase(self, subject: Subject | str | Iterable[str], *, reason: str) -> PersonaErased:
        """Empty all that names a subject, in every persona's memory; this is for good."""
        whom = subject if isinstance(subject, Subject) else Subject(subject)
        receipts = {}
        for persona, layers in self._both.items():
            scope = replace(layers.store.scope, principal=Principal.maintenance("erasure"))
            engine = self._governed(persona)
            check_authorized(engine.spec, scope, erase)
            erased: Erased = await erase.function(Binding(engine, scope), whom, reason=reason)
            receipts[persona] = erased
            for loop_id in await _touched(layers, erased):
                await layers.stm.close(loop_id)
        removed = {
            f"{persona}.{table}": ids
            for persona, erased in receipts.items()
            for table, ids in erased.removed.items()
        }
        return PersonaErased(removed, receipts)


async def _touched(layers: Layers, erased: Erased) -> list[UUID]:
    """The loops of events that were emptied."""
    ids = [UUID(one) for one in erased.removed.get("log", ())]
    events = await layers.log.held(ids) if ids else {}
    return list(dict.fromkeys(event.loop_id for event in events.values()))
