"""What may be written at all: bounded text, a declared envelope, references that make sense.

Everything here is checked before the database is asked, so that bad input costs nothing and
leaves nothing.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any
from uuid import UUID

from idetic.errors import EnvelopeRefused, InputError
from idetic.model import Claim, Ref
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import ENVELOPE_MAX_BYTES, EnvelopeKey, EnvelopeType
from idetic.store.entry_content import canonical_json
from idetic.verbs.arguments import SHORT, check_text

MAX_REFS = 64
MAX_LIST = 64
_BIGINT = 2**63


def check_envelope(
    spec: MemorySpec,
    envelope: Mapping[str, Any] | None,
    claim: Claim | None,
    speaker: str | None = None,
) -> dict[str, Any]:
    """The envelope as stored: only declared keys, of the declared shape, within bounds."""
    if envelope is not None and not isinstance(envelope, Mapping):
        raise EnvelopeRefused(f"The envelope is a {type(envelope).__name__}, not a mapping.")
    declared, given = spec.retrieval.envelope, envelope or {}
    if speaker is not None:
        declared, given = declared | {"speaker": EnvelopeKey()}, {**given, "speaker": speaker}
    result: dict[str, Any] = {}
    for key, value in given.items():
        if key == "claim":
            if claim is not None and _claim(claim) != _claim(value):
                raise EnvelopeRefused("The claim argument and the envelope's claim differ.")
            claim = _claim(value)
            continue
        if key not in declared:
            known = ", ".join(sorted(declared)) or "none"
            raise EnvelopeRefused(
                f"The envelope key {key!r} is not declared.",
                remedy=f"Declared keys: {known}. Add it under `retrieval.envelope` in the spec, "
                "or leave it out; nothing was written.",
            )
        result[key] = _value(key, value, declared[key])
    missing = [key for key, wanted in declared.items() if wanted.required and key not in result]
    if missing:
        raise EnvelopeRefused(f"The envelope lacks the required key(s) {', '.join(missing)}.")
    if claim is not None:
        result["claim"] = _claim(claim).as_dict()
    # A character takes at most six bytes in JSON; nearly every envelope is far from the bound.
    near = len(repr(result)) * 6 > ENVELOPE_MAX_BYTES
    if near and len(canonical_json(result).encode()) > ENVELOPE_MAX_BYTES:
        raise EnvelopeRefused(f"The envelope is larger than {ENVELOPE_MAX_BYTES:,} bytes.")
    return result


def _claim(value: object) -> Claim:
    """A claim, checked part by part; a mapping of exactly its three parts is one too."""
    if isinstance(value, Mapping):
        if set(value) != {"subject", "attribute", "value"}:
            raise EnvelopeRefused("A claim must have exactly subject, attribute and value.")
        value = Claim(value["subject"], value["attribute"], value["value"])
    if not isinstance(value, Claim):
        raise EnvelopeRefused(f"A claim is a Claim or a mapping, not a {type(value).__name__}.")
    for name, part in value.as_dict().items():
        check_text(part, SHORT, f"claim.{name}")
    return value


def _value(key: str, value: object, declared: EnvelopeKey) -> Any:
    """An envelope's value in the shape that the spec declares for its key, or a refusal."""
    if declared.type is EnvelopeType.LIST:
        if not isinstance(value, list | tuple) or len(value) > MAX_LIST:
            raise EnvelopeRefused(f"envelope.{key} must be a list of at most {MAX_LIST} values.")
        return [check_scalar(key, item) for item in value]
    if declared.type is EnvelopeType.HIERARCHY:
        text = check_text(value, SHORT, f"envelope.{key}")
        if any(not segment.strip() for segment in text.split("/")):
            raise EnvelopeRefused(
                f"envelope.{key} must be a path like 'payments/wire', without empty segments."
            )
        return text
    return check_scalar(key, value)


def fits(spec: MemorySpec, key: object, value: object) -> bool:
    """Whether the spec declares an envelope key of this name, and the value has its shape."""
    declared = spec.retrieval.envelope.get(key) if isinstance(key, str) else None
    try:
        return declared is not None and _value(str(key), value, declared) is not None
    except InputError:
        return False


def check_scalar(key: str, value: object) -> str | int | float | bool:
    """One value of an envelope."""
    if isinstance(value, bool):
        return value
    if isinstance(value, str):
        return check_text(value, SHORT, f"envelope.{key}")
    if isinstance(value, int) and -_BIGINT <= value < _BIGINT:
        return value
    if isinstance(value, float) and math.isfinite(value):
        return value
    raise EnvelopeRefused(f"envelope.{key} must be a text, a finite number or a truth value.")


def question_envelope(spec: MemorySpec, envelope: Mapping[str, Any] | None) -> Mapping[str, Any]:
    """The envelope of a question: declared keys, each with one value or several."""
    if envelope is not None and not isinstance(envelope, Mapping):
        raise EnvelopeRefused("The envelope of a question must be a mapping.")
    for key, value in (envelope or {}).items():
        if key not in spec.retrieval.envelope:
            known = ", ".join(sorted(spec.retrieval.envelope)) or "none"
            raise EnvelopeRefused(
                f"The envelope key {key!r} is not declared.", remedy=f"Declared keys: {known}."
            )
        parts = value if isinstance(value, list | tuple) else [value]
        if len(parts) > MAX_LIST:
            raise EnvelopeRefused(f"envelope.{key} may have at most {MAX_LIST} values.")
        for part in parts:
            check_scalar(key, part)
    return envelope or {}


def check_refs(spec: MemorySpec, refs: Iterable[Ref] | None) -> list[Ref]:
    """References to declared canonical nouns, each once."""
    if refs == ():
        return []
    nouns = {canonical.noun: canonical for canonical in spec.references.canonical}
    found: dict[tuple[str, UUID], Ref] = {}
    if refs is not None and not isinstance(refs, Iterable):
        raise InputError(f"refs is a {type(refs).__name__}, not a list of references.")
    for ref in refs or ():
        if not (isinstance(ref, Ref) and isinstance(ref.id, UUID) and isinstance(ref.noun, str)):
            raise InputError("A reference must be a Ref such as Rule(id), with a UUID.")
        if ref.noun not in nouns:
            known = ", ".join(nouns) or "none"
            raise InputError(
                f"This agent references no {ref.noun!r}.",
                remedy=f"Declared nouns: {known}. See `references.canonical` in the spec.",
            )
        if ref.version is not None and (
            type(ref.version) is not int or not 0 < ref.version < 2**31
        ):
            raise InputError("A reference's version must be a positive whole number.")
        if ref.version is not None and not nouns[ref.noun].versions:
            raise InputError(f"{ref.noun} is not versioned; leave the version out.")
        found[ref.noun, ref.id] = ref
    if len(found) > MAX_REFS:
        raise InputError(f"An entry may have at most {MAX_REFS} references.")
    return list(found.values())


def check_provenance(spec: MemorySpec, provenance: Mapping[str, str] | None) -> dict[str, str]:
    """Contextual provenance the spec declares, such as a model version."""
    if provenance is None:
        return {}
    if not isinstance(provenance, Mapping):
        raise InputError("provenance must be a mapping of declared names to texts.")
    unknown = set(provenance) - set(spec.anchor.provenance)
    if unknown:
        known = ", ".join(spec.anchor.provenance) or "none"
        raise InputError(
            f"Provenance {', '.join(map(repr, unknown))} is not declared.",
            remedy=f"Declared: {known}. See `anchor.provenance` in the spec.",
        )
    return {k: check_text(v, SHORT, f"provenance.{k}") for k, v in provenance.items()}
