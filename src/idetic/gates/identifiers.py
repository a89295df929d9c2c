"""The `strip_identifiers` gate: what happened stays, where and to whom it happened goes."""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import lru_cache

from idetic.gates.codes import codes, numbered
from idetic.gates.contacts import emails
from idetic.gates.network import addresses
from idetic.gates.places import PLACES
from idetic.gates.spans import Recogniser, each
from idetic.gates.view import view


def _as_identifier(recogniser: Recogniser) -> Recogniser:
    return lambda text: (span._replace(identifier=True) for span in recogniser(text))


IDENTIFIERS: tuple[Recogniser, ...] = tuple(
    map(_as_identifier, (*PLACES, emails, addresses, codes, numbered))
)


def named(identifiers: Iterable[str]) -> tuple[Recogniser, ...]:
    """A recogniser of the names that the caller gives, in any spelling; none for no names."""
    pattern = _names(tuple(sorted(set(identifiers))))
    return () if pattern is None else (_as_identifier(each(pattern, "name")),)


@lru_cache(maxsize=256)
def _names(identifiers: tuple[str, ...]) -> re.Pattern[str] | None:
    """`Acme Bank` is also `acme-bank` and `AcmeBank`. One letter or two digits name nothing."""
    spelt = []
    for identifier in identifiers:
        parts = re.findall(r"[^\W_]+", view(identifier).text)
        joined = "".join(parts)
        if len(joined) > (2 if joined.isdigit() else 1):
            spelt.append(r"[\W_]{0,3}".join(map(re.escape, parts)))
    if not spelt:
        return None
    longest_first = "|".join(sorted(spelt, key=len, reverse=True))
    return re.compile(rf"(?<![^\W_])(?:{longest_first})(?![^\W_])", re.IGNORECASE)
