"""API keys as text and as nouns.

A key reads `idk_<id>_<secret and checksum>`: lower-case base32, so that it survives a double click,
a URL and a shell. The id finds the row, the secret (256 bits) proves the holder, and the checksum
tells a typo from a wrong key without asking the database.
"""

from __future__ import annotations

import base64
import hashlib
import re
import secrets
import zlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from types import MappingProxyType
from typing import Any
from uuid import UUID

from idetic.errors import KeyRefused
from idetic.model import Capability, Principal

SECRET_BYTES = 32
_FORM = re.compile(r"(idk_([a-z2-7]{26})_[a-z2-7]{52})([a-z2-7]{7})\Z")


class KeyState(StrEnum):
    """Whether a key holds. Derived from its times, never stored."""

    ACTIVE = "active"
    EXPIRED = "expired"
    REVOKED = "revoked"


@dataclass(frozen=True, slots=True)
class CreatedKey:
    """A new key, which can be read only here; its `repr` does not show it."""

    id: UUID
    key: str = field(repr=False)


@dataclass(frozen=True, slots=True)
class ApiKey:
    """The record of an API key, without the key itself."""

    id: UUID
    agent: str
    anchor: Mapping[str, Any]
    principal: Principal
    capabilities: frozenset[Capability] | None
    created_at: datetime
    created_by: str
    expires_at: datetime | None = None
    revoked_at: datetime | None = None
    last_used_at: datetime | None = None
    rotated_from: UUID | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "anchor", MappingProxyType(dict(self.anchor)))

    def state(self, at: datetime) -> KeyState:
        """Whether the key is valid at a moment."""
        if self.revoked_at is not None:
            return KeyState.REVOKED
        lapsed = self.expires_at is not None and self.expires_at <= at
        return KeyState.EXPIRED if lapsed else KeyState.ACTIVE


def new_key(key_id: UUID) -> CreatedKey:
    """A key with a new secret."""
    stem = f"idk_{_text(key_id.bytes)}_{_text(secrets.token_bytes(SECRET_BYTES))}"
    return CreatedKey(key_id, stem + _checksum(stem))


def key_id_of(key: object) -> UUID:
    """The id in a key; raises KeyRefused if it was mistyped or is no key."""
    found = _FORM.match(key) if isinstance(key, str) else None
    if found is None or _checksum(found[1]) != found[3]:
        raise KeyRefused(
            "This API key is incomplete or mistyped.",
            remedy="Copy the whole key, from `idk_` to its end.",
        )
    return UUID(bytes=base64.b32decode(found[2].upper() + "======"))


def hash_of(key: str) -> bytes:
    """What is stored of a key."""
    return hashlib.sha256(key.encode("ascii")).digest()


def _checksum(stem: str) -> str:
    # A CRC and no hash: it finds every single mistyped character, and guards nothing.
    return _text(zlib.crc32(stem.encode("ascii")).to_bytes(4, "big"))


def _text(value: bytes) -> str:
    return base64.b32encode(value).decode("ascii").rstrip("=").lower()
