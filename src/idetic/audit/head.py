"""The end of a chain, to be kept elsewhere: against it, a cut tail shows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any, Self

from idetic.errors import InputError

_KEYS = ("agent", "anchor", "position", "hash", "at")
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_HASH_BYTES = 32


@dataclass(frozen=True, slots=True)
class ChainHead:
    """Where an anchor's chain ended when somebody looked; position 0 is a chain not begun."""

    agent: str
    anchor: Mapping[str, Any]
    position: int
    hash: bytes
    at: datetime | None

    def as_data(self) -> dict[str, Any]:
        """Plain data for JSON, always with the same keys."""
        return {
            "agent": self.agent,
            "anchor": {key: _plain(value) for key, value in self.anchor.items()},
            "position": self.position,
            "hash": self.hash.hex(),
            "at": None if self.at is None else self.at.isoformat(),
        }

    @classmethod
    def from_data(cls, data: object) -> Self:
        """A head from what `as_data` gave; anything else is refused."""
        if not isinstance(data, Mapping) or set(data) != set(_KEYS):
            raise _refused(f"it has exactly the keys {', '.join(_KEYS)}")
        agent, anchor, position, text, at = (data[key] for key in _KEYS)
        if not isinstance(agent, str) or not isinstance(anchor, Mapping):
            raise _refused("its agent is a text and its anchor a mapping")
        if type(position) is not int or position < 0:
            raise _refused("its position is a whole number from 0")
        try:
            digest = bytes.fromhex(text)
            moment = None if at is None else datetime.fromisoformat(at)
        except (TypeError, ValueError):
            raise _refused("its hash is hexadecimal and its time ISO 8601") from None
        if len(digest) != _HASH_BYTES:
            raise _refused("its hash has 64 hexadecimal digits")
        return cls(agent, dict(anchor), position, digest, moment)

    def of_same_anchor(self, agent: str, anchor: Mapping[str, Any]) -> bool:
        """Whether it is the head of this anchor's chain, read from JSON or not."""
        mine = {key: _plain(value) for key, value in self.anchor.items()}
        return self.agent == agent and mine == {k: _plain(v) for k, v in anchor.items()}


def moment_of(micros: str | None) -> datetime | None:
    """A time from its microseconds, or None for one that no calendar holds."""
    try:
        return None if micros is None else _EPOCH + timedelta(microseconds=int(micros))
    except (ValueError, OverflowError):
        return None


def _plain(value: object) -> object:
    return value if isinstance(value, int) else str(value)


def _refused(why: str) -> InputError:
    return InputError(
        f"This is not a chain's head: {why}.", remedy="Give one that `head` or --save-head made."
    )
