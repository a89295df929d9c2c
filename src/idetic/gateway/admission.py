"""Admissions: the items of one caller on their way to the database, and the receipts they get.

Admissions of one tenant may travel as one transaction. Those of one principal that only add plain
notes to one anchor share a statement; the others keep theirs, in the order of arrival.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import islice
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


def is_apart(answer: object) -> bool:
    """Whether an answer says that its call has to have a statement of its own."""
    return isinstance(answer, AskedAgain) and answer.reason == APART


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
    """One statement: an admission, or several of one principal that only add plain notes.

    Those come anchor by anchor, each anchor's in the order of arrival.
    """

    anchors: list[list[Admission]]

    @property
    def scope(self) -> Scope:
        """The scope that it is sent within."""
        return self.anchors[0][0].scope

    @property
    def parts(self) -> list[Admission]:
        """The admissions that it answers, one after the other."""
        return [part for own in self.anchors for part in own]

    @property
    def query(self) -> str:
        """The query of `gateway.sql` that it is.

        A single note is admitted by itself, which takes an eighth less of the processor.
        """
        (first, *more), *others = self.anchors
        alone = not more and not others and len(first.items) == 1
        return "admit" if alone or first.shared_by is None else "convoy"

    @property
    def values(self) -> Values:
        """What the statement tells the database."""
        first, parts = self.anchors[0][0], self.parts
        common = scoping.bound(first.scope) | {
            "at": first.at,
            "kind": first.scope.principal.kind.value,
            "name": first.scope.principal.name,
            "version": first.version,
            "waits": first.terms.waits,
            "items": f"[{','.join(part.encoded for part in parts)}]",
        }
        return common | (self._own if self.query == "admit" else self._shared)

    @property
    def _own(self) -> dict[str, Any]:
        """What is told of an admission by itself."""
        ((one,),) = self.anchors
        told = {"session": one.place.session_id, "interaction": one.place.interaction_id}
        return told | {"careful": one.terms.careful}

    @property
    def _shared(self) -> dict[str, Any]:
        """What is told of each anchor: its scope, how many items, and the places they are for."""
        entered = scoping.entered([own[0].scope for own in self.anchors])
        told = zip(entered, self.anchors, strict=True)
        return {"calls": plain_json([one | _told(own) for one, own in told])}

    def answers(self, rows: Rows) -> list[list[Receipt] | Exception]:
        """What each admission of the call gets: its receipts, or why it has to come again."""
        if self.query == "admit":
            return [_answer(part, rows) for part in self.parts]
        found: dict[int, Rows] = {}
        for number, *row in rows:
            found.setdefault(number, []).append(tuple(row))
        return [
            answer
            for number, own in enumerate(self.anchors, start=1)
            for answer in _answers(own, found[number])
        ]


def _answers(parts: Sequence[Admission], rows: Rows) -> list[list[Receipt] | Exception]:
    """What the admissions of one anchor get of its rows; of what is simply added there is one."""
    position, at = rows[0][:2]
    if position is None:
        # Which of them the session is, whose entries were shown, each finds out by itself.
        reason = APART if len(parts) > 1 and rows[0][4] == UNJUDGED else rows[0][4]
        return [AskedAgain(reason) for _ in parts]
    count = sum(len(part.items) for part in parts)
    if len(rows) < count:
        added = (None,) * (len(rows[0]) - 2)
        rows = [(position - count + n, at, *added) for n in range(1, count + 1)]
    own = iter(rows)
    return [_answer(part, list(islice(own, len(part.items)))) for part in parts]


def _answer(part: Admission, rows: Rows) -> list[Receipt] | Exception:
    """What an admission gets of its own rows."""
    if rows[0][0] is None:
        return AskedAgain(rows[0][4])
    return [_admitted(*one) for one in zip(rows, part.items, part.ids, strict=True)]


def _told(parts: Sequence[Admission]) -> dict[str, Any]:
    """What a convoy tells of one anchor: how many items there are, and the places they are for."""
    places: dict[UUID, UUID] = {}
    for part in parts:
        session, interaction = part.place.session_id, part.place.interaction_id
        if session is not None:
            places[session] = session
            places |= {} if interaction is None else {interaction: session}
    return {
        "count": sum(len(part.items) for part in parts),
        "places": _uuids(places),
        "sessions": _uuids(places.values()),
        "unread": _uuids(_unread(parts)),
    }


def _unread(parts: Iterable[Admission]) -> set[UUID]:
    """The sessions of observations that were not compared with what was shown there."""
    return {
        part.place.session_id
        for part in parts
        if part.place.session_id is not None
        and part.items[0].cell.transition == "observed"
        and not part.items[0].judged
    }


def _uuids(values: Iterable[UUID]) -> str:
    """Some ids as PostgreSQL reads an array: each anchor has as many as it has."""
    return f"{{{','.join(map(str, values))}}}"


def calls_of(admissions: Iterable[Admission]) -> list[AdmissionCall]:
    """The statements that admissions of one tenant need: each anchor's in their order.

    Only neighbours share one: whoever came between is admitted between. What each anchor begins
    with may share one with what others begin with.
    """
    anchors: dict[UUID, list[list[Admission]]] = {}
    for one in admissions:
        runs = anchors.setdefault(scoping.anchor_of(one.scope), [])
        if runs and one.shared_by is not None and one.shared_by == runs[-1][0].shared_by:
            runs[-1].append(one)
        else:
            runs.append([one])
    together: dict[tuple[Any, ...], list[list[Admission]]] = {}
    alone: list[AdmissionCall] = []
    # In one order: two processes that write to the same anchors do not hold each other up.
    for key in sorted(anchors):
        first, *others = anchors[key]
        shared = first[0].shared_by
        together.setdefault((key,) if shared is None else shared, []).append(first)
        alone += [AdmissionCall([run]) for run in others]
    return [*map(AdmissionCall, together.values()), *alone]


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
