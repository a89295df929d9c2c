"""An observation or preference on its way in: checked, and as the database's admit reads it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from idetic.errors import CapabilityRefused, GateRefused, InputError
from idetic.gates.gate import Pipeline
from idetic.gateway.content import check_envelope, check_provenance, check_refs
from idetic.gateway.own_keys import own_key
from idetic.gateway.records import record_form
from idetic.model import Claim, Observation, Origin, Ref, Scope, Tier, Typology
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.typology import SamplingRule
from idetic.store.entry_content import call_digest, content_hash, link_detail
from idetic.store.steps import reference
from idetic.verbs.arguments import check_moment, check_text
from idetic.verbs.authorization import article


@dataclass(frozen=True, slots=True)
class WriteCell:
    """What every item of one call has in common."""

    transition: str
    tier: Tier
    typology: Typology
    supersede: bool
    # Which observations of it are kept.
    sampling: tuple[SamplingRule, ...] = ()


@dataclass(frozen=True, slots=True)
class WriteItem:
    """An observation or a preference, checked: what `admit` is asked to write."""

    cell: WriteCell
    body: str
    envelope: dict[str, Any]
    origin: Origin
    trust: int
    provenance: Mapping[str, str]
    valid_at: str | None
    refs: Sequence[Ref]
    # How a record is written out in the body, if it is one.
    form: str | None
    # How much of what kind the ingest gate removed.
    removed: Mapping[str, int]
    key: str | None
    # Whether it was compared with what its session was shown, and the echo that it is then.
    judged: bool = False
    echo: dict[str, Any] | None = None
    # The rule of sampling that leaves it out, or counts it.
    sampling: dict[str, Any] | None = None

    @property
    def plain(self) -> bool:
        """Whether nothing has to be asked of it alone: many such are written together."""
        apart = self.form is not None or self.echo is not None or self.sampling is not None
        return not self.refs and not apart

    def encoded(self, receipt: str, entry_id: str, told: Mapping[str, Any]) -> dict[str, Any]:
        """What the SQL function reads; the ids are those of its receipt and its entry.

        `told` is what its link says of where it was written.
        """
        made = self._chosen()
        if self.key is not None:
            refs = [{"noun": r.noun, "id": str(r.id), "version": r.version} for r in self.refs]
            chosen = made | {"refs": refs} if refs else made
            made |= {"key": self.key, "digest": call_digest(chosen)}
        salt, digest = content_hash(self.body, self.envelope)
        cell = (self.cell.tier, self.cell.typology)
        detail = link_detail(self.origin, self.trust, cell, self.provenance, salt, digest)
        detail |= told
        if self.removed:
            detail["removed"] = self.removed
        if self.valid_at:
            detail["valid_at"] = self.valid_at
        if self.refs:
            made["refs"] = detail["refs"] = [reference(ref) for ref in self.refs]
        if self.judged:
            made["judged"] = True
        if self.echo is not None:
            made["echo"] = self.echo
        if self.sampling is not None:
            made["sampling"] = self.sampling
        made["receipt"], made["memory"] = receipt, entry_id
        made["salt"], made["hash"], made["detail"] = salt, digest, detail
        return made

    def _chosen(self) -> dict[str, Any]:
        """What the caller chose: the part that an idempotency key stands for."""
        cell = self.cell
        made: dict[str, Any] = {
            "transition": cell.transition,
            # As they are: each is a text, and to ask for its value took a microsecond a note.
            "tier": cell.tier,
            "typology": cell.typology,
            "body": self.body,
            "envelope": self.envelope,
            "origin": self.origin,
            "trust": self.trust,
        }
        if cell.supersede:
            made["supersede"] = True
        if self.form is not None:
            made["form"] = self.form
        if "claim" in self.envelope:
            # The columns hold the claim as it is compared; the envelope as it was stated.
            made["claim"] = Claim(**self.envelope["claim"]).normalised().as_dict()
        if self.provenance:
            made["provenance"] = dict(self.provenance)
        if self.valid_at:
            made["valid_at"] = self.valid_at
        return made


class ItemMaker:
    """Makes items of one cell for one principal."""

    def __init__(self, spec: MemorySpec, scope: Scope, cell: WriteCell, ingest: Pipeline):
        self._spec = spec
        self.cell = cell
        self._ingest = ingest
        self._principal, self._own = scope.principal, scope.principal.origin

    def make(self, seen: Observation) -> WriteItem:
        """One item, checked; raises before anything is written."""
        if not isinstance(seen, Observation):
            raise InputError(
                f"{article(kind := type(seen).__name__)} {kind} is not an Observation."
            )
        spec = self._spec
        text = check_text(seen.text, spec.backend.body_text_max, "text")
        # Asked of what was said: the gate may take away the very ids that make it a record.
        form = None if spec.references.documents else record_form(text)
        envelope = check_envelope(spec, seen.envelope, seen.claim, seen.speaker)
        provenance = check_provenance(spec, seen.provenance)
        text, envelope, provenance, removed = self._gated(text, envelope, provenance)
        # What a gate puts in the place of a name may be longer than the name.
        check_text(text, spec.backend.body_text_max, "text, after the ingest gate,")
        if removed and seen.verbatim:
            raise GateRefused(
                f"The ingest gate would remove: {', '.join(sorted(removed))}.",
                remedy="Idetic stores this text word for word or not at all: leave it out, or "
                "remove the gate from the spec; nothing was written.",
            )
        origin, trust = self._origin(seen.heard_from)
        since = check_moment(seen.valid_at, "valid_at")
        key = seen.idempotency_key
        return WriteItem(
            self.cell,
            text,
            envelope,
            origin,
            trust,
            provenance,
            None if since is None else since.isoformat(),
            check_refs(spec, seen.refs),
            form,
            removed,
            None if key is None else own_key(self._principal, key),
        )

    def _gated(
        self, text: str, envelope: dict[str, Any], provenance: dict[str, str]
    ) -> tuple[str, dict[str, Any], dict[str, str], dict[str, int]]:
        """What crosses the ingest boundary of every text, and how much of what kind did not."""
        if not self._ingest.transforms:
            return text, envelope, provenance, {}
        passed = self._ingest.apply(text)
        kept, changes, refused = self._ingest.apply_envelope(envelope)
        told, more, _ = self._ingest.apply_envelope(provenance)
        why = passed.refused or refused or self._split(kept)
        if why is not None:
            raise GateRefused(why)
        removed: dict[str, int] = {}
        for change in (*passed.changes, *changes, *more):
            removed[change.kind] = removed.get(change.kind, 0) + change.count
        return passed.text, dict(kept), dict(told), removed

    def _split(self, envelope: Mapping[str, Any]) -> str | None:
        """Why a claim cannot cross whose parts only together say what the gate removes."""
        parts = envelope.get("claim")
        if parts is None or not self._ingest.apply(" ".join(parts.values())).changes:
            return None
        return "The parts of the claim together hold what the ingest gate removes."

    def _origin(self, heard_from: Origin | None) -> tuple[Origin, int]:
        """The origin of what was heard and its trust, which is never above the principal's own."""
        own_trust = self._spec.trust_of(self._own)
        if heard_from is None:
            return self._own, own_trust
        try:
            origin = Origin(heard_from)
        except ValueError:
            raise InputError(f"heard_from must be one of {', '.join(Origin)}.") from None
        if self._spec.trust_of(origin) > own_trust:
            raise CapabilityRefused(
                f"{article(self._own)} {self._own} principal cannot vouch for the origin {origin}.",
                remedy="The origin follows from the principal; bind a principal of that origin.",
            )
        return origin, self._spec.trust_of(origin)
