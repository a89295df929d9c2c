"""The nouns of erasure: its subject, and the receipt that says what was removed and what stayed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType
from uuid import UUID

from idetic.errors import InputError
from idetic.model import PlainData, Receipt

MAX_IDENTIFIERS = 50
MAX_IDENTIFIER = 200


@dataclass(frozen=True, slots=True, repr=False)
class Subject:
    """Somebody, by everything that names them: e-mail addresses, names, account ids.

    Give every form that may have been written ("Zora Quell" and "Quell, Zora"); case, accents,
    width, spacing, hidden characters and look-alike letters make no difference.
    """

    identifiers: tuple[str, ...]

    def __init__(self, identifiers: Iterable[str] | str):
        given = [identifiers] if isinstance(identifiers, str) else identifiers
        if isinstance(given, bytes) or not isinstance(given, Iterable):
            raise InputError("A subject must be a list of texts that name it.")
        found = tuple(dict.fromkeys(given))
        if not 0 < len(found) <= MAX_IDENTIFIERS:
            raise InputError(f"A subject must have 1 to {MAX_IDENTIFIERS} identifiers.")
        object.__setattr__(self, "identifiers", found)

    def __repr__(self) -> str:
        """How many, never which: a log that quotes this must not name anybody."""
        return f"Subject({len(self.identifiers)} identifiers)"


@dataclass(frozen=True, slots=True)
class Kept(PlainData):
    """A place that still names the subject: where, how often and why, without the text."""

    table: str
    column: str
    count: int
    why: str
    positions: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class Erased:
    """The result of an erasure: what it removed, what it kept, and why.

    `removed` has the ids of the emptied or deleted rows, by table. If the erasure found nothing,
    `found` is False and the receipt is a NOOP. `spared` are entries that were made from the
    forgotten one and from others, and have none of its words: they stay.
    """

    receipt: Receipt
    entries: tuple[UUID, ...] = ()
    removed: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    kept: tuple[Kept, ...] = ()
    spared: tuple[UUID, ...] = ()

    def __post_init__(self) -> None:
        # The ledger keeps no order of keys; a receipt that is read again looks the same.
        tables = dict(sorted(self.removed.items()))
        object.__setattr__(self, "removed", MappingProxyType(tables))

    @property
    def found(self) -> bool:
        """Whether there was anything to remove."""
        return bool(self.removed)

    def count(self, table: str | None = None) -> int:
        """How many rows were emptied or deleted in one table, or in all."""
        tables = self.removed if table is None else {table: self.removed.get(table, ())}
        return sum(map(len, tables.values()))

    def __str__(self) -> str:
        """The receipt in one line."""
        if not self.found:
            return "Nothing found: nothing was removed."
        parts = ", ".join(f"{len(ids)} in {table}" for table, ids in self.removed.items())
        still = sum(kept.count for kept in self.kept)
        return f"Removed: {parts}." + (f" Still named in: {still}." if still else "")


@dataclass(frozen=True, slots=True)
class ErasedAnchor:
    """The result of erasing a whole anchor: numbers by table, what it kept, and why.

    The ids are in the ledger: every link of one erasure has the receipt's id. If a killed run was
    called again, the numbers cover both runs.
    """

    receipt: Receipt
    removed: Mapping[str, int] = field(default_factory=dict)
    kept: tuple[Kept, ...] = ()

    def __post_init__(self) -> None:
        tables = dict(sorted(self.removed.items()))
        object.__setattr__(self, "removed", MappingProxyType(tables))

    @property
    def found(self) -> bool:
        """Whether there was anything to remove."""
        return bool(self.removed)

    def __str__(self) -> str:
        """The receipt in one line."""
        if not self.found:
            return "Nothing found: nothing was removed."
        parts = ", ".join(f"{count} in {table}" for table, count in self.removed.items())
        return f"Removed: {parts}."
