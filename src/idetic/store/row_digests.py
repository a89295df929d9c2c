"""What links carry of the rows beside entries: digests by which a verification knows them again."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple
from uuid import UUID

from idetic.evidence import Corroboration, Lineage
from idetic.ids import random_bytes
from idetic.store.entry_content import notes_hash, row_digest


class SaltedNote(NamedTuple):
    """The salt of a note, and what a link says of the note: a hash that nobody can guess from."""

    salt: str | None
    told: Mapping[str, str]


def salted_note(notes: str | None) -> SaltedNote:
    """A note's hash for the link; the salt stands beside the note, and goes with it."""
    if notes is None:
        return SaltedNote(None, {})
    salt = random_bytes(16)
    return SaltedNote(salt.hex(), {"notes_hash": notes_hash(salt, notes)})


def told_lineage(entry_id: UUID | None, lineage: Sequence[Lineage]) -> dict[str, Any]:
    """What a link says of the sources that it adds: which, and a digest of each row."""
    told = {str(one.source_id): lineage_digest(entry_id, one) for one in lineage}
    return {"sources": list(told), "lineage": told}


def lineage_digest(entry_id: UUID | None, one: Lineage) -> str:
    """The digest of one row of lineage."""
    return row_digest("lineage", {"entry": entry_id, **lineage_values(one)})


def corroboration_digest(entry_id: UUID | None, one: Corroboration) -> str:
    """The digest of a corroboration, without what its link says itself and what may be erased."""
    return row_digest(
        "corroboration",
        {
            "entry": entry_id,
            "id": one.id,
            "source_type": one.source_type.value,
            "source_ref": one.source_ref,
            "source_by": one.source_by,
            "session": one.session_id,
            "origin": one.origin.value,
            "provenance": one.provenance,
        },
    )


def contradiction_digest(entry_id: UUID | None, row_id: UUID, provenance: Mapping[str, Any]) -> str:
    """The digest of a contradiction as it was raised."""
    values = {"entry": entry_id, "id": row_id, "provenance": provenance}
    return row_digest("contradiction", values)


def lineage_values(one: Lineage) -> dict[str, Any]:
    """The columns of one source of an entry."""
    return {
        "source_id": one.source_id,
        "relation": one.relation.value,
        "session_id": one.session_id,
        "interaction_id": one.interaction_id,
        "provenance": dict(one.provenance),
        "origin": one.origin.value,
        "trust": one.trust,
        "observed_at": one.observed_at,
    }
