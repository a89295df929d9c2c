"""`verify`: every link of an anchor's chain, its end, and what the chain witnesses."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from idetic.audit.chain import Link, genesis_hash
from idetic.audit.contents import Content, check_content
from idetic.audit.findings import KEPT, Findings, ProblemKind, Verified
from idetic.audit.head import ChainHead, moment_of
from idetic.audit.log_chain import walk_log
from idetic.audit.walk import ChainWalk
from idetic.errors import AnchorRefused, InputError
from idetic.model import Capability, Scope
from idetic.ports import Clock
from idetic.spec.memory_spec import MemorySpec
from idetic.store.audit import Audited, Auditing
from idetic.verbs.authorization import require

Progress = Callable[[int, int], None]
BATCH = 2_000
# Smaller than any position, and still a bigint literal.
_FIRST = -(2**63) + 1


class Verifier:
    """Checks the chains of one agent. Reads only, in batches that each hold no more than that."""

    def __init__(self, spec: MemorySpec, auditing: Auditing, clock: Clock):
        self._spec = spec
        self._auditing = auditing
        self._clock = clock

    async def head(self, scope: Scope) -> ChainHead:
        """Where the anchor's chain ends now, to be kept elsewhere."""
        require(self._spec, scope, Capability.AUDIT)
        require_one_chain(scope)
        async with self._auditing.look(scope, self._clock.now()) as seen:
            position, digest, at, _ = await seen.end()
        return self._head(scope, position, digest, at)

    async def verify(
        self, scope: Scope, head: ChainHead | None, progress: Progress | None
    ) -> Verified:
        """Check everything; problems are told, not raised."""
        require(self._spec, scope, Capability.AUDIT)
        require_one_chain(scope)
        check_head(scope, head)
        async with self._auditing.look(scope, self._clock.now()) as seen:
            return await self.examine(seen, head, progress)

    async def examine(
        self, seen: Audited, head: ChainHead | None = None, progress: Progress | None = None
    ) -> Verified:
        """The same for an anchor that is being looked at already."""
        scope = seen.scope
        findings = Findings()
        walk = ChainWalk(self._genesis(scope), findings, head.position if head else None)
        position, digest, at, last = await seen.end()
        await _walk(seen, walk, last or 0, progress)
        _compare_end(walk, position, digest, at)
        if head is not None:
            _compare_head(walk, head)
        entries = await _contents(seen, findings)
        await _loose_ends(seen, findings)
        if seen.logs:
            await self._log(seen, findings)
        return Verified(
            scope.agent, scope.anchor, walk.links, entries,
            self._head(scope, position, digest, at), head, tuple(findings.problems), findings.more,
        )  # fmt: skip

    async def _log(self, seen: Audited, findings: Findings) -> None:
        """The log that entries are derived from, and whose event each entry says it mirrors."""
        genesis = genesis_hash(f"{self._auditing.family_name}_log", seen.scope.anchor.values())
        for problem in (await walk_log(seen, genesis)).problems:
            findings.add(ProblemKind.ALTERED, None, "log", problem)
        for entry_id, position in await seen.loose("misplaced_mirrors", KEPT):
            why = "it says that it mirrors another event, or sums up another loop, than its link"
            findings.add(ProblemKind.ALTERED, position, "entry", why, entry_id)

    def _head(
        self, scope: Scope, position: int | None, digest: bytes | None, at: str | None
    ) -> ChainHead:
        found = digest or self._genesis(scope)
        return ChainHead(scope.agent, scope.anchor, position or 0, found, moment_of(at))

    def _genesis(self, scope: Scope) -> bytes:
        return genesis_hash(self._auditing.family_name, scope.anchor.values())


def check_head(scope: Scope, head: ChainHead | None) -> None:
    """Refuse what is no head of this chain."""
    if head is not None and not isinstance(head, ChainHead):
        raise InputError("head is a ChainHead.", remedy="Read one with ChainHead.from_data.")
    if head is not None and not head.of_same_anchor(scope.agent, scope.anchor):
        raise InputError("This head belongs to another chain.")


def require_one_chain(scope: Scope) -> None:
    """Refuse a scope that spans several chains."""
    missing = [key for key, value in scope.anchor.items() if value is None]
    if missing:
        raise AnchorRefused(
            f"A chain belongs to one anchor; {', '.join(missing)} is open.",
            remedy="Bind again with every key, once for each anchor.",
        )


async def _walk(seen: Audited, walk: ChainWalk, last: int, progress: Progress | None) -> None:
    after = _FIRST
    while rows := await seen.chain(after, last, BATCH):
        for row in rows:
            walk.take(Link(*row))
        after = rows[-1][0]
        if progress is not None:
            progress(walk.links, max(last, walk.links))
    wanted = [link.prev_hash for link in walk.strays]
    walk.settle_strays(await seen.holders(wanted))


def _compare_end(
    walk: ChainWalk, position: int | None, digest: bytes | None, at: str | None
) -> None:
    """What the anchor's row says against the last link there is."""
    ends = 0 if walk.last is None else walk.last.position

    def problem(kind: ProblemKind, where: int, why: str) -> None:
        walk.findings.add(kind, where, "anchor", why)

    if position is None:
        if walk.links:
            problem(ProblemKind.MISSING, ends, "the anchor's row is not there")
    elif position > ends:
        problem(
            ProblemKind.CUT, ends + 1, f"the anchor's row says that the chain ends at {position}"
        )
    elif position < ends:
        why = f"the anchor's row says that the chain ends at {position}"
        problem(ProblemKind.INSERTED, position + 1, why)
    elif digest not in walk.ends:
        problem(ProblemKind.ALTERED, ends, "the anchor's row has another hash than the last link")
    elif walk.last is not None and walk.last.at != at and not walk.doubtful:
        problem(ProblemKind.ALTERED, ends, "the anchor's row has another time than the last link")


def _compare_head(walk: ChainWalk, head: ChainHead) -> None:
    """What was kept elsewhere against what is here."""
    ends = 0 if walk.last is None else walk.last.position
    if head.position > ends:
        why = f"the chain ended at {head.position} when its head was kept"
        walk.findings.add(ProblemKind.CUT, ends + 1, "head", why)
    elif walk.watched is not None and walk.watched != head.hash:
        why = "another link stood here when the head was kept"
        walk.findings.add(ProblemKind.FORKED, head.position, "head", why)


async def _contents(seen: Audited, findings: Findings) -> int:
    count, after = 0, None
    while rows := await seen.contents(after, BATCH):
        for row in rows:
            check_content(Content(*row), findings)
        count, after = count + len(rows), rows[-1][0]
    return count


async def _loose_ends(seen: Audited, findings: Findings) -> None:
    """What points at nothing: entries, idempotency receipts, actions."""
    for entry_id, position in await seen.loose("vanished", KEPT):
        why = "the chain added it, and nothing says where it went"
        findings.add(ProblemKind.MISSING, position, "entry", why, entry_id)
    for entry_id, source_id in await seen.loose("forged_lineage", KEPT):
        why = f"its source {source_id} was added with another origin or trust"
        findings.add(ProblemKind.ALTERED, None, "lineage", why, entry_id)
    for (position,) in await seen.loose("lost_receipts", KEPT):
        why = "an idempotency key stands for a link that is not there"
        findings.add(ProblemKind.MISSING, position, "receipt", why)
    for entry_id, action_id in await seen.loose("unrecorded_actions", KEPT):
        why = f"no link says that action {action_id} rested on it"
        findings.add(ProblemKind.INSERTED, None, "action", why, entry_id)
    for entry_id, action_id, position in await seen.loose("lost_actions", KEPT):
        why = f"action {action_id} rested on it, and no row says so any more"
        findings.add(ProblemKind.MISSING, position, "action", why, _entry(entry_id))


def _entry(value: object) -> UUID | None:
    return value if isinstance(value, UUID) else None
