"""Whether an entry still says what the chain witnessed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from typing import Any, NamedTuple
from uuid import UUID

from idetic.audit.findings import Findings, ProblemKind
from idetic.model import Claim
from idetic.store.entry_content import canonical_json, provenance_hash

# From here on Python prints a float with an exponent, and jsonb its digits: they read as a whole
# number again, and the bound of a whole number in an envelope is 2^63.
_LIKE_A_FLOAT = 10**16
_WHOLE = 2**63


class Content(NamedTuple):
    """One entry beside what its history says of it."""

    memory_id: UUID
    body_text: str
    envelope: str
    salt: bytes | None
    content_hash: bytes
    claim_subject: str | None
    claim_attribute: str | None
    claim_value: str | None
    state: str
    added: int | None
    witnessed: str | None
    added_by: str | None
    created_by: str
    told_state: str | None
    emptied: int | None
    columns: Mapping[str, Any]
    proposed: bool | None
    turns: Sequence[Mapping[str, Any]] | None
    origin: str
    trust: int
    cell: str
    dated: bool | None
    provenance: Mapping[str, Any]
    told: Mapping[str, Any] | None


def check_content(found: Content, findings: Findings) -> None:
    """Note what is wrong with one entry."""
    if found.added is None:
        why = "no link of the chain added it"
        findings.add(ProblemKind.INSERTED, None, "entry", why, found.memory_id)
        return
    for why in (*_content_faults(found), *_witness_faults(found), *_state_faults(found)):
        findings.add(ProblemKind.ALTERED, found.added, "entry", why, found.memory_id)


def _content_faults(found: Content) -> Iterator[str]:
    if found.content_hash.hex() != found.witnessed:
        yield "its content_hash is not the one it was added with"
    elif found.salt is None:
        if found.emptied is None or found.body_text:
            yield "it lost its salt, and nothing says that it was emptied"
    elif not _says_the_same(found):
        yield "what it says is not what was written"
    elif not _claims_the_same(found):
        yield "its claim columns are not its envelope's claim"
    if found.created_by != found.added_by:
        yield "its history says that somebody else wrote it"


def _witness_faults(found: Content) -> Iterator[str]:
    """What the link that added it says of it; one of an older version only says when."""
    told = found.told or {}
    stands = {"origin": found.origin, "trust": found.trust, "cell": found.cell}
    if wrong := [name for name, value in stands.items() if told.get(name, value) != value]:
        yield f"its history says that it was added with another {', '.join(wrong)}"
    if not found.dated:
        yield "its history says that it was added at another time"
    if found.salt is not None and "trust" in told and not _provenance_stands(found, told):
        yield "its history says that it was added with another provenance"


def _provenance_stands(found: Content, told: Mapping[str, Any]) -> bool:
    if not isinstance(found.provenance, Mapping):
        # The column holds any JSON, and whoever tampers writes what he likes.
        return False
    given = {name: value for name, value in found.provenance.items() if value is not None}
    wanted = provenance_hash(found.salt or b"", given) if given else None
    return told.get("provenance_hash") == wanted


def _state_faults(found: Content) -> Iterator[str]:
    if found.told_state not in (None, found.state):
        yield f"it is {found.state}; its history says {found.told_state}"
    elif turned := sorted(_turned_unsaid(found)):
        yield f"its history says otherwise about {', '.join(turned)}"


def _says_the_same(found: Content) -> bool:
    start = (found.salt or b"") + found.body_text.encode() + b"\x00"
    return any(
        hashlib.sha256(start + text.encode()).digest() == found.content_hash
        for text in _readings(found.envelope)
    )


def _readings(envelope: str) -> Iterator[str]:
    """The envelope as it may have been when it was hashed.

    jsonb keeps the value of a number and not its spelling: 1e+16 comes back as a whole number and
    -0.0 without its sign. Each other reading is only tried when the plain one does not fit.
    """
    for big in (_WHOLE, _LIKE_A_FLOAT):
        for zero in (0.0, -0.0):
            yield canonical_json(_parsed(envelope, big, zero))


def _parsed(envelope: str, big: int, zero: float) -> Any:
    def whole(text: str) -> int | float:
        value = int(text)
        return float(value) if not -big <= value < big else value

    return json.loads(envelope, parse_int=whole, parse_float=lambda text: float(text) or zero)


def _claims_the_same(found: Content) -> bool:
    claim = json.loads(found.envelope).get("claim")
    wanted = Claim(**claim).normalised().as_dict() if claim else {}
    columns = (found.claim_subject, found.claim_attribute, found.claim_value)
    return columns == tuple(wanted.get(key) for key in ("subject", "attribute", "value"))


def _turned_unsaid(found: Content) -> Iterator[str]:
    """The state columns that are not as the links left them."""
    told: dict[str, Any] = dict.fromkeys(found.columns)
    told["candidate"] = bool(found.proposed)
    # From when and until when it holds is said by whoever writes; the chain only tells of changes.
    told |= {column: found.columns[column] for column in ("valid_at", "invalid_at")}
    for turn in found.turns or ():
        told |= turn
    for column, value in found.columns.items():
        if _moment(told[column]) != _moment(value):
            yield column


def _moment(value: Any) -> Any:
    """A time as a time, however it is spelt; anything else, and what is no time, as it is."""
    try:
        return datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return value
