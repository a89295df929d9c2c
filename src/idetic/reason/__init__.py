"""Reasoners behind the port: background work only, never on the write path.

Rooms: `port` (what Idetic asks of a reasoner), `caps` (what a run may take), `questions` (what a
model is told, in which form it answers, how that is read), `drawing` (the same for claims),
`endpoint` (the server) and `openai_compatible` (the adapter). Importing this package does not load
`openai`.
"""

from .caps import Caps, Meter, Prices
from .endpoint import Endpoint
from .openai_compatible import Chat, OpenAICompatible
from .port import (
    ClaimReasoner,
    ClaimsAnswered,
    ClaimsAsked,
    ConflictAnswered,
    ConflictAsked,
    ConflictVerdict,
    MergeAnswered,
    MergeAsked,
    ReasonedClaim,
    Reasoner,
    ReasonerCapped,
    ReasonerError,
    ReasonerLied,
    ReasonerMalformed,
    ReasonerRefused,
    ReasonerUnavailable,
    ShownEntry,
    SummaryAnswered,
    SummaryAsked,
    Usage,
)

__all__ = [
    "Caps",
    "Chat",
    "ClaimReasoner",
    "ClaimsAnswered",
    "ClaimsAsked",
    "ConflictAnswered",
    "ConflictAsked",
    "ConflictVerdict",
    "Endpoint",
    "MergeAnswered",
    "MergeAsked",
    "Meter",
    "OpenAICompatible",
    "Prices",
    "ReasonedClaim",
    "Reasoner",
    "ReasonerCapped",
    "ReasonerError",
    "ReasonerLied",
    "ReasonerMalformed",
    "ReasonerRefused",
    "ReasonerUnavailable",
    "ShownEntry",
    "SummaryAnswered",
    "SummaryAsked",
    "Usage",
]
