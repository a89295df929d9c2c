"""Values of a CHAOS layout as ours: ids, moments, metadata. Pure; nothing is lost on the way."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from typing import Any, NamedTuple
from uuid import UUID, uuid5

from idetic.persona.drafts import REDACTED
from idetic.persona.events import RESERVED

# Ours alone, and for good: the same id of a file always becomes the same UUID.
_NAMESPACE = UUID("6f1d6f4e-0c5b-5a3e-9a55-1b6a0c9f7d21")
# Seconds end where milliseconds begin: this many seconds are the year 5138.
_SECONDS_MAX = 1e11


class Moment(NamedTuple):
    """A moment, and whether its zone had to be assumed."""

    at: datetime
    assumed_utc: bool


def uuid_of(raw: Any, what: str) -> UUID | None:
    """The UUID that an id is, or one made from it; None if there is no id."""
    if raw is None or raw == "":
        return None
    if isinstance(raw, bytes) and len(raw) == 16:
        return UUID(bytes=raw)
    text = raw.hex() if isinstance(raw, bytes) else str(raw)
    try:
        return UUID(text)
    except ValueError:
        return uuid5(_NAMESPACE, f"{what}:{text.encode('utf-8', 'replace').decode()}")


def as_written(raw: Any) -> Any:
    """A value of the file as JSON can hold it."""
    if raw is None or isinstance(raw, bool | int | str):
        return raw
    return raw.hex() if isinstance(raw, bytes) else str(raw)


def moment_of(raw: Any) -> Moment | None:
    """A moment from ISO 8601, or from seconds or milliseconds since 1970; None if it is none."""
    # Eight digits are a date; more of them count since 1970.
    dated = isinstance(raw, str) and len(raw.strip()) == 8
    try:
        number = float(raw) if isinstance(raw, int | float | str) and not dated else None
    except ValueError:
        number = None
    try:
        if number is not None:
            seconds = number / 1_000 if abs(number) > _SECONDS_MAX else number
            found = Moment(datetime.fromtimestamp(seconds, UTC), assumed_utc=False)
        elif isinstance(raw, str):
            read = datetime.fromisoformat(raw.strip())
            naive = read.utcoffset() is None
            found = Moment(read.replace(tzinfo=UTC) if naive else read, naive)
        else:
            return None
    except (ValueError, OverflowError, OSError):
        return None
    return found if 1 < found.at.year < 9999 else None


def metadata_of(raw: Any) -> tuple[dict[str, Any], Any]:
    """Metadata as they are, and what of them cannot stay where it is: keys that only Idetic
    writes, or the whole text if it is no JSON object."""
    if raw is None or raw == "":
        return {}, None
    try:
        read = json.loads(raw) if isinstance(raw, str | bytes) else None
    except (ValueError, RecursionError):
        read = None
    if not isinstance(read, dict):
        return {}, as_written(raw)
    reserved = RESERVED | {REDACTED}
    aside = {key: value for key, value in read.items() if key in reserved}
    return {key: value for key, value in read.items() if key not in reserved}, aside or None
