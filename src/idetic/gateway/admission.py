"""Admissions: the items of one caller on their way to the database, and the receipts they get.

Admissions of one tenant may travel as one transaction. Those of one principal that only add plain
notes to one anchor share a statement; the others keep theirs, in the order of arrival.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from idetic.gateway.write_items import WriteItem
from idetic.ids import uuid7_text
from idetic.model import Decision, Place, Receipt, Scope
from idetic.store import scope as scoping
from idetic.store.driver import Rows
from idetic.store.entry_content import placed, plain_json
from idetic.store.templates import Values

# Why nothing was written, and the call is to come again: see `admit.sql`.
UNJUDGED, HELD, APART = "unjudged", "held", "apart"


class AskedAgain(Exception):
    """Nothing was written; the database says what it needs to know or have first."""

    def __init__(self, reason: str):
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Terms:
    """How a call is admitted.

    `careful`: the guard is asked before each row. `apart`: no other caller's items in its
    statement. `waits`: for its anchor, if somebody holds it.
    """

    careful: bool = False
    apart: bool = False
    waits: bool = False

    def after(self, reason: str) -> Terms:
        """The terms on which a call comes again."""
        held, apart = reason == HELD, reason == APART
        return Terms(self.careful, self.apart or apart, self.waits or held)


@dataclass(frozen=True, slots=True)
class Admission:
    """Items of one call with the ids that they are written under, encoded."""

    scope: Scope
    place: Place
    items: Sequence[WriteItem]
    ids: Sequence[tuple[str, str]]
    # JSON objects, one after the other.
    encoded: str
    version: int
    at: datetime
    terms: Terms
    plain: bool

    @classmethod
    def of(
        cls,
        scope: Scope,
        place: Place,
        items: Sequence[WriteItem],
        *,
        version: int,
        at: datetime,
        terms: Terms,
    ) -> Admission:
        """The items under new ids: an attempt that failed has written nothing."""
        ids = [(uuid7_text(), uuid7_text()) for _ in items]
        told = placed(version, place.session_id, place.interaction_id)
        made = [item.encoded(*own, told) for item, own in zip(items, ids, strict=True)]
        plain = not terms.careful and all(item.plain for item in items)
        # Item by item: one call for all of them would not let another thread run meanwhile.
        encoded = ",".join(map(plain_json, made))
        return cls(scope, place, items, ids, encoded, version, at, terms, plain)

    @property
    def shared_by(self) -> tuple[Any, ...] | None:
        """What admissions have in common that share a statement; None for one by itself."""
        if not self.plain or self.terms.apart:
            return None
        return (self.scope.principal.kind, self.scope.principal.name, self.terms.waits)


@dataclass(frozen=True, slots=True)
class AdmissionCall:
    """One statement: an admission, or several of one principal that only add plain notes."""

    parts: list[Admission]

    @property
    def query(self) -> str:
        """The query of `gateway.sql` that it is."""
        return "admit" if len(self.parts) == 1 else "convoy"

    @property
    def values(self) -> Values:
        """What the statement tells the database."""
        first = self.parts[0]
        principal, terms = first.scope.principal, first.terms
        return scoping.bound(first.scope) | {
            "at": first.at,
            "kind": principal.kind.value,
            "name": principal.name,
            "session": first.place.session_id,
            "interaction": first.place.interaction_id,
            "version": first.version,
            "careful": terms.careful,
            "plain": first.plain and len(first.items) > 1,
            "waits": terms.waits,
            "items": f"[{','.join(part.encoded for part in self.parts)}]",
        }

    def answers(self, rows: Rows) -> list[list[Receipt] | Exception]:
        """What each admission of the call gets: its receipts, or why it has to come again."""
        if rows[0][0] is None:
            return [AskedAgain(rows[0][4]) for _ in self.parts]
        own = iter(rows)
        return [
            [_admitted(next(own), *one) for one in zip(part.items, part.ids, strict=True)]
            for part in self.parts
        ]


def calls_of(admissions: Iterable[Admission]) -> list[AdmissionCall]:
    """The statements that admissions of one anchor need, in their order.

    Only neighbours share one: whoever came between is admitted between.
    """
    calls: list[AdmissionCall] = []
    before: tuple[Any, ...] | None = None
    for one in admissions:
        shared = one.shared_by
        if shared is not None and shared == before:
            calls[-1].parts.append(one)
        else:
            calls.append(AdmissionCall([one]))
        before = shared
    return calls


def _admitted(row: tuple[Any, ...], item: WriteItem, ids: tuple[str, str]) -> Receipt:
    """For what was simply added only position and time come back."""
    if row[2] is not None:
        return receipt_of(row, ids[0])
    told = {"removed": item.removed} if item.removed else {}
    receipt_id, entry_id = UUID(ids[0]), UUID(ids[1])
    return Receipt(receipt_id, Decision.ADD, "new", row[0], row[1], entry_id=entry_id, detail=told)


def receipt_of(row: tuple[Any, ...], asked: str) -> Receipt:
    """A receipt from its columns; another id than was asked for is an earlier call's."""
    position, at, receipt_id, decision, reason, memory_id, superseded, detail = row
    receipt = Receipt(
        receipt_id,
        Decision(decision),
        reason,
        position,
        at,
        entry_id=memory_id,
        superseded=UUID(superseded) if superseded else None,
        detail=detail or {},
    )
    return receipt if str(receipt_id) == asked else replace(receipt, replayed=True)
