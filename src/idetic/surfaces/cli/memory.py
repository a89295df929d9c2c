"""`idetic list` and `idetic history`: memory seen from the shell, within one scope."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from rich.console import Console

from idetic.errors import AnchorRefused, InputError, SpecNotFound
from idetic.library.handles import Agent, Memory
from idetic.library.idetic import Idetic
from idetic.library.persona import is_persona
from idetic.model import Entry, LedgerRecord, Principal, PrincipalKind, Tier, Typology
from idetic.persona.events import Persona, persona_of
from idetic.spec.loader import load
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import KeyType
from idetic.surfaces.cli import output
from idetic.surfaces.cli.sources import pairs, with_database
from idetic.verbs.arguments import check_uuid

_WHOLE_NUMBER = re.compile(r"-?[0-9]{1,19}\Z")


@dataclass(frozen=True)
class Asked:
    """A scope as typed: an agent, anchor keys, and who asks."""

    agent: str
    anchor: tuple[str, ...]
    principal: str


@dataclass(frozen=True)
class Page:
    """Which entries of a scope, as typed."""

    tier: Tier | None
    typology: Typology | None
    as_of: str | None
    limit: int
    before: str | None


def show_entries(asked: Asked, page: Page, dsn: str | None, as_json: bool) -> None:
    """One page of a scope's entries, newest first."""
    before = check_uuid(page.before, "--before") if page.before else None
    moment = _moment(page) if page.as_of else None
    principal_of(asked.principal)

    async def read(db: Idetic) -> list[Entry]:
        memory = await memory_of(db, asked)
        if moment:
            return await memory.as_of(moment, limit=page.limit, before=before)
        return await memory.list(
            tier=page.tier, typology=page.typology, limit=page.limit, before=before
        )

    entries = with_database(dsn, read)
    following = entries[-1].id if len(entries) == page.limit else None
    data = {"entries": [entry_data(each) for each in entries], "next_before": following}
    output.answer(data, as_json, lambda console: _show_page(console, entries, following))


def show_history(entry_id: str, asked: Asked, dsn: str | None, as_json: bool) -> None:
    """Every transition of one entry, oldest first."""
    wanted = check_uuid(entry_id, "ENTRY_ID")
    principal_of(asked.principal)

    async def read(db: Idetic) -> list[LedgerRecord]:
        return await (await memory_of(db, asked)).history(wanted)

    records = with_database(dsn, read)
    data = {"entry_id": wanted, "history": records}
    output.answer(data, as_json, lambda console: console.print(ledger_table(records)))


async def memory_of(db: Idetic, asked: Asked) -> Memory:
    """The memory that a scope as typed stands for."""
    principal = principal_of(asked.principal)
    agent = await held_agent(db, asked.agent)
    return agent.bind(principal=principal, **anchor_of(agent.spec, asked.anchor))


async def held_agent(db: Idetic, name: str) -> Agent:
    """An agent as the database holds it: looking must not apply a spec.

    `persona_agent/subconscious` is the memory of its other persona.
    """
    name, _, whose = name.partition("/")
    versions = await db.spec_versions()
    held = [each for each in versions if each.agent == name]
    if not held:
        names = ", ".join(sorted({each.agent for each in versions})) or "none yet"
        raise SpecNotFound(
            f"This database holds no agent called {name!r}.",
            remedy=f"It holds: {names}. `idetic spec apply` adds one.",
        )
    spec = load(held[-1].spec)
    if whose and not is_persona(spec):
        raise InputError(f"{name} has no personas.", remedy=f"Give --agent {name}.")
    return await db.agent(spec, persona=persona_of(whose or Persona.ACTOR))


def anchor_of(spec: MemorySpec, given: Sequence[str]) -> dict[str, Any]:
    """The anchor in the types that the spec declares; whether it fits is for `bind` to say."""
    kinds = {key.name: key.type for key in spec.anchor.keys}
    values: dict[str, Any] = {}
    for key, value in pairs(given, "--anchor").items():
        if key not in kinds:
            raise AnchorRefused(
                f"Unknown anchor key: {key}.",
                remedy=f"The anchor of {spec.agent} is ({', '.join(kinds)}).",
            )
        number = kinds[key] is KeyType.BIGINT and _WHOLE_NUMBER.match(value)
        values[key] = int(value) if number else value
    return values


def principal_of(text: str) -> Principal:
    """`operator:ada` as a principal."""
    kind, colon, name = text.partition(":")
    if not colon or kind not in set(PrincipalKind):
        raise InputError(
            f"--as {text!r} is not KIND:NAME.",
            remedy=f"For example operator:ada. Kinds: {', '.join(PrincipalKind)}.",
        )
    return Principal(PrincipalKind(kind), name)


def _moment(page: Page) -> datetime:
    if page.tier or page.typology:
        raise InputError("--as-of takes neither --tier nor --typology.", remedy="Leave those out.")
    return moment_of(page.as_of or "", "--as-of")


def moment_of(text: str, option: str) -> datetime:
    """A moment as typed; whether it has a time zone is for the library to say."""
    try:
        return datetime.fromisoformat(text)
    except ValueError:
        raise InputError(
            f"{option} {text!r} is not a moment.", remedy="As in 2026-01-31T12:00:00Z."
        ) from None


def entry_data(entry: Entry) -> dict[str, Any]:
    """An entry as data, with the state that its columns amount to."""
    fields = {name: getattr(entry, name) for name in entry.__slots__}
    return {**fields, "state": entry.state}


def _show_page(console: Console, entries: list[Entry], following: Any) -> None:
    if not entries:
        console.print("No entries.")
        return
    console.print(entries_table(entries))
    if following:
        console.print(f"There may be more: --before {following}")


def entries_table(entries: Sequence[Entry], title: str | None = None) -> Any:
    """Entries as a table, one row each."""
    table = output.table("id", "created", "kind", "by", "note", title=title, keep=("id",))
    for each in entries:
        table.add_row(
            output.literal(each.id, "cyan"),
            output.moment(each.created_at),
            f"{each.tier}\n{each.typology}",
            output.literal(f"{each.created_by}\n{each.origin} {each.trust}"),
            output.literal(each.body_text),
        )
    return table


def ledger_table(records: Sequence[LedgerRecord], title: str | None = None) -> Any:
    """A chain's links as a table."""
    table = output.table("position", "time", "transition", "actor", "reason", "hash", title=title)
    for each in records:
        table.add_row(
            str(each.position),
            output.moment(each.at),
            output.literal(each.transition, "bold"),
            output.literal(f"{each.actor_kind} {each.actor}"),
            output.literal(each.reason),
            output.literal(each.hash.hex()[:12], "dim"),
        )
    return table
