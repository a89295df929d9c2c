"""Adoption of another store's memories: each goes through the gateway; a report tells the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Any

from idetic.engine import Binding
from idetic.errors import IdeticError, InputError
from idetic.gates.gate import Gates
from idetic.gateway.content import fits
from idetic.gateway.gateway import MAX_BATCH
from idetic.ids import uuid7
from idetic.lifecycle.close_scope import close_at
from idetic.lifecycle.observations import open_scope
from idetic.model import (
    Capability,
    Claim,
    Decision,
    Observation,
    Origin,
    Place,
    Tier,
    Typology,
)
from idetic.plain_data import PlainData
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import Boundary
from idetic.spec.typology import WriteMode
from idetic.telemetry import span
from idetic.transfer.foreign import STORES, ForeignMemory, NotTaken, documents
from idetic.verbs.arguments import SHORT, Wire
from idetic.verbs.authorization import check_authorized
from idetic.verbs.declaration import post, verb

# What happens to every entry of a session that closes, and says nothing about this one.
_ALWAYS = frozenset({"dropped", "held"})


@dataclass(frozen=True, slots=True)
class Adopted(PlainData):
    """What came of an import from another store.

    `taken` were written, `known` were there already, `left_out` counts metadata that the spec
    declares no envelope key for, and `became` says what closing the import's session made of them.
    """

    taken: int
    known: int
    not_taken: tuple[NotTaken, ...]
    left_out: Mapping[str, int]
    became: Mapping[str, int]
    dry_run: bool


def exported_data(data: Any) -> Any:
    """What another store exported, as data; a path is that of a file of the caller's."""
    found = documents(data) if isinstance(data, str | Path) else data
    if not isinstance(found, Mapping | Sequence):
        raise InputError("data is what a store exported: a list or an object, or a file's path.")
    return found


@verb(
    capability=Capability.IMPORT,
    writes=True,
    operation="adopt",
    http=post("/adopt", "moving"),
    command=None,
)
async def adopt(
    binding: Binding,
    source: str,
    data: Annotated[Any, Wire("data", dict[str, Any] | list[Any], exported_data)],
    *,
    dry_run: bool = False,
) -> Adopted:
    """Take in what another store exported ("mem0" or "langgraph"): data, or the path of a file.

    Each memory passes the gateway as heard from outside; what is not taken is told.
    """
    if source not in STORES:
        raise InputError(f"source is one of {', '.join(STORES)}.")
    every, engine, spec = list(STORES[source](exported_data(data))), binding.engine, binding.spec
    asked = [one for one in every if isinstance(one, ForeignMemory)]
    refused = [one for one in every if isinstance(one, NotTaken)]
    left_out: Counter[str] = Counter()
    seen = [_observation(spec, engine.gates, one, left_out) for one in asked]
    place = _place(spec)
    at = replace(binding, place=place)
    session = bool(seen) and not dry_run and place.session_id is not None
    if session:
        check_authorized(spec, binding.scope, open_scope)
        await open_scope.function(at)
    taken = known = 0
    for first in range(0, len(seen), MAX_BATCH):
        part = seen[first : first + MAX_BATCH]
        answers = await engine.gateway.admit_each(binding.scope, place, part, write=not dry_run)
        for one, answer in zip(asked[first:], answers, strict=False):
            if isinstance(answer, IdeticError):
                refused.append(NotTaken(one.id, answer.code, answer.message))
            elif answer is not None and answer.decision is Decision.REJECT:
                refused.append(NotTaken(one.id, answer.reason, "it restates canonical content"))
            elif answer is not None and (answer.replayed or answer.decision is Decision.NOOP):
                known += 1
            else:
                taken += 1
    became: Counter[str] = Counter()
    if session:
        with span("close", scope=binding.scope):
            closed = await close_at(at, "the import ended")
        told = (decided.transition for decided in closed.decided)
        became.update(one for one in told if one not in _ALWAYS)
    return Adopted(taken, known, tuple(refused), dict(left_out), dict(became), dry_run)


def _place(spec: MemorySpec) -> Place:
    """The persistent tier where it takes episodes directly; otherwise a session of its own, whose
    close decides what becomes of them."""
    cell = Tier.PERSISTENT, Typology.EPISODIC
    direct = Typology.EPISODIC in spec.typology.at(Tier.PERSISTENT)
    if direct and spec.writes_of(*cell).mode is WriteMode.AUTOMATIC:
        return Place()
    return Place(uuid7())


def _observation(
    spec: MemorySpec, gates: Gates, one: ForeignMemory, left_out: Counter[str]
) -> Observation:
    """A foreign memory as something heard from outside, with a claim that names where.

    The claim makes it a candidate when the session closes, instead of dropping it; and when the
    same memory comes again with another text, the later one replaces the earlier.
    """
    named = f"{one.source} {one.id}"[:SHORT]
    if gates.at(Boundary.INGEST).apply(named).changes:
        named = f"{one.source} {one.disguised}"
    envelope = {key: value for key, value in one.metadata.items() if fits(spec, key, value)}
    left_out.update(str(key)[:60] for key in one.metadata if key not in envelope)
    return Observation(
        one.text,
        envelope=envelope,
        claim=Claim(named, "remembered", one.stated),
        valid_at=one.created_at,
        heard_from=Origin.EXTERNAL,
        idempotency_key=f"{named[:150]} {one.stated}",
    )
