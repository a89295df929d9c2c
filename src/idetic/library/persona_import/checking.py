"""A row of a CHAOS layout as an event that can be brought. Every row is checked, none guessed at.

What cannot be taken over as it was is kept in the event's metadata, under `imported`; what would
make the Actor see the Subconscious's is filed with the Subconscious.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from idetic.library.persona_import.reading import EventRow, LtmRow
from idetic.library.persona_import.values import as_written, metadata_of, moment_of, uuid_of
from idetic.persona.bringing import Brought
from idetic.persona.deriving import KeptEntry, storable
from idetic.persona.drafts import NEVER_THE_ACTORS, Draft
from idetic.persona.errors import EventRefused
from idetic.persona.events import IMPORTED, Persona, Visibility, imported_kind

_NO_MOMENT = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(slots=True)
class Checked:
    """An event of the file, whose it is, and what was found on the way, by the report's names."""

    agent_id: str
    persona: Persona
    brought: Brought
    found: set[str] = field(default_factory=set)


class RowCheck:
    """Checks the rows of one file, in their order."""

    def __init__(self, agent: str | None, ltm_repeated: set[Any], *, has_agents: bool):
        self._agent = agent
        self._has_agents = has_agents
        self._ltm_repeated = ltm_repeated
        self._before = _NO_MOMENT

    def event(self, row: EventRow) -> Checked:
        """The event that a row is; raises `EventRefused` where it cannot be one."""
        found: set[str] = set()
        aside: dict[str, Any] = {}
        agent_id = row.agent_id if self._has_agents else self._agent
        if not isinstance(agent_id, str):
            raise EventRefused("The row names no agent.")
        event_id, loop_id = uuid_of(row.id, "event"), uuid_of(row.loop_id, "loop")
        if event_id is None or loop_id is None:
            raise EventRefused(f"The row has no {'id' if event_id is None else 'loop_id'}.")
        for name, raw, made in (("id", row.id, event_id), ("loop_id", row.loop_id, loop_id)):
            if raw != made.bytes and str(raw).lower() != str(made):
                found.add("other_id")
                aside[name] = as_written(raw)
        at = self._moment(row, found, aside)
        metadata, rest = metadata_of(row.metadata)
        if rest is not None:
            found.add("odd_metadata")
            aside["metadata"] = rest
        kind, own = imported_kind("" if row.kind is None else str(row.kind)[:200])
        found |= {"unknown_kind"} if own else set()
        persona = _persona(row)
        if persona is Persona.ACTOR and kind in NEVER_THE_ACTORS:
            found.add("misfiled")
            aside["persona"] = as_written(row.persona)
            persona = Persona.SUBCONSCIOUS
        visibility = _visibility(row, found, aside)
        content = _content(row, found, aside)
        entry = self._entry(row, agent_id, found, aside)
        if aside:
            own[IMPORTED] = aside
        draft = Draft(kind, content, visibility, metadata, at, event_id)
        return Checked(agent_id, persona, Brought(draft, loop_id, own, entry), found)

    def _moment(self, row: EventRow, found: set[str], aside: dict[str, Any]) -> datetime:
        """When it happened; where the file does not say, when the event before it did."""
        moment = moment_of(row.ts)
        if moment is None:
            found.add("bad_ts")
            aside["ts"] = as_written(row.ts)
            return self._before
        if moment.assumed_utc:
            found.add("assumed_utc")
        self._before = moment.at
        return moment.at

    def _entry(
        self, row: EventRow, agent_id: str, found: set[str], aside: dict[str, Any]
    ) -> KeptEntry | None:
        """The long-term entry, if it is this event's; its id is kept where its words are not."""
        ltm = row.ltm
        if row.extra:
            found.add("ltm_extra")
        if ltm is None or ltm.id in self._ltm_repeated:
            found.add("ltm_missing")
            return None
        made = uuid_of(ltm.id, "ltm")
        if made is None:
            found.add("ltm_missing")
            return None
        if ltm.id != made.bytes and str(ltm.id).lower() != str(made):
            aside["ltm_id"] = as_written(ltm.id)
        if _of_others(ltm, agent_id, row.persona):
            found.add("ltm_of_others")
            return KeptEntry(made)
        if not storable(ltm.summary):
            found.add("ltm_unusable")
            return KeptEntry(made)
        grade = ltm.importance
        graded = type(grade) in (int, float) and 0.0 <= grade <= 1.0
        return KeptEntry(made, ltm.summary, float(grade) if graded else None)


def named_persona(raw: Any) -> Persona | None:
    """The persona that a row names; None if it is neither."""
    try:
        return Persona(raw.strip().lower()) if isinstance(raw, str) else None
    except ValueError:
        return None


def _persona(row: EventRow) -> Persona:
    """Whose it is: never guessed, for the Actor must not see what is not its own."""
    found = named_persona(row.persona)
    if found is None:
        raise EventRefused(f"The persona is none of {', '.join(Persona)}.")
    return found


def _of_others(ltm: LtmRow, agent_id: str, persona: Any) -> bool:
    """Whether an entry says of itself that it is another's than its event."""
    other_agent = ltm.agent_id is not None and ltm.agent_id != agent_id
    return other_agent or (
        ltm.persona is not None and named_persona(ltm.persona) is not named_persona(persona)
    )


def _visibility(row: EventRow, found: set[str], aside: dict[str, Any]) -> Visibility:
    try:
        return Visibility(row.visibility)
    except ValueError:
        found.add("unknown_visibility")
        if row.visibility is not None:
            aside["visibility"] = as_written(row.visibility)
        return Visibility.INTERNAL


def _content(row: EventRow, found: set[str], aside: dict[str, Any]) -> Any:
    if row.content is None:
        found.add("no_content")
        aside["content"] = None
        return ""
    return row.content
