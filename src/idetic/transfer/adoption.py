"""Adoption of other stores' memories (Mem0, LangGraph): read, then taken in by the gateway.

Such a memory comes without a chain, without a scope and without anybody who vouches for it. So it
is an observation of an external origin, each with its own checks, and never a restored row. A
report tells what was not taken.
"""

from __future__ import annotations

import hashlib
import json
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Annotated, Any

from idetic.engine import Binding
from idetic.errors import IdeticError, InputError
from idetic.gates.gate import Gates
from idetic.gateway.content import fits
from idetic.gateway.gateway import MAX_BATCH
from idetic.ids import uuid7
from idetic.lifecycle.close_scope import close_at
from idetic.lifecycle.observations import open_scope
from idetic.model import (
    Capability,
    Claim,
    Decision,
    Observation,
    Origin,
    Place,
    PlainData,
    Tier,
    Typology,
)
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import Boundary
from idetic.spec.typology import WriteMode
from idetic.telemetry import span
from idetic.transfer.exports import open_file
from idetic.verbs.arguments import SHORT, Wire
from idetic.verbs.authorization import check_authorized
from idetic.verbs.declaration import post, verb

_FILE_LIMIT = 512 << 20
_NAME = 200
# Where LangGraph's values keep their text, by custom: the store itself asks for no key.
_TEXTS = ("text", "content", "memory", "data", "value")


@dataclass(frozen=True, slots=True)
class ForeignMemory:
    """One memory of another store."""

    source: str
    id: str
    text: str
    metadata: Mapping[str, Any] = field(default_factory=dict)
    created_at: datetime | None = None
    updated_at: datetime | None = None

    @property
    def stated(self) -> str:
        """As of when it says so there. Never a hash of its text: that would outlive an erasure."""
        at = self.updated_at or self.created_at
        if at is None:
            return "at an unknown time"
        return f"as of {at.astimezone(UTC):%Y-%m-%dT%H:%M:%SZ}"

    @property
    def disguised(self) -> str:
        """Its id as letters, for one that names somebody."""
        digest = hashlib.sha256(self.id.encode("utf-8", "replace")).hexdigest()
        letters = digest[:16].translate(str.maketrans("0123456789abcdef", "bcdfghjklmnpqrst"))
        return " ".join(letters[at : at + 4] for at in range(0, 16, 4))


@dataclass(frozen=True, slots=True)
class NotTaken:
    """One memory that was not imported, and why; never its text."""

    id: str
    code: str
    why: str


Found = Iterator[ForeignMemory | NotTaken]


def documents(path: str | Path) -> Any:
    """A file of JSON, or of JSON Lines as a list."""
    with open_file(path) as file:
        raw = file.read(_FILE_LIMIT + 1)
    if len(raw) > _FILE_LIMIT:
        raise InputError(f"The file is larger than {_FILE_LIMIT >> 20} MB; split it.")
    try:
        text = raw.decode("utf-8-sig")
    except UnicodeDecodeError:
        raise InputError("The file is not UTF-8.") from None
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return [
            _line(number, line) for number, line in enumerate(text.splitlines(), 1) if line.strip()
        ]


def _line(number: int, line: str) -> Any:
    """One line of JSON Lines, parsed; the refusal names the line."""
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        raise InputError(
            f"Line {number} of the file is not JSON.",
            remedy="Give one JSON document, or one to a line. Nothing was written.",
        ) from None


def _listed(data: Any, *keys: str) -> Iterator[tuple[str, Any]]:
    """The items of a document, itself a list or with one under some key; each with its place."""
    lists = [data[key] for key in keys if isinstance(data, Mapping) and key in data]
    found = next((each for each in [*lists, data] if isinstance(each, list)), None)
    if found is None:
        raise InputError(
            f"The file has no list of memories: neither a list nor one under {', '.join(keys)}.",
            remedy="Export it as docs/how-to/move-memory.md says. Nothing was written.",
        )
    return ((f"#{number}", item) for number, item in enumerate(found, start=1))


def _times(item: Mapping[str, Any]) -> Iterator[datetime | None]:
    """The times as stores write them; what is none is left out, and no reason to refuse."""
    for key in ("created_at", "updated_at"):
        try:
            found = datetime.fromisoformat(item[key])
        except (KeyError, TypeError, ValueError):
            yield None
        else:
            yield found if found.tzinfo else found.replace(tzinfo=UTC)


def mem0_memories(data: Any) -> Found:
    """Every memory of Mem0's `get_all`, or of the list in it, and what is none."""
    for place, item in _listed(data, "results", "memories"):
        yield _mem0_memory(item, place)
    relations = data.get("relations") if isinstance(data, Mapping) else None
    for number, _ in enumerate(relations or (), start=1):
        why = "a relation of Mem0's graph; what it says is in the memories it was drawn from"
        yield NotTaken(f"relation #{number}", "relation", why)


def _mem0_memory(item: Any, place: str) -> ForeignMemory | NotTaken:
    """A memory of Mem0's for the gateway, or why it cannot be taken."""
    if not isinstance(item, Mapping):
        return NotTaken(place, "no_memory", "not an object")
    called = item.get("id")
    name = called if isinstance(called, str) and 0 < len(called) <= _NAME else place
    text = item.get("memory", item.get("text"))
    if not isinstance(text, str):
        return NotTaken(name, "no_text", "no text under `memory`")
    metadata = item.get("metadata")
    found = dict(metadata) if isinstance(metadata, Mapping) else {}
    if isinstance(item.get("categories"), list):
        found.setdefault("categories", item["categories"])
    return ForeignMemory("mem0", name, text, found, *_times(item))


def langgraph_items(data: Any) -> Found:
    """Every item of a LangGraph store (namespace, key, value), and what holds no text."""
    return (_langgraph_item(item, place) for place, item in _listed(data, "items", "results"))


def _langgraph_item(item: Any, place: str) -> ForeignMemory | NotTaken:
    """An item of a LangGraph store for the gateway, or why it cannot be taken."""
    if not isinstance(item, Mapping):
        return NotTaken(place, "no_item", "not an object")
    namespace, key = item.get("namespace", item.get("prefix")), item.get("key")
    if isinstance(namespace, str):
        namespace = namespace.split(".")
    parts = [*namespace, key] if isinstance(namespace, list) else []
    if not parts or not all(isinstance(part, str) for part in parts):
        return NotTaken(place, "no_item", "no namespace and key")
    name = "/".join(parts)[:_NAME]
    text, rest = _text(item.get("value"))
    if text is None:
        return NotTaken(name, "no_text", f"no text under any of {', '.join(_TEXTS)}")
    return ForeignMemory("langgraph", name, text, rest, *_times(item))


def _text(value: Any) -> tuple[str | None, dict[str, Any]]:
    """The text of a value, and what else the value says."""
    if isinstance(value, str):
        return value, {}
    if not isinstance(value, Mapping):
        return None, {}
    for key in _TEXTS:
        found = value.get(key)
        if isinstance(found, str):
            return found, {k: v for k, v in value.items() if k != key}
        if isinstance(found, Mapping):
            inner, rest = _text(found)
            if inner is not None:
                return inner, rest
    return None, {}


STORES: Mapping[str, Callable[[Any], Found]] = {
    "mem0": mem0_memories,
    "langgraph": langgraph_items,
}
"""How to read what each known store exported."""


# --- the gateway takes them in ------------------------------------------------------------------

# What happens to every entry of a session that closes, and says nothing about this one.
_ALWAYS = frozenset({"dropped", "held", "kept"})


@dataclass(frozen=True, slots=True)
class Adopted(PlainData):
    """The result of an import from another store.

    `taken` were written, `known` were there already, `left_out` counts metadata that the spec
    declares no envelope key for, and `became` says what closing the import's session made of them.
    """

    taken: int
    known: int
    not_taken: tuple[NotTaken, ...]
    left_out: Mapping[str, int]
    became: Mapping[str, int]
    dry_run: bool


def exported_data(data: Any) -> Any:
    """What another store exported, as data; a path is that of a file of the caller's."""
    found = documents(data) if isinstance(data, str | Path) else data
    if not isinstance(found, Mapping | Sequence):
        raise InputError(
            "data must be what a store exported: a list or an object, or a file's path."
        )
    return found


@verb(
    capability=Capability.IMPORT,
    writes=True,
    operation="adopt",
    http=post("/adopt", "moving"),
    command=None,
)
async def adopt(
    binding: Binding,
    source: str,
    data: Annotated[Any, Wire("data", dict[str, Any] | list[Any], exported_data)],
    *,
    dry_run: bool = False,
) -> Adopted:
    """Import the memories of another store ("mem0" or "langgraph"): data, or a file's path.

    Each memory passes the gateway with the origin `external`. The result lists those that were not
    taken.
    """
    if source not in STORES:
        raise InputError(f"source must be one of {', '.join(STORES)}.")
    every, engine, spec = list(STORES[source](exported_data(data))), binding.engine, binding.spec
    asked = [one for one in every if isinstance(one, ForeignMemory)]
    refused = [one for one in every if isinstance(one, NotTaken)]
    left_out: Counter[str] = Counter()
    seen = [_observation(spec, engine.gates, one, left_out) for one in asked]
    place = _place(spec)
    at = replace(binding, place=place)
    session = bool(seen) and not dry_run and place.session_id is not None
    if session:
        check_authorized(spec, binding.scope, open_scope)
        await open_scope.function(at)
    taken = known = 0
    for first in range(0, len(seen), MAX_BATCH):
        part = seen[first : first + MAX_BATCH]
        answers = await engine.gateway.admit_each(binding.scope, place, part, write=not dry_run)
        for one, answer in zip(asked[first:], answers, strict=False):
            if isinstance(answer, IdeticError):
                refused.append(NotTaken(one.id, answer.code, answer.message))
            elif answer is not None and answer.decision is Decision.REJECT:
                refused.append(NotTaken(one.id, answer.reason, "it restates canonical content"))
            elif answer is not None and (answer.replayed or answer.decision is Decision.NOOP):
                known += 1
            else:
                taken += 1
    became: Counter[str] = Counter()
    if session:
        with span("close", scope=binding.scope):
            closed = await close_at(at, "the import ended")
        told = (decided.transition for decided in closed.decided)
        became.update(one for one in told if one not in _ALWAYS)
    return Adopted(taken, known, tuple(refused), dict(left_out), dict(became), dry_run)


def _place(spec: MemorySpec) -> Place:
    """The persistent tier where it takes episodes directly; otherwise a session of its own, whose
    close decides what becomes of them."""
    cell = Tier.PERSISTENT, Typology.EPISODIC
    direct = Typology.EPISODIC in spec.typology.at(Tier.PERSISTENT)
    if direct and spec.writes_of(*cell).mode is WriteMode.AUTOMATIC:
        return Place()
    return Place(uuid7())


def _observation(
    spec: MemorySpec, gates: Gates, one: ForeignMemory, left_out: Counter[str]
) -> Observation:
    """A foreign memory as something heard from outside, with a claim that names where.

    The claim makes it a candidate when the session closes, instead of dropping it; and when the
    same memory comes again with another text, the later one replaces the earlier.
    """
    named = f"{one.source} {one.id}"[:SHORT]
    if gates.at(Boundary.INGEST).apply(named).changes:
        named = f"{one.source} {one.disguised}"
    envelope = {key: value for key, value in one.metadata.items() if fits(spec, key, value)}
    left_out.update(str(key)[:60] for key in one.metadata if key not in envelope)
    return Observation(
        one.text,
        envelope=envelope,
        claim=Claim(named, "remembered", one.stated),
        valid_at=one.created_at,
        heard_from=Origin.EXTERNAL,
        idempotency_key=f"{named[:150]} {one.stated}",
    )
