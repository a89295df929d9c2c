"""An explained action as a text for people, and as plain data."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import fields, is_dataclass
from datetime import UTC, datetime
from enum import Enum
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from idetic.audit.explanation import ActionExplanation, ExplainedEntry, Source

_GONE = "what it said went with its scope"
_EMPTIED = "its content was disposed of"


def lines(told: ActionExplanation) -> Iterator[str]:
    """The account, line by line."""
    yield f"Action {told.action_id} ({told.kind}), {_time(told.at)}, by {told.by}: {told.reason}"
    yield f"It rested on {_count(len(told.entries), 'entry', 'entries')}."
    for number, each in enumerate(told.entries, start=1):
        yield ""
        yield f"{number}. Entry {each.id}"
        yield from (f"   {line}" for line in _entry(each))
    if told.made_of:
        yield ""
        yield "Made of:"
    for each in told.made_of.values():
        yield f"- Entry {each.id}"
        yield from (f"  {line}" for line in _entry(each))
    if told.more:
        yield "There is more behind these than is shown."


def _entry(each: ExplainedEntry) -> Iterator[str]:
    then = each.then
    yield _GONE if then is None else f'"{then.body_text}"' if then.body_text else _EMPTIED
    place = (
        f"{then.tier} {then.typology}, origin {then.origin}, trust {then.trust}, " if then else ""
    )
    yield f"{place}written {_time(each.written_at)} by {each.written_by}"
    now = "" if each.state_now == each.state_then else f", {each.state_now} now"
    yield f"{each.state_then} then{now}"
    for source in each.sources:
        yield f"made of {_source(source)}"
    for ref in each.references:
        pinned = "" if ref.version is None else f" version {ref.version}"
        since = f"; it is at version {ref.version_now} now" if ref.changed else ""
        yield f"refers to {ref.noun} {ref.id}{pinned}{since}"
    for one in each.corroborations:
        back = f", withdrawn {_time(one.withdrawn_at)}" if one.withdrawn_at else ""
        yield f"supported by {one.source_type} {one.source_ref}, {_time(one.at)}, by {one.by}{back}"
    for read in each.reads:
        where = f", session {read.session_id}" if read.session_id else ""
        yield f"shown to {read.by}, {_time(read.at)}{where}"
    for link in each.decisions:
        who = f"{link.actor_kind}:{link.actor}"
        said = f"{link.transition} ({link.decision}) by {who}: {link.reason}"
        yield f"decided at {link.position}, {_time(link.at)}: {said}"


def _source(source: Source) -> str:
    told = [f"entry {source.entry_id}"]
    if source.relation is not None:
        told.append(f"{source.relation}, origin {source.origin}, trust {source.trust}")
    return ", ".join(told)


def _count(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many}"


def _time(at: datetime | None) -> str:
    return "at a time unknown" if at is None else f"{at.astimezone(UTC):%Y-%m-%d %H:%M:%S}Z"


def plain(value: Any) -> Any:  # noqa: PLR0911 - one line for each kind of value
    """A value in JSON's own types; hashes as hexadecimal, times as ISO 8601."""
    match value:
        case Enum():
            return value.value
        case None | bool() | int() | float():
            return value
        case Mapping():
            return {str(key): plain(each) for key, each in value.items()}
        case list() | tuple():
            return [plain(each) for each in value]
        case datetime():
            return value.isoformat()
        case bytes():
            return value.hex()
        case _ if is_dataclass(value):
            return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    return str(value)
