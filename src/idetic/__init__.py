"""Idetic: governed memory for AI agents, on PostgreSQL."""

from idetic.errors import IdeticError
from idetic.library.idetic import Idetic
from idetic.library.sync import open_sync
from idetic.model import (
    Claim,
    Decision,
    Entry,
    EntryState,
    LedgerRecord,
    Observation,
    Origin,
    Principal,
    Receipt,
    Ref,
    Rule,
    Scope,
    Tier,
    Typology,
)
from idetic.spec.memory_spec import MemorySpec

__version__ = "0.1.0"

__all__ = [
    "Claim",
    "Decision",
    "Entry",
    "EntryState",
    "Idetic",
    "IdeticError",
    "LedgerRecord",
    "MemorySpec",
    "Observation",
    "Origin",
    "Principal",
    "Receipt",
    "Ref",
    "Rule",
    "Scope",
    "Tier",
    "Typology",
    "open_sync",
]
