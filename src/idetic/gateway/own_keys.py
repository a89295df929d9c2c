"""Idempotency keys as they are kept: each principal has keys of its own.

Two agents of one anchor number their turns alike, and neither is to learn what the other wrote by
guessing its key, or to be refused because of it.
"""

from __future__ import annotations

import hashlib

from idetic.model import Principal
from idetic.verbs.arguments import SHORT, check_text

_DIGITS = 16


def own_key(principal: Principal, key: str) -> str:
    """A caller's key, checked, with a digest of who calls before it.

    A digest and not the name: an erasure reads keys for names, and this one says nothing of whom
    the key is about.
    """
    checked = check_text(key, SHORT, "idempotency_key")
    who = f"{principal.kind.value}:{principal.name}".encode()
    return f"{hashlib.sha256(who).hexdigest()[:_DIGITS]} {checked}"
