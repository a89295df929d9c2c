"""Claims drawn out of what was said: by rules, or by a model behind the reasoner's port.

Rooms: `port` (what an extractor is), `attributes` (what claims may say), `clauses`, `phrases` and
`wordings` (English), `rule_extractor`, `model_extractor`. Nothing here reads or writes a database.
"""

from .model_extractor import ModelExtractor
from .port import ExtractedClaim, Extraction, Extractor, RefusedClaim, Turn
from .rule_extractor import RuleExtractor

__all__ = [
    "ExtractedClaim",
    "Extraction",
    "Extractor",
    "ModelExtractor",
    "RefusedClaim",
    "RuleExtractor",
    "Turn",
]
