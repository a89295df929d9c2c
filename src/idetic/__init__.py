"""Idetic: governed memory for AI agents, on PostgreSQL."""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from idetic.audit.chain import ChainHead
    from idetic.erasure import Erased, Subject
    from idetic.errors import IdeticError
    from idetic.evidence import ContradictionStatus, Outcome, SourceType
    from idetic.keys import ApiKey, CreatedKey
    from idetic.library.answers import Answered, Mode
    from idetic.library.idetic import Idetic
    from idetic.library.remember import Found, UserMemory, remember, remember_async
    from idetic.library.runners import AgentRunner, AskTool, runner
    from idetic.library.sync import open_sync
    from idetic.model import (
        Capability,
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
    from idetic.persona.agent import PersonaAgent
    from idetic.persona.conversation import Tool
    from idetic.persona.identity import Identity
    from idetic.recall.hits import explain
    from idetic.spec.memory_spec import MemorySpec

__version__ = "0.1.0"

__all__ = [
    "AgentRunner",
    "Answered",
    "ApiKey",
    "AskTool",
    "Capability",
    "ChainHead",
    "Claim",
    "ContradictionStatus",
    "CreatedKey",
    "Decision",
    "Entry",
    "EntryState",
    "Erased",
    "Found",
    "Identity",
    "Idetic",
    "IdeticError",
    "LedgerRecord",
    "MemorySpec",
    "Mode",
    "Observation",
    "Origin",
    "Outcome",
    "PersonaAgent",
    "Principal",
    "Receipt",
    "Ref",
    "Rule",
    "Scope",
    "SourceType",
    "Subject",
    "Tier",
    "Tool",
    "Typology",
    "UserMemory",
    "explain",
    "open_sync",
    "remember",
    "remember_async",
    "runner",
]

# Where each public name lives. Loaded when first asked for: `import idetic` and `idetic --help`
# then cost milliseconds, not the half second that the driver and pydantic take.
_ELSEWHERE = {
    "AgentRunner": "idetic.library.runners",
    "AskTool": "idetic.library.runners",
    "Answered": "idetic.library.answers",
    "ApiKey": "idetic.keys",
    "CreatedKey": "idetic.keys",
    "Mode": "idetic.library.answers",
    "runner": "idetic.library.runners",
    "ChainHead": "idetic.audit.chain",
    "Idetic": "idetic.library.idetic",
    "Erased": "idetic.erasure",
    "IdeticError": "idetic.errors",
    "ContradictionStatus": "idetic.evidence",
    "Outcome": "idetic.evidence",
    "SourceType": "idetic.evidence",
    "Subject": "idetic.erasure",
    "explain": "idetic.recall.hits",
    "Identity": "idetic.persona.identity",
    "MemorySpec": "idetic.spec.memory_spec",
    "PersonaAgent": "idetic.persona.agent",
    "Tool": "idetic.persona.conversation",
    "open_sync": "idetic.library.sync",
    "Found": "idetic.library.remember",
    "UserMemory": "idetic.library.remember",
    "remember": "idetic.library.remember",
    "remember_async": "idetic.library.remember",
}


def __getattr__(name: str) -> Any:
    if name not in __all__:
        raise AttributeError(f"module 'idetic' has no attribute {name!r}")
    value = getattr(import_module(_ELSEWHERE.get(name, "idetic.model")), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
