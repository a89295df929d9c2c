"""Whether an entry still says what the chain witnessed."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any, NamedTuple
from uuid import UUID

from idetic.audit.findings import Findings, ProblemKind
from idetic.gateway.content import canonical_json
from idetic.model import Claim

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


def check_content(found: Content, findings: Findings) -> None:
    """Note what is wrong with one entry."""

    def problem(kind: ProblemKind, why: str) -> None:
        findings.add(kind, found.added, "entry", why, found.memory_id)

    if found.added is None:
        problem(ProblemKind.INSERTED, "no link of the chain added it")
        return
    if found.content_hash.hex() != found.witnessed:
        problem(ProblemKind.ALTERED, "its content_hash is not the one it was added with")
    elif found.salt is None:
        if found.emptied is None or found.body_text:
            problem(ProblemKind.ALTERED, "it lost its salt, and nothing says that it was emptied")
    elif not _says_the_same(found):
        problem(ProblemKind.ALTERED, "what it says is not what was written")
    elif not _claims_the_same(found):
        problem(ProblemKind.ALTERED, "its claim columns are not its envelope's claim")
    if found.created_by != found.added_by:
        problem(ProblemKind.ALTERED, "its history says that somebody else wrote it")
    if found.told_state not in (None, found.state):
        problem(ProblemKind.ALTERED, f"it is {found.state}; its history says {found.told_state}")


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
