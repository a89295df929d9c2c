"""Corroborations: what speaks for an entry, and what should have and did not."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from idetic.errors import EntryNotFound, InputError, WritePolicyRefused
from idetic.evidence import (
    Corroboration,
    SourceType,
)
from idetic.gates.gate import Gates
from idetic.gateway import steps
from idetic.gateway.content import check_provenance
from idetic.gateway.gateway import Gateway
from idetic.gateway.steps import Step
from idetic.ids import uuid7
from idetic.lifecycle.reading import Reader
from idetic.lifecycle.subject import Subject
from idetic.lifecycle.weighing import Weighing
from idetic.model import Capability, Decision, Place, Receipt, Scope
from idetic.ports import Clock
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import Boundary
from idetic.store.held import Held
from idetic.store.holding import Holding
from idetic.store.known import Known
from idetic.verbs.arguments import check_uuid
from idetic.verbs.authorization import require, require_whole_anchor

MAX_NOTES = 500


class Testimony:
    """Takes what is said for entries of one agent."""

    def __init__(
        self, spec: MemorySpec, gateway: Gateway, holding: Holding, gates: Gates, clock: Clock
    ):
        self._spec = spec
        self._gateway = gateway
        self._holding = holding
        self._gates = gates
        self._clock = clock

    async def corroborate(
        self,
        scope: Scope,
        place: Place,
        entry_id: UUID,
        source_type: SourceType,
        source_ref: UUID,
        *,
        holds: bool,
        notes: str | None,
        provenance: dict[str, str] | None,
        key: str | None,
    ) -> Receipt:
        """A source that confirms an entry or, with `holds=False`, fails to; each counts once."""
        require(self._spec, scope, Capability.CORROBORATE)
        require_whole_anchor(scope)
        if not self._spec.references.corroborations:
            raise WritePolicyRefused(
                f"{self._spec.title} keeps no corroborations.",
                remedy="Declare `references.corroborations: true` in the spec, and apply it.",
            )
        found = Corroboration(
            uuid7(), _source_type(source_type), check_uuid(source_ref, "source_ref"),
            self._clock.now(), str(scope.principal.name), scope.principal.origin, place.session_id,
            None if notes is None else self._gateway.said(notes, "notes", MAX_NOTES),
            provenance=check_provenance(self._spec, provenance),
        )  # fmt: skip
        call = {
            "verb": "corroborate",
            "memory": str(check_uuid(entry_id, "entry_id")),
            "source": [found.source_type.value, str(found.source_ref)],
            "holds": bool(holds),
            "notes": found.notes,
        }
        async with self._holding.hold(scope, self._clock.now()) as held:

            async def decide() -> list[Step]:
                return await self._weighed(held, UUID(call["memory"]), found, holds=holds)  # type: ignore[arg-type]

            return await self._gateway.settle_once(held, call, key, decide)

    async def _weighed(
        self, held: Held, entry_id: UUID, found: Corroboration, *, holds: bool
    ) -> list[Step]:
        """The corroboration, whose link is the receipt, and then what it sets in motion."""
        known = await one_entry(held, entry_id)
        reader = Reader(self._spec, held, None)
        (subject,) = await reader.subjects([known])
        principal = held.scope.principal
        work = Weighing(
            self._spec,
            self._gates.at(Boundary.PROMOTION),
            held.at,
            f"{principal.kind}:{principal.name}",
        )
        if not holds:
            work.fail(subject, found)
        elif found.source in {one.source for one in subject.sources}:
            return [_counted(subject)]
        else:
            subject.sources.append(found)
            work.steps.append(steps.corroborate(known.entry, found, "it was confirmed"))
            if known.entry.tier.value == "persistent":
                work.weigh(subject, await reader.beside(subject))
        if not work.steps:
            return [_counted(subject)]
        return work.steps


def _counted(subject: Subject) -> Step:
    return steps.link(
        "replayed", Decision.NOOP, "this source was already counted", entry=subject.entry
    )


async def one_entry(held: Held, entry_id: UUID) -> Known:
    """One entry of the held anchor; raises where there is none."""
    found = await held.known("named", ids=[entry_id])
    if not found:
        raise EntryNotFound
    return found[0]


def _source_type(value: Any) -> SourceType:
    try:
        return SourceType(value)
    except ValueError:
        raise InputError(f"source_type is one of {', '.join(SourceType)}.") from None
