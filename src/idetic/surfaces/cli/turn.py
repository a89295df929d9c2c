"""`idetic observe`, `context` and `close`: a session's turns from the shell."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from rich.console import Console

from idetic.errors import InputError
from idetic.evidence import Closed
from idetic.library.idetic import Idetic
from idetic.model import Observation, Origin, Receipt, Ref
from idetic.recall.context import Context
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import EnvelopeType
from idetic.surfaces.cli import output
from idetic.surfaces.cli.memory import Asked, memory_of, moment_of, principal_of
from idetic.surfaces.cli.sources import pairs, with_database
from idetic.verbs.arguments import check_uuid

# More than any note may have, and little enough to refuse without reading a whole disk.
_STDIN_LIMIT = 1 << 20


@dataclass(frozen=True)
class Note:
    """An observation as typed."""

    text: str
    session: str | None
    envelope: Sequence[str]
    claim: Sequence[str]
    refs: Sequence[str]
    provenance: Sequence[str]
    valid_at: str | None
    heard_from: Origin | None
    key: str | None


@dataclass(frozen=True)
class Question:
    """A question for a prompt block, as typed."""

    query: str
    budget: int | None
    limit: int
    session: str | None
    envelope: Sequence[str]


def write_note(note: Note, asked: Asked, dsn: str | None, as_json: bool) -> None:
    """Observe, and say what was decided and where it went."""
    principal_of(asked.principal)
    named = _session(note.session)
    text = sys.stdin.read(_STDIN_LIMIT) if note.text == "-" else note.text
    refs = tuple(_ref(each) for each in note.refs)

    async def write(db: Idetic) -> tuple[Receipt, UUID | None]:
        memory = await memory_of(db, asked)
        seen = Observation(
            text,
            _envelope(memory.agent.spec, note.envelope, note.claim),
            refs,
            None,
            pairs(note.provenance, "--provenance") or None,
            moment_of(note.valid_at, "--valid-at") if note.valid_at else None,
            note.heard_from,
            note.key,
        )
        # Before a session is opened for it: what cannot be written leaves nothing behind.
        memory.check(seen)
        session = await memory.session(named).open()
        done = await session.observe(
            seen.text,
            envelope=seen.envelope,
            refs=seen.refs,
            provenance=seen.provenance,
            valid_at=seen.valid_at,
            heard_from=seen.heard_from,
            idempotency_key=seen.idempotency_key,
        )
        return done, session.id

    receipt, session_id = with_database(dsn, write)
    data = {**_receipt_data(receipt), "session_id": session_id}
    output.answer(data, as_json, lambda console: _show_note(console, receipt, session_id))


def show_context(question: Question, asked: Asked, dsn: str | None, as_json: bool) -> None:
    """The block as it would be put into a prompt, and nothing around it."""
    principal_of(asked.principal)
    named = _session(question.session)

    async def ask(db: Idetic) -> Context:
        memory = await memory_of(db, asked)
        place = memory if named is None else memory.session(named)
        about = _envelope(memory.agent.spec, question.envelope, ())
        return await place.context(
            question.query, budget=question.budget, limit=question.limit, envelope=about
        )

    made = with_database(dsn, ask)
    # Not through the console, which would break lines that a tokenizer counted whole.
    output.answer(made, as_json, lambda _: _write(made.text))


def close_session(
    session_id: str, reason: str, asked: Asked, dsn: str | None, as_json: bool
) -> None:
    """End a session, and say what became of what it held."""
    wanted = check_uuid(session_id, "SESSION_ID")
    principal_of(asked.principal)

    async def close(db: Idetic) -> Closed:
        return await (await memory_of(db, asked)).session(wanted).close(reason)

    closed = with_database(dsn, close)
    decided = [
        {"transition": one.transition, "gates": one.gates, **_receipt_data(one.receipt)}
        for one in closed.decided
    ]
    data = {"session_id": wanted, "receipt": _receipt_data(closed.receipt), "decided": decided}
    output.answer(data, as_json, lambda console: _show_closed(console, wanted, closed))


def _session(named: str | None) -> UUID | None:
    return None if named is None else check_uuid(named, "--session")


def _ref(text: str) -> Ref:
    """`rule:UUID` or `rule:UUID@3` as a reference."""
    noun, colon, rest = text.partition(":")
    ref_id, at, version = rest.partition("@")
    if not noun or not colon or (at and not (version.isascii() and version.isdigit())):
        raise InputError(
            f"--ref {text[:60]!r} is not NOUN:ID.", remedy="As in rule:UUID, or rule:UUID@3."
        )
    # More digits than a version can have are refused by the library, like any other number.
    return Ref(noun, check_uuid(ref_id, "--ref"), int(version[:12]) if at else None)


def _envelope(spec: MemorySpec, given: Sequence[str], claim: Sequence[str]) -> dict[str, Any]:
    """Envelope and claim as the library takes them; it says what does not fit."""
    declared = spec.retrieval.envelope
    made: dict[str, Any] = {}
    for key, value in pairs(given, "--envelope").items():
        several = key in declared and declared[key].type is EnvelopeType.LIST
        made[key] = [each.strip() for each in value.split(",")] if several else value
    if claim:
        made["claim"] = pairs(claim, "--claim")
    return made


def _receipt_data(receipt: Receipt) -> dict[str, Any]:
    return {
        "decision": receipt.decision,
        "reason": receipt.reason,
        "entry_id": receipt.entry_id,
        "position": receipt.position,
        "at": receipt.at,
        "receipt": receipt.id,
        "replayed": receipt.replayed,
    }


def _show_note(console: Console, receipt: Receipt, session_id: UUID | None) -> None:
    rows = {
        "Decision": f"{receipt.decision}: {receipt.reason}",
        "Entry": receipt.entry_id or "none",
        "Session": f"{session_id}, open until `idetic close`",
        "Position": receipt.position,
    }
    console.print(output.facts(rows))


def _show_closed(console: Console, session_id: UUID, closed: Closed) -> None:
    said = f"Session {session_id}: {closed.receipt.reason}."
    console.print(output.literal(said), soft_wrap=True)
    if not closed.decided:
        console.print("Nothing was promoted.")
        return
    table = output.table("transition", "entry", "reason", keep=("entry",))
    for one in closed.decided:
        table.add_row(
            output.literal(one.transition, "bold"),
            output.literal(one.entry_id or ""),
            output.literal(one.receipt.reason),
        )
    console.print(table)


def _write(text: str) -> None:
    sys.stdout.write(f"{output.visible(text)}\n")
