"""One anchor moves into the family that a changed spec makes, with its chain to the byte.

It goes the way of an export and an import, without a file between them: the rows that an export
reads, one snapshot of them, into the functions that an import fills tables by.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from typing import Any
from uuid import UUID

from idetic.audit.chain_places import ChainPlace, places
from idetic.audit.findings import Verified
from idetic.audit.verify import chain_head, examine
from idetic.engine import Binding
from idetic.errors import AnchorTaken, InputError, NotFound, PlanRefused, ShadowRefused
from idetic.model import Decision, plain
from idetic.store.anchor_transaction import AnchorTransaction
from idetic.store.audit_rows import AUDIT, versions_now
from idetic.store.export_rows import (
    MOVING,
    PROFILES,
    SPECS,
    RowKind,
    batches,
    begin,
    count,
    fill,
    landing,
    leaving,
    register,
    row_kinds,
)
from idetic.store.steps import LinkStep
from idetic.transfer.imports import IMPORT

Report = Callable[[float], None]
"""Told how much of an anchor has been moved, from 0 to 1."""


@dataclass(slots=True)
class AnchorMove:
    """One anchor on its way from a binding of the old engine to one of the new."""

    old: Binding
    new: Binding
    report: Report
    rows: int = 0
    pinned: dict[str, int] = field(default_factory=dict)

    async def run(self) -> int:
        """Move all of it in one transaction, verify it there, and say so in its chain."""
        with self._told():
            async with (
                leaving(self.old.engine.anchors, self.old.scope) as here,
                landing(self.new.engine.anchors, self.new.scope) as there,
            ):
                if await begin(there) != 0:
                    raise AnchorTaken
                await self._rows(here, there)
                # The guard looks at what came, and the anchor moves to the end of its chain.
                await there.ask(MOVING, "taken")
                place = ChainPlace.of(here.family, here.scope)
                # Where it began: it may have been moved before.
                first, *_ = await places(partial(here.ask, AUDIT), place)
                found = await examine(there, origin=first or place)
                await self._check(here, found)
                await self.new.settle(there, [self._link(place, there, found)])
        return self.rows

    async def _rows(self, here: AnchorTransaction, there: AnchorTransaction) -> None:
        """Every row, in the order in which the new family's tables can be filled."""
        # The versions of the spec are in this database already.
        found = [kind for kind in await row_kinds(here, vectors=True) if kind.name != SPECS]
        held = {kind.name: kind for kind in found}
        wanted = {kind.name: kind for kind in await row_kinds(there, vectors=True)}
        counts = {name: await count(here, kind) for name, kind in held.items()}
        for name, kind in held.items():
            if counts[name]:
                _check_kept(kind, wanted.get(name))
        total = sum(counts.values())
        for kind in (held[name] for name in wanted if name in held):
            async for texts in batches(here, kind):
                await self._take(there, kind.name, texts)
                self.rows += len(texts)
                self.report(self.rows / total)

    async def _take(self, there: AnchorTransaction, kind: str, texts: list[str]) -> None:
        """Write some rows of one kind; what has become versioned is pinned."""
        if kind == PROFILES:
            for text in texts:
                await register(there, json.loads(text))
            return
        await fill(there, kind, await self._pinned(there, kind, texts), vectors=True)

    async def _pinned(
        self, there: AnchorTransaction, kind: str, texts: Sequence[str]
    ) -> Sequence[str]:
        """References to a noun that has versions now name the one that is current."""
        noun = kind.removesuffix("_refs")
        found = [one for one in there.spec.references.canonical if one.noun == noun]
        column = f"{noun}_version"
        if kind == noun or not found or not found[0].versions:
            return texts
        rows = [json.loads(text) for text in texts]
        if column in rows[0]:
            return texts
        ids = [UUID(row[found[0].key]) for row in rows]
        current = await versions_now(there, noun, set(ids))
        self.pinned[noun] = self.pinned.get(noun, 0) + len(ids)
        # As text: numbers in what stays must keep their spelling.
        return [
            f'{text[:-1]}, "{column}": {json.dumps(current.get(one))}}}'
            for text, one in zip(texts, ids, strict=True)
        ]

    async def _check(self, here: AnchorTransaction, found: Verified) -> None:
        """Refuse what does not verify, or ends elsewhere than the chain that is left."""
        if not found.intact:
            first, number = found.problems[0], len(found.problems) + found.more
            raise PlanRefused(
                f"{self._named} does not verify: {number} problem(s), the first: {first.what}, "
                f"{first.kind}, {first.why}.",
                remedy="The anchor was not moved. Run `idetic verify` on it, and compare with a "
                "backup; `idetic spec migrate --abandon` opens the old family again.",
            )
        left = await chain_head(here)
        if (left.position, left.hash) != (found.head.position, found.head.hash):
            raise PlanRefused(f"{self._named} was written to while it moved.")

    def _link(self, place: ChainPlace, there: AnchorTransaction, found: Verified) -> LinkStep:
        """The link that says where all links before it were written."""
        told: Mapping[str, Any] = {
            "from": place.as_data(),
            "to": ChainPlace.of(there.family, there.scope).as_data(),
            "upto": found.head.position,
            "head": found.head.hash.hex(),
            "rows": self.rows,
            "entries": found.entries,
            **({"pinned": self.pinned} if self.pinned else {}),
        }
        why = f"moved from {place.family} by a spec migration"
        return LinkStep(IMPORT, why, decision=Decision.ADD, detail=told)

    @property
    def _named(self) -> str:
        """The anchor as an error names it."""
        return f"The anchor {plain(self.old.scope.anchor)}"

    @contextmanager
    def _told(self) -> Iterator[None]:
        """What the new family refuses of an anchor, with the anchor's name and what to do."""
        try:
            yield
        except AnchorTaken:
            raise PlanRefused(
                f"{self._named} already has memory in the new family, and it differs from the old.",
                remedy="Call with --abandon, and give the spec another `backend.family`.",
            ) from None
        except (ShadowRefused, NotFound, InputError) as error:
            raise PlanRefused(
                f"{self._named} does not fit the changed spec: {error.message}",
                remedy=f"The anchor was not moved. {error.remedy} To change an entry, first "
                "call with --abandon; then migrate again.",
            ) from error


def _check_kept(kind: RowKind, wanted: RowKind | None) -> None:
    """Refuse to leave rows behind, or a column of theirs."""
    lost = kind.columns if wanted is None else kind.columns - wanted.columns
    if lost:
        what = "them" if wanted is None else f"their {', '.join(sorted(lost))}"
        raise PlanRefused(
            f"The changed spec has no place for {kind.name}: {what} would be lost.",
            remedy="Keep the parts of the spec that those rows need. "
            "`idetic spec migrate --abandon` opens the old family again.",
        )
