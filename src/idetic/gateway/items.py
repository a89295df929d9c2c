"""An observation or preference as the database's admit function takes it."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from idetic.errors import CapabilityRefused, GateRefused, InputError
from idetic.gates.gate import Pipeline
from idetic.gateway.content import canonical_json, check_envelope, check_provenance, check_refs
from idetic.gateway.records import record_form
from idetic.gateway.substance import substance
from idetic.ids import random_bytes, uuid7_text
from idetic.model import Claim, Observation, Origin, Scope, Tier, Typology
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import Signal
from idetic.spec.typology import ConflictRule
from idetic.verbs.arguments import SHORT, check_moment, check_text
from idetic.verbs.authorization import article

# What differs between two makings of the same item.
_RANDOM = frozenset({"receipt", "salt", "hash", "detail", "memory"})


class ItemMaker:
    """Makes items for one cell; what depends only on the cell is worked out once."""

    def __init__(
        self,
        spec: MemorySpec,
        scope: Scope,
        tier: Tier,
        typology: Typology,
        transition: str,
        ingest: Pipeline,
    ):
        self._spec = spec
        self._ingest = ingest
        self._own = scope.principal.origin
        self._cell = (tier, typology)
        rule = spec.conflict_of(tier, typology).rule
        self._fixed: dict[str, Any] = {
            "transition": transition,
            "tier": tier.value,
            "typology": typology.value,
        }
        if rule is ConflictRule.SUPERSEDE:
            self._fixed["supersede"] = True
        self._weighs_substance = bool(spec.retrieval.signals.get(Signal.SUBSTANCE))

    def make(self, seen: Observation) -> dict[str, Any]:
        """One item, checked; raises before anything is written."""
        if not isinstance(seen, Observation):
            raise InputError(f"A {type(seen).__name__} is not an Observation.")
        spec = self._spec
        body = check_text(seen.text, spec.backend.body_text_max)
        # Asked of what was said: the gate may take away the very ids that make it a record.
        form = None if spec.references.documents else record_form(body)
        envelope = check_envelope(spec, seen.envelope, seen.claim)
        body, envelope, removed = self._pass(body, envelope)
        if removed and seen.verbatim:
            raise GateRefused(
                f"The ingest gate would remove: {', '.join(sorted(removed))}.",
                remedy="What is kept word for word cannot be kept in part: leave it out, or take "
                "the gate out of the spec; nothing was written.",
            )
        refs = check_refs(spec, seen.refs)
        provenance = check_provenance(spec, seen.provenance)
        origin, trust = self._origin(seen.heard_from)
        since = check_moment(seen.valid_at, "valid_at")
        valid_at = None if since is None else since.isoformat()
        salt, digest = content_hash(body, envelope)
        item: dict[str, Any] = {
            **self._fixed,
            "receipt": uuid7_text(),
            "memory": uuid7_text(),
            "body": body,
            "envelope": envelope,
            "origin": origin.value,
            "trust": trust,
            "salt": salt,
            "hash": digest,
            "detail": {"content_hash": digest}
            | witnessed(origin, trust, self._cell, provenance, salt),
        }
        if removed:
            item["detail"]["removed"] = removed
        if form is not None:
            item["form"] = form
        if self._weighs_substance:
            item["substance"] = substance(body)
        if "claim" in envelope:
            # The columns hold the claim as it is compared; the envelope as it was stated.
            item["claim"] = Claim(**envelope["claim"]).normalised().as_dict()
        if provenance:
            item["provenance"] = provenance
        if valid_at:
            item["valid_at"] = valid_at
        if refs:
            item["refs"] = [
                {"noun": r.noun, "id": str(r.id), "version": r.version, "ref_id": uuid7_text()}
                for r in refs
            ]
            item["detail"]["refs"] = item["refs"]
        return with_key(item, seen.idempotency_key, _RANDOM)

    def _pass(
        self, body: str, envelope: dict[str, Any]
    ) -> tuple[str, dict[str, Any], dict[str, int]]:
        """What crosses the ingest boundary, and how much of what kind did not."""
        if not self._ingest.transforms:
            return body, envelope, {}
        passed = self._ingest.apply(body)
        kept, changes, refused = self._ingest.apply_envelope(envelope)
        why = passed.refused or refused
        if why is not None:
            raise GateRefused(why)
        removed: dict[str, int] = {}
        for change in (*passed.changes, *changes):
            removed[change.kind] = removed.get(change.kind, 0) + change.count
        return passed.text, dict(kept), removed

    def _origin(self, heard_from: Origin | None) -> tuple[Origin, int]:
        own_trust = self._spec.trust_of(self._own)
        if heard_from is None:
            return self._own, own_trust
        try:
            origin = Origin(heard_from)
        except ValueError:
            raise InputError(f"heard_from is one of {', '.join(Origin)}.") from None
        if self._spec.trust_of(origin) > own_trust:
            raise CapabilityRefused(
                f"{article(self._own)} {self._own} principal cannot vouch for the origin {origin}.",
                remedy="Origin comes from who is bound; bind that principal instead.",
            )
        return origin, self._spec.trust_of(origin)


def content_hash(body: str, envelope: dict[str, Any]) -> tuple[str, str]:
    """Salt and hash of what an entry says; the ledger keeps the hash for good.

    Salted: erasing the body must not leave a hash that anyone can guess a phone number from.
    """
    salt = random_bytes(16)
    content = f"{body}\x00{canonical_json(envelope)}"
    return salt.hex(), hashlib.sha256(salt + content.encode()).hexdigest()


def witnessed(
    origin: Origin,
    trust: int,
    cell: tuple[Tier, Typology],
    provenance: Mapping[str, Any],
    salt: str,
) -> dict[str, Any]:
    """What the link that adds an entry says about it besides its hash; `verify` compares.

    Provenance is the caller's text, and erasure must not find it in a chain that never changes:
    so it is hashed, with the entry's own salt.
    """
    told: dict[str, Any] = {"origin": origin.value, "trust": trust, "cell": "/".join(cell)}
    if provenance:
        told["provenance_hash"] = provenance_hash(bytes.fromhex(salt), provenance)
    return told


def provenance_hash(salt: bytes, provenance: Mapping[str, Any]) -> str:
    """The salted hash of an entry's contextual provenance."""
    return hashlib.sha256(salt + canonical_json(dict(provenance)).encode()).hexdigest()


def with_key(
    call: dict[str, Any], key: str | None, random: frozenset[str] = frozenset()
) -> dict[str, Any]:
    """Attach an idempotency key with a digest of everything the caller chose."""
    if key is None:
        return call
    check_text(key, SHORT, "idempotency_key")
    chosen = {k: v for k, v in call.items() if k not in random}
    if "refs" in chosen:
        chosen["refs"] = [{k: v for k, v in r.items() if k != "ref_id"} for r in chosen["refs"]]
    digest = hashlib.sha256(canonical_json(chosen).encode()).hexdigest()
    return {**call, "key": key, "digest": digest}
