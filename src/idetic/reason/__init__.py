"""Reasoners behind the port: background work only, never on the write path.

Rooms: `port` (what Idetic asks of a reasoner), `caps` (what a run may take), `openai_compatible`
(the adapter), `chat` (conversations with tools), `questions` (what a model is told), `forms` and
`answers` (how its answer is read), `figures` (which numbers a text states). Importing this package
does not load `openai`.
"""

from .caps import Caps, Meter, Prices
from .chat import Chat
from .endpoint import Endpoint
from .errors import (
    ReasonerCapped,
    ReasonerError,
    ReasonerLied,
    ReasonerMalformed,
    ReasonerRefused,
    ReasonerUnavailable,
)
from .openai_compatible import OpenAICompatible
from .port import (
    ConflictAnswered,
    ConflictAsked,
    Evidence,
    MergeAnswered,
    MergeAsked,
    Reasoner,
    SummaryAnswered,
    SummaryAsked,
    Usage,
    Verdict,
)

__all__ = [
    "Caps",
    "Chat",
    "ConflictAnswered",
    "ConflictAsked",
    "Endpoint",
    "Evidence",
    "MergeAnswered",
    "MergeAsked",
    "Meter",
    "OpenAICompatible",
    "Prices",
    "Reasoner",
    "ReasonerCapped",
    "ReasonerError",
    "ReasonerLied",
    "ReasonerMalformed",
    "ReasonerRefused",
    "ReasonerUnavailable",
    "SummaryAnswered",
    "SummaryAsked",
    "Usage",
    "Verdict",
]
