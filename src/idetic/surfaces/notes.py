"""Notes of what was said, for frameworks that hand conversations over when they are done."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from datetime import datetime

from idetic.model import Observation, Origin
from idetic.surfaces.documents.naming import path_of
from idetic.verbs.arguments import SHORT


def said(
    text: str,
    *,
    bound: int,
    namespace: Sequence[str],
    author: str,
    by_user: bool = False,
    at: datetime | None = None,
    name: str | None = None,
) -> Iterator[Observation]:
    """One saying as observations, several if it is long; with a `name` it is kept once.

    What a user said is marked so, and trusted no more than users are, whoever hands it over.
    """
    for number, part in enumerate(_parts(text, bound)):
        key = None if name is None else f"{name}\n{number}"
        yield Observation(
            part,
            {"namespace": path_of(namespace), "author": author[:SHORT] or "unknown"},
            valid_at=at,
            heard_from=Origin.USER if by_user else None,
            idempotency_key=None if key is None else hashlib.sha256(key.encode()).hexdigest(),
        )


def _parts(text: str, bound: int) -> Iterator[str]:
    """The text in pieces of at most `bound` characters, between words where there are any."""
    rest = text.replace("\x00", "").encode(errors="replace").decode().strip()
    while rest:
        end = len(rest) if len(rest) <= bound else rest.rfind(" ", 1, bound + 1)
        piece, rest = (rest[:end], rest[end:]) if end > 0 else (rest[:bound], rest[bound:])
        rest = rest.lstrip()
        yield piece
