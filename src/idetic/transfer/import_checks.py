"""Checks of what an import brought: a chain that is whole can still tell of what nobody could do.

Whoever makes a file can make a chain for it. So each entry is held against the spec as if it were
written here: who may write it, what trust its origin has, what the ingest gate would take away.
"""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from idetic.engine import Binding
from idetic.errors import ExportRefused
from idetic.evidence import PromotionGate
from idetic.gates.gate import Pipeline
from idetic.gateway.records import record_form
from idetic.ids import is_simulated
from idetic.lifecycle.escalation import anchors_behind, recurs
from idetic.lifecycle.promotion import PromotionPass
from idetic.lifecycle.promotion_inputs import SupportedEntry, supported_entries
from idetic.model import (
    Capability,
    Entry,
    EntryState,
    Origin,
    Principal,
    PrincipalKind,
    Tier,
    Typology,
)
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import Boundary
from idetic.spec.typology import WriteMode
from idetic.store.anchor_transaction import AnchorTransaction
from idetic.store.export_rows import MOVING, note_parts, spec_texts
from idetic.store.server_time import FAR

_LISTED = 100
_BATCH = 2_000
# Who may write an entry by itself, and in which way; any other entry was made of others.
_DIRECT = {
    "observed": (Capability.OBSERVE, WriteMode.AUTOMATIC),
    "imported": (Capability.IMPORT, WriteMode.AUTOMATIC),
    "preferred": (Capability.PREFER, WriteMode.EXPLICIT),
}
_MIRRORS = frozenset({"derived", "summarised"})
_COUNTED = (PromotionGate.CORROBORATION, PromotionGate.CROSS_CONTEXT)


@dataclass(frozen=True, slots=True)
class ImportFault:
    """One thing in a file that could not have been written here, and why; never its text."""

    what: str
    position: int | None
    entry_id: UUID | None
    why: str

    def as_data(self) -> dict[str, Any]:
        """Plain data, for the error that lists it."""
        entry = None if self.entry_id is None else str(self.entry_id)
        return {
            "what": self.what,
            "position": self.position,
            "entry_id": entry,
            "why": self.why,
        }


@dataclass(frozen=True, slots=True)
class AddedEntry:
    """What the link that added an entry says of it."""

    entry_id: UUID
    position: int
    transition: str
    actor_kind: PrincipalKind
    actor: str
    detail: Mapping[str, Any]

    @property
    def origin(self) -> Origin:
        """Where its content came from."""
        return Origin(self.detail.get("origin", Origin.EXTERNAL))

    @property
    def trust(self) -> int:
        """How far it is trusted; a link that does not say so vouches for nothing."""
        return int(self.detail.get("trust", 0))


@dataclass(slots=True)
class Vouching:
    """Whether entries have the origin and the trust that the spec gives to who wrote them."""

    specs: Mapping[int, MemorySpec]
    latest: MemorySpec
    known: dict[str, AddedEntry] = field(default_factory=dict)

    def faults(self, added: AddedEntry) -> Iterator[str]:
        """What is wrong with one entry; those before it in the chain are known by now."""
        self.known[str(added.entry_id)] = added
        spec = self.specs.get(added.detail.get("spec", 0), self.latest)
        if added.trust > spec.trust_of(added.origin):
            bound = spec.trust_of(added.origin)
            yield f"its trust is {added.trust}; the spec gives {added.origin} {bound}"
        if added.transition in _DIRECT:
            yield from self._written(added, spec)
        elif added.transition not in _MIRRORS:
            yield from self._derived(added, spec)

    def _written(self, added: AddedEntry, spec: MemorySpec) -> Iterator[str]:
        """What somebody wrote: who may write that way, there, and with that origin."""
        capability, mode = _DIRECT[added.transition]
        who = f"{added.actor_kind}:{added.actor}"
        if not spec.may(added.actor_kind, capability):
            yield f"{who} may not {capability.value.replace('_', ' ')} here"
        own = Principal(added.actor_kind, added.actor).origin
        if spec.trust_of(added.origin) > spec.trust_of(own):
            yield f"{who} cannot vouch for the origin {added.origin}"
        tier, typology = _cell(added)
        held = typology in spec.typology.at(tier)
        if not held or spec.writes_of(tier, typology).mode is not mode:
            yield f"{tier} {typology} memory is not written as {added.transition}"

    def _derived(self, added: AddedEntry, spec: MemorySpec) -> Iterator[str]:
        """What was made of others: no stronger than the strongest of them."""
        named = (self.known.get(one) for one in added.detail.get("sources", ()))
        sources = [one for one in named if one is not None]
        if not sources:
            yield f"it was {added.transition}, and nothing that it was made of is in the chain"
            return
        strongest = max(one.trust for one in sources)
        if added.trust > strongest:
            yield f"its trust is {added.trust}, and what it was made of has at most {strongest}"
        origins = {one.origin for one in sources}
        if added.origin not in origins:
            told = ", ".join(sorted(origins))
            yield f"its origin is {added.origin}, and what it was made of came from {told}"
        if spec.writes_of(*_cell(added)).mode is WriteMode.EXPLICIT:
            yield f"it was {added.transition}, and such memory is only stated"


def _cell(added: AddedEntry) -> tuple[Tier, Typology]:
    """The tier and the typology of an entry, as its link names them."""
    tier, _, typology = str(added.detail.get("cell", "")).partition("/")
    return Tier(tier), Typology(typology)


async def check_import(binding: Binding, tx: AnchorTransaction) -> None:
    """Refuse a file that brought something which could not have been written here."""
    texts = map(json.loads, await spec_texts(tx))
    specs = {one["version"]: MemorySpec.model_validate(one["spec"]) for one in texts}
    vouching = Vouching(specs, binding.spec)
    found = [
        *await _ahead(binding, tx),
        *await _unvouched(tx, vouching),
        *await _unsupported(binding, tx, vouching),
        *await _ungated(binding, tx),
    ]
    if not found:
        return
    first, count = found[0], len(found)
    raise ExportRefused(
        f"This file has rows that the gateway here would refuse: {count} row(s), the first: "
        f"{first.what} {first.entry_id or first.position}, {first.why}.",
        remedy="Erase or forget the listed entries in the database of the export, and export "
        "again; or ask who made the file. Nothing was written.",
        found=[fault.as_data() for fault in found[:_LISTED]],
    )


async def _ahead(binding: Binding, tx: AnchorTransaction) -> list[ImportFault]:
    """A link of the future: it would hold this anchor's time there."""
    if is_simulated(binding.engine.clock):
        return []
    rows = await tx.ask(MOVING, "ahead", far=FAR)
    return [ImportFault("link", position, None, "it is dated ahead of now") for (position,) in rows]


async def _unvouched(tx: AnchorTransaction, vouching: Vouching) -> list[ImportFault]:
    """Entries whose origin, trust or author the spec does not allow."""
    found, after = list[ImportFault](), 0
    while rows := await tx.ask(MOVING, "added", after=after, limit=_BATCH):
        for entry_id, position, transition, kind, actor, detail in rows:
            added = AddedEntry(entry_id, position, transition, PrincipalKind(kind), actor, detail)
            found += [
                ImportFault("entry", position, entry_id, why) for why in _sound(vouching, added)
            ]
        after = rows[-1][1]
    return found


def _sound(vouching: Vouching, added: AddedEntry) -> Sequence[str]:
    """The faults of one entry; a link with values that memory does not know is one itself."""
    try:
        return list(vouching.faults(added))
    except (ValueError, KeyError, TypeError):
        return ["its link names an origin, a trust or a cell that memory does not know"]


async def _unsupported(
    binding: Binding, tx: AnchorTransaction, vouching: Vouching
) -> list[ImportFault]:
    """Facts that hold although too few sources say so, and nobody who may promote decided it."""
    found: list[ImportFault] = []
    # Without corroborations nothing says what supported the facts that one was merged out of.
    merged = () if binding.spec.references.corroborations else ("merged",)
    others = {*_DIRECT, *merged}
    derived = [one for one in vouching.known.values() if one.transition not in others]
    work = PromotionPass(binding.spec, binding.engine.gates.at(Boundary.PROMOTION), tx.at)
    for first in range(0, len(derived), _BATCH):
        ids = [one.entry_id for one in derived[first : first + _BATCH]]
        rows = await tx.ask(MOVING, "promoters", ids=ids)
        decided = {
            entry_id
            for entry_id, kind in rows
            if binding.spec.may(PrincipalKind(kind), Capability.PROMOTE)
        }
        held = [one for one in await tx.stored(ids) if _is_fact(one.entry)]
        for one in await supported_entries(tx, held):
            if one.id not in decided and not any(
                _is_supported(replace(work, spec=spec), one) for spec in vouching.specs.values()
            ):
                why = "it holds, and fewer sources say so than the spec asks for"
                found.append(ImportFault("entry", None, one.id, why))
    return found


def _is_fact(entry: Entry) -> bool:
    """Whether an entry is a fact that holds."""
    held = entry.state is EntryState.CURRENT and not entry.candidate
    return held and (entry.tier, entry.typology) == (Tier.PERSISTENT, Typology.SEMANTIC)


def _is_supported(work: PromotionPass, one: SupportedEntry) -> bool:
    """Whether as many sources say so as a spec asks for; also those that were withdrawn later."""
    sources = [replace(source, withdrawn_at=None) for source in one.sources]
    gates = work.gates(replace(one, sources=sources))
    counted = all(gate.passed for gate in gates if gate.gate in _COUNTED)
    return counted or recurs(work.spec, anchors_behind(one))


async def _ungated(binding: Binding, tx: AnchorTransaction) -> list[ImportFault]:
    """Texts that the ingest gate would change or refuse, or that are records."""
    gate, found = binding.engine.gates.at(Boundary.INGEST), list[ImportFault]()
    after = UUID(int=0)
    while rows := await tx.ask(MOVING, "texts", after=after, limit=_BATCH):
        for entry_id, body, envelope, stated in rows:
            whys = [*_gate_faults(gate, body, envelope)]
            if stated and not binding.spec.references.documents and record_form(body):
                whys.append("it is a record, written out")
            found += [ImportFault("entry", None, entry_id, why) for why in whys]
        after = rows[-1][0]
    for position, reason in await tx.ask(MOVING, "reasons") if gate.transforms else ():
        whys = list(_gate_faults(gate, reason, {}))
        found += [ImportFault("link", position, None, why) for why in whys]
    if tx.family.log_table and gate.transforms:
        found += await _ungated_events(gate, tx)
    for parts in note_parts(tx.family) if gate.transforms else ():
        for entry_id, note in await tx.ask(MOVING, "notes", parts):
            whys = list(_gate_faults(gate, note, {}))
            found += [ImportFault("note", None, entry_id, why) for why in whys]
    return found


async def _ungated_events(gate: Pipeline, tx: AnchorTransaction) -> list[ImportFault]:
    """Events of the log, and notes beside it, that the ingest gate would change."""
    found, after = list[ImportFault](), 0
    while rows := await tx.ask(MOVING, "events", after=after, limit=_BATCH):
        for position, event_id, content, metadata in rows:
            # Below a key, as the log's own entrance has it.
            whys = _gate_faults(gate, content, {"metadata": metadata} if metadata else {})
            found += [ImportFault("event", position, event_id, why) for why in whys]
        after = rows[-1][0]
    for note_id, body in await tx.ask(MOVING, "channel") if tx.family.notes_table else ():
        found += [ImportFault("note", None, note_id, why) for why in _gate_faults(gate, body, {})]
    return found


def _gate_faults(gate: Pipeline, text: str, envelope: Mapping[str, Any]) -> Iterator[str]:
    """What the gate would do to a text that it passed long ago, if it did."""
    if not gate.transforms or not (text or envelope):
        return
    passed = gate.apply(text)
    _, changes, refused = gate.apply_envelope(envelope)
    if kinds := sorted({change.kind for change in (*passed.changes, *changes)}):
        yield f"the ingest gate would remove: {', '.join(kinds)}"
    elif passed.refused or refused:
        yield "the ingest gate would refuse it"
