"""Verification of an anchor: every link of its chain, the chain's end, and what it witnesses."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Annotated, Any, NamedTuple
from uuid import UUID

from idetic.audit.chain import ChainHead, Link, moment_of, walk_log
from idetic.audit.chain_places import ChainPlace, places
from idetic.audit.findings import KEPT, ChainWalk, Findings, ProblemKind, Verified
from idetic.audit.proposal_faults import check_proposals
from idetic.audit.side_rows import check_side_rows
from idetic.engine import Binding
from idetic.errors import InputError
from idetic.model import Capability, Claim
from idetic.store.anchor_transaction import AnchorTransaction
from idetic.store.audit_rows import AUDIT, chain_end, contents
from idetic.store.entry_content import canonical_json, provenance_hash
from idetic.verbs.arguments import Progress, Wire
from idetic.verbs.declaration import get, post, verb

KeptHead = Annotated[
    ChainHead, Wire("head", dict[str, Any], ChainHead.as_data, ChainHead.from_data)
]
BATCH = 2_000
# Smaller than any position, and still a bigint literal.
_FIRST = -(2**63) + 1
# From here on Python prints a float with an exponent, and jsonb its digits: they read as a whole
# number again, and the bound of a whole number in an envelope is 2^63.
_LIKE_A_FLOAT = 10**16
_WHOLE = 2**63


@verb(capability=Capability.AUDIT, whole_anchor=True, http=get("/chain/head", "auditing"))
async def head(binding: Binding) -> ChainHead:
    """Show the end of this anchor's chain. Keep it elsewhere; `verify` compares with it."""
    async with binding.look() as tx:
        return await chain_head(tx)


async def chain_head(tx: AnchorTransaction) -> ChainHead:
    """Where the chain of an anchor that is being looked at ends now."""
    position, digest, at, _ = await chain_end(tx)
    return _head(tx, position, digest, at)


@verb(
    capability=Capability.AUDIT,
    whole_anchor=True,
    http=post("/chain/verify", "auditing"),
    examples=(
        "idetic verify {scope} --save-head head.json",
        "idetic verify {scope} --head head.json --json",
    ),
)
async def verify(
    binding: Binding, head: KeptHead | None = None, progress: Progress | None = None
) -> Verified:
    """Check every link of the chain, its end, and each entry against its history."""
    async with binding.snapshot() as tx:
        stood = await _places(tx)
        if not any(place and head and place.has(head) for place in stood):
            check_head(binding, head)
        return await examine(tx, head, progress)


async def examine(
    tx: AnchorTransaction,
    head: ChainHead | None = None,
    progress: Progress | None = None,
    *,
    origin: ChainPlace | None = None,
) -> Verified:
    """Check an anchor: its chain, its entries, what points at nothing.

    One part is compared with another over many statements, so `tx` reads one moment or is alone.
    `origin` is where a chain comes from that is being moved, and does not say so yet.
    """
    scope, findings = tx.scope, Findings()
    start = origin or _compare_places(await _places(tx), _own(tx), findings)
    walk = ChainWalk(start.genesis(), findings, head.position if head else None)
    position, digest, at, last = await chain_end(tx)
    await _walk(tx, walk, last or 0, progress)
    await _compare_unsaid(tx, walk)
    _compare_end(walk, position, digest, at)
    if head is not None:
        _compare_head(walk, head)
    entries, after = 0, None
    while rows := await contents(tx, after, BATCH):
        for row in rows:
            check_content(Content(*row), findings)
        entries, after = entries + len(rows), rows[-1][0]
    await _loose_ends(tx, start, findings)
    await check_proposals(tx, findings)
    unwitnessed = await check_side_rows(tx, findings)
    return Verified(
        scope.agent,
        scope.anchor,
        walk.links,
        entries,
        _head(tx, position, digest, at),
        head,
        tuple(findings.problems),
        findings.more,
        unwitnessed,
    )


def _own(tx: AnchorTransaction) -> ChainPlace:
    """The place of an anchor that is being looked at."""
    return ChainPlace.of(tx.family, tx.scope)


async def _places(tx: AnchorTransaction) -> list[ChainPlace | None]:
    """Where this anchor's chain has been; its own place alone, if nobody moved it."""
    return await places(partial(tx.ask, AUDIT), _own(tx))


def _compare_places(
    stood: Sequence[ChainPlace | None], own: ChainPlace, findings: Findings
) -> ChainPlace:
    """The place where the chain begins; note moves that do not follow each other to this one."""
    arrived, left = stood[1::2], [*stood[2::2], own]
    if arrived and arrived != left:
        why = "the links that moved this chain do not lead to this anchor"
        findings.add(ProblemKind.FORKED, None, "anchor", why)
    return stood[0] or own


def _head(
    tx: AnchorTransaction, position: int | None, digest: bytes | None, at: str | None
) -> ChainHead:
    """The end of the chain as a head to keep; that of an empty chain is its genesis."""
    scope, end = tx.scope, digest or _own(tx).genesis()
    return ChainHead(scope.agent, scope.anchor, position or 0, end, moment_of(at))


def check_head(binding: Binding, head: ChainHead | None) -> None:
    """Refuse what is no head of this chain."""
    if head is not None and not isinstance(head, ChainHead):
        raise InputError("head must be a ChainHead.", remedy="Read one with ChainHead.from_data.")
    if head is not None and not head.of_same_anchor(binding.scope):
        raise InputError("This head belongs to another chain.")


async def _walk(
    tx: AnchorTransaction, walk: ChainWalk, last: int, progress: Progress | None
) -> None:
    """Read the chain in batches and check each link, then place those that stand elsewhere."""
    after = _FIRST
    while rows := await tx.ask(AUDIT, "chain", after=after, upto=last, limit=BATCH):
        for row in rows:
            walk.take(Link(*row))
        after = rows[-1][0]
        if progress is not None:
            progress(walk.links, max(last, walk.links))
    if hashes := [link.prev_hash for link in walk.strays]:
        walk.settle_strays(dict(await tx.ask(AUDIT, "holders", hashes=hashes)))


def _compare_end(
    walk: ChainWalk, position: int | None, digest: bytes | None, at: str | None
) -> None:
    """Compare what the anchor's row says with the last link there is."""
    ends = 0 if walk.last is None else walk.last.position
    says = f"the anchor's row says that the chain ends at {position}"
    fault: tuple[ProblemKind, int, str] | None = None
    if position is None:
        if walk.links:
            fault = ProblemKind.MISSING, ends, "the anchor's row is not there"
    elif position > ends:
        fault = ProblemKind.CUT, ends + 1, says
    elif position < ends:
        fault = ProblemKind.INSERTED, position + 1, says
    elif digest not in walk.ends:
        fault = ProblemKind.ALTERED, ends, "the anchor's row has another hash than the last link"
    elif walk.last is not None and walk.last.at != at and not walk.doubtful:
        fault = ProblemKind.ALTERED, ends, "the anchor's row has another time than the last link"
    if fault is not None:
        walk.findings.add(fault[0], fault[1], "anchor", fault[2])


async def _compare_unsaid(tx: AnchorTransaction, walk: ChainWalk) -> None:
    """Compare links without a reason with what the last erasure said of them."""
    rows = await tx.ask(AUDIT, "unsaid")
    walk.settle_unsaid(*(rows[0] if rows else (0, hashlib.sha256().hexdigest())))


def _compare_head(walk: ChainWalk, head: ChainHead) -> None:
    """What was kept elsewhere against what is here."""
    ends = 0 if walk.last is None else walk.last.position
    if head.position > ends:
        why = f"the chain ended at {head.position} when its head was kept"
        walk.findings.add(ProblemKind.CUT, ends + 1, "head", why)
    elif walk.watched is not None and walk.watched != head.hash:
        why = "another link stood here when the head was kept"
        walk.findings.add(ProblemKind.FORKED, head.position, "head", why)


async def _loose_ends(tx: AnchorTransaction, start: ChainPlace, findings: Findings) -> None:
    """Note what points at nothing, or elsewhere: entries, the origins of sources, mirrors."""
    for entry_id, at in await tx.ask(AUDIT, "vanished", limit=KEPT):
        why = "the chain added it, and nothing says where it went"
        findings.add(ProblemKind.MISSING, at, "entry", why, entry_id)
    for entry_id, source_id in await tx.ask(AUDIT, "forged_lineage", limit=KEPT):
        why = f"its source {source_id} was added with another origin or trust"
        findings.add(ProblemKind.ALTERED, None, "lineage", why, entry_id)
    if tx.family.log_table:
        walk = await walk_log(partial(tx.ask, "log"), start.genesis(log=True))
        for problem in walk.problems:
            findings.add(ProblemKind.ALTERED, None, "log", problem)
        for entry_id, at in await tx.ask(AUDIT, "misplaced_mirrors", limit=KEPT):
            why = "it says that it mirrors another event, or sums up another loop, than its link"
            findings.add(ProblemKind.ALTERED, at, "entry", why, entry_id)


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
    placed: Mapping[str, Any]
    added_at: str | None


def check_content(content: Content, findings: Findings) -> None:
    """Note what is wrong with one entry."""
    if content.added is None:
        why = "no link of the chain added it"
        findings.add(ProblemKind.INSERTED, None, "entry", why, content.memory_id)
        return
    for why in (*_content_faults(content), *_witness_faults(content), *_state_faults(content)):
        findings.add(ProblemKind.ALTERED, content.added, "entry", why, content.memory_id)


def _content_faults(content: Content) -> Iterator[str]:
    """Whether the entry says what was written, by whom it was written."""
    start = (content.salt or b"") + content.body_text.encode() + b"\x00"
    hashes = (hashlib.sha256(start + text.encode()) for text in _readings(content.envelope))
    if content.content_hash.hex() != content.witnessed:
        yield "its content_hash is not the one it was added with"
    elif content.salt is None:
        if content.emptied is None or content.body_text:
            yield "it lost its salt, and nothing says that it was emptied"
    elif not any(one.digest() == content.content_hash for one in hashes):
        yield "what it says is not what was written"
    elif not _claims_the_same(content):
        yield "its claim columns are not its envelope's claim"
    if content.created_by != content.added_by:
        yield "its history says that somebody else wrote it"


def _claims_the_same(content: Content) -> bool:
    """Whether an entry's claim columns say what the claim in its envelope says."""
    claim = json.loads(content.envelope).get("claim")
    expected = Claim(**claim).normalised().as_dict() if claim else {}
    columns = (content.claim_subject, content.claim_attribute, content.claim_value)
    return columns == tuple(expected.get(key) for key in ("subject", "attribute", "value"))


def _readings(envelope: str) -> Iterator[str]:
    """The envelope as it may have been when it was hashed.

    jsonb keeps the value of a number and not its spelling: 1e+16 comes back as a whole number and
    -0.0 without its sign. Each other reading is only tried when the plain one does not fit.
    """
    for big in (_WHOLE, _LIKE_A_FLOAT):
        for zero in (0.0, -0.0):
            yield canonical_json(_parsed(envelope, big, zero))


def _parsed(envelope: str, big: int, zero: float) -> Any:
    """The envelope, read with one bound for whole numbers and one sign for zero."""

    def whole(text: str) -> int | float:
        """A whole number, or the float that jsonb printed without its exponent."""
        value = int(text)
        return float(value) if not -big <= value < big else value

    return json.loads(envelope, parse_int=whole, parse_float=lambda text: float(text) or zero)


def _witness_faults(content: Content) -> Iterator[str]:
    """What the link that added it says of it; one of an older version only says when."""
    witness = content.told or {}
    stands = {"origin": content.origin, "trust": content.trust, "cell": content.cell}
    if wrong := [name for name, value in stands.items() if witness.get(name, value) != value]:
        yield f"its history says that it was added with another {', '.join(wrong)}"
    if "spec" in witness and any(
        witness.get(name) != content.placed[name] for name in content.placed
    ):
        yield "its history says that it was added in another place, or under another spec"
    if not content.dated:
        yield "its history says that it was added at another time"
    if content.salt is not None and "trust" in witness:
        # The column takes any JSON: after tampering it may be no object.
        sound = isinstance(content.provenance, Mapping)
        values = content.provenance.items() if sound else ()
        values_set = {name: value for name, value in values if value is not None}
        expected = provenance_hash(content.salt, values_set) if values_set else None
        if not sound or witness.get("provenance_hash") != expected:
            yield "its history says that it was added with another provenance"


def _state_faults(content: Content) -> Iterator[str]:
    """Whether the state columns are as the links left them."""
    if content.told_state not in (None, content.state):
        yield f"it is {content.state}; its history says {content.told_state}"
        return
    left: dict[str, Any] = dict.fromkeys(content.columns) | {"candidate": bool(content.proposed)}
    added = content.told or {}
    if "spec" in added:
        left["valid_at"] = added.get("valid_at", content.added_at)
    else:
        # A link of an older version does not have these; only changes since are known.
        left |= {column: content.columns[column] for column in ("valid_at", "invalid_at")}
    for turn in content.turns or ():
        left |= turn
    values = content.columns.items()
    if turned := [column for column, value in values if _moment(left[column]) != _moment(value)]:
        yield f"its history says otherwise about {', '.join(sorted(turned))}"


def _moment(value: Any) -> Any:
    """A time as a time, however it is spelt; anything else, and what is no time, as it is."""
    try:
        return datetime.fromisoformat(value)
    except (TypeError, ValueError):
        return value
