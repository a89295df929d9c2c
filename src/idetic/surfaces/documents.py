"""Documents: values under a namespace and a key, as frameworks keep them, on governed memory.

A document becomes entries and comes back word for word, in parts if it is long. Namespace and key
are written down exactly, so that no two names are ever one.
"""

from __future__ import annotations

import hashlib
import json
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any
from urllib.parse import unquote
from uuid import UUID

from idetic.errors import InputError
from idetic.ids import uuid7_text
from idetic.model import Claim, Entry, Observation
from idetic.verbs.arguments import SHORT

Namespace = tuple[str, ...]
MAX_PARTS = 500
# Before every part but the first: a part of blanks alone would be no text, and is one all the same.
_GOES_ON = "…"
# What a part repeats of the one before it: as much as the longest identifier that an erasure may
# look for, so that none is cut in two and missed.
_AGAIN = 200
# Made once: json.dumps with any option makes a new encoder for every call.
_WRITTEN = json.JSONEncoder(ensure_ascii=False).encode


def path_of(namespace: Sequence[str]) -> str:
    """The namespace as a path of the envelope, whose matching knows whole segments only."""
    path = "/".join(map(_segment, namespace))
    if not path or len(path) > SHORT:
        raise InputError(
            f"The namespace is {len(path)} characters long as a path; 1 to {SHORT} can be kept.",
            remedy="Use fewer or shorter labels; nothing was written.",
        )
    return path


def _segment(label: str) -> str:
    """A label as one segment of a path; `/` and `%` are escaped, so that no two labels are one."""
    if not label.strip():
        # The envelope takes no blank segment; a label of blanks is one all the same.
        return "".join(f"%{byte:02X}" for byte in label.encode())
    return label.replace("%", "%25").replace("/", "%2F")


def namespace_of(path: str) -> Namespace:
    """The namespace that a path was made of."""
    return tuple(map(unquote, path.split("/")))


def subject_of(namespace: Sequence[str], key: str) -> str:
    """What a document's claim is about: its name, as a hash.

    Claims are compared without regard to case, width and spacing, and names of documents are not.
    """
    name = json.dumps([*namespace, key]).encode()
    return f"document {hashlib.sha256(name).hexdigest()}"


@dataclass(frozen=True, slots=True)
class Put:
    """A value to be put under a name; `ttl` is in minutes, `ranked` whether queries may find it."""

    namespace: Namespace
    key: str
    value: Mapping[str, Any]
    ttl: float | None = None
    ranked: bool = True

    @property
    def subject(self) -> str:
        """What its claim is about."""
        return subject_of(self.namespace, self.key)


@dataclass(frozen=True, slots=True)
class StoredDocument:
    """What lies under a name now, and the entries that hold it, the head first."""

    namespace: Namespace
    key: str
    value: dict[str, Any]
    created_at: datetime
    updated_at: datetime
    entries: tuple[UUID, ...]
    ttl: float | None = None
    ranked: bool = True

    def expires_at(self, last_read: datetime | None) -> datetime | None:
        """When its time is over: so many minutes after it was last put or read."""
        if self.ttl is None:
            return None
        since = self.updated_at if last_read is None else max(self.updated_at, last_read)
        return since + timedelta(minutes=self.ttl)


def observations(put: Put, subject: str, bound: int, since: datetime | None) -> list[Observation]:
    """The entries that hold a value: its JSON, in parts of at most `bound` characters."""
    version, texts = uuid7_text(), _cut(_json(put.value), bound)
    head: dict[str, Any] = {"parts": len(texts)}
    if since is not None:
        head["since"] = since.isoformat()
    if put.ttl is not None:
        head |= {"ttl": _minutes(put.ttl), "expiring": "yes"}
    place = {"namespace": path_of(put.namespace), "key": put.key, "version": version}
    if not put.ranked:
        # Each part has the mark: the embedding run sees one entry at a time.
        place["ranked"] = "no"
    return [
        Observation(
            text,
            {**place, "part": number, **(head if number == 0 else {})},
            # Every version is a new claim value: putting the same again renews its time.
            claim=Claim(subject, f"part {number}", version),
            verbatim=True,
        )
        for number, text in enumerate(texts)
    ]


def is_part(entry: Entry) -> bool:
    """Whether an entry is part of a document: its claim names what its envelope does.

    Others write to the same memory, and what they note may look like one.
    """
    about, claim = entry.envelope, entry.claim
    texts = [about.get(name) for name in ("namespace", "key", "version")]
    number, since = about.get("part"), about.get("since")
    if claim is None or type(number) is not int or not all(isinstance(t, str) for t in texts):
        return False
    path, key, version = map(str, texts)
    named = Claim(subject_of(namespace_of(path), key), f"part {number}", version)
    return claim == named and (number > 0 or _is_head(about.get("parts"), since, about.get("ttl")))


def _is_head(parts: Any, since: Any, ttl: Any) -> bool:
    """Whether a first part says what one has to: how many there are, and perhaps two times."""
    try:
        _ = None if since is None else datetime.fromisoformat(since)
    except (TypeError, ValueError):
        return False
    timed = ttl is None or isinstance(ttl, int | float)
    return type(parts) is int and 1 <= parts <= MAX_PARTS and timed


def document(entries: Iterable[Entry]) -> StoredDocument | None:
    """The document that the current parts of one subject hold; None if they hold none."""
    parts = {(e.envelope["version"], e.envelope["part"]): e for e in entries}
    head = next((e for (_, number), e in parts.items() if number == 0), None)
    if head is None:
        return None
    place = head.envelope
    numbers = range(place["parts"])
    try:
        own = [parts[place["version"], number] for number in numbers]
    except KeyError:
        return None
    skipped = len(_GOES_ON) + _AGAIN
    value = _value(own[0].body_text + "".join(e.body_text[skipped:] for e in own[1:]))
    if value is None:
        return None
    return StoredDocument(
        namespace_of(place["namespace"]),
        place["key"],
        value,
        datetime.fromisoformat(place["since"]) if "since" in place else head.created_at,
        head.created_at,
        tuple(e.id for e in own),
        place.get("ttl"),
        place.get("ranked") != "no",
    )


def _value(text: str) -> dict[str, Any] | None:
    """The value that a text holds as JSON; None for what is no mapping there."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found if isinstance(found, dict) else None


def is_whole(entry: Entry) -> bool:
    """Whether this part is the whole document."""
    envelope = entry.envelope
    return bool(envelope["part"] == 0 and envelope["parts"] == 1)


def _json(value: Mapping[str, Any]) -> str:
    """The value as JSON that UTF-8 can hold; raises InputError for what JSON cannot."""
    try:
        text = _WRITTEN(dict(value))
        # Only to find lone surrogates, which UTF-8 cannot hold.
        text.encode()
    except UnicodeEncodeError:
        return json.dumps(dict(value))  # lone surrogates survive as escapes alone
    except (TypeError, ValueError, RecursionError) as error:
        raise InputError(
            f"The value cannot be written as JSON: {type(error).__name__}.",
            remedy="Give a mapping of texts to JSON values; nothing was written.",
        ) from None
    return text


def _cut(text: str, bound: int) -> list[str]:
    """The text in parts that each fit an entry; raises InputError if it takes too many."""
    step = bound - len(_GOES_ON) - _AGAIN
    starts = range(bound, len(text), step)
    if 1 + len(starts) > MAX_PARTS:
        raise InputError(
            f"The value is {len(text):,} characters of JSON; "
            f"{bound + (MAX_PARTS - 1) * step:,} can be kept.",
            remedy="Keep the value elsewhere, and only its address here; nothing was written.",
        )
    return [text[:bound], *(_GOES_ON + text[at - _AGAIN : at + step] for at in starts)]


def _minutes(ttl: float) -> float:
    """A TTL in minutes; raises InputError for what is no number or out of bounds."""
    # To Python a bool is an int; it is no number of minutes.
    if isinstance(ttl, bool) or not isinstance(ttl, int | float) or not math.isfinite(ttl):
        raise InputError("A TTL must be a number of minutes.")
    if not 0 <= ttl <= 60 * 24 * 36_500:
        raise InputError("A TTL must be from 0 minutes to 100 years.")
    return float(ttl)
