"""Which deviations can act: an answer that changes nothing is refused, never stored.

Each table says where a key of a policy is read, or which of its values a cell tells apart. What is
in none of them acts wherever the policy has it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from idetic.spec.typology import (
    Cell,
    ConflictRule,
    ConsolidationMethod,
    DecayModel,
    PromotionPath,
    WriteMode,
)

_T, _P, _S, _H = Cell  # transient and persistent episodes, semantic, procedural
_SCOPE, _FORCING = DecayModel.SCOPE, DecayModel.FORCING
_VALIDITY, _EXEMPT = DecayModel.VALIDITY, DecayModel.EXEMPT
_LASTING = (_FORCING, _VALIDITY, _EXEMPT)
_AUTOMATIC, _PROMOTED = WriteMode.AUTOMATIC, WriteMode.PROMOTION_ONLY
_ANY_MODE = (_AUTOMATIC, _PROMOTED, WriteMode.EXPLICIT)
_COMPOUNDED = (ConsolidationMethod.COMPOUNDING, ConsolidationMethod.NONE)

# The cells in which a key is read.
_CELLS: Mapping[tuple[str, str], tuple[Cell, ...]] = {
    ("lifecycle", "at_scope_end"): (_T,),
    ("lifecycle", "archive_on"): (_P, _S, _H),
    ("lifecycle", "failed_corroborations"): (_P, _S, _H),
    ("writes", "auto_extract"): (_H,),
    ("writes", "min_confidence"): (_H,),
    ("writes", "pattern_attributes"): (_H,),
    ("writes", "pattern_origins"): (_H,),
    ("writes", "sampling"): (_T, _P),
    ("promotion", "min_versions"): (_S,),
    ("promotion", "min_anchors"): (_S,),
    ("promotion", "dedup_similarity"): (_T, _P),
    ("promotion", "dedup_trigram"): (_T, _P),
    ("promotion", "independence"): (_T, _P, _S),
    ("promotion", "min_corroborations"): (_T, _P, _S),
    ("promotion", "min_sessions"): (_T, _P),
    ("promotion", "candidates"): (_T, _P),
    ("promotion", "candidate_days"): (_T, _P),
}
# Of these, only the policy is asked that a session's statements meet when they leave it.
_LEAVING = ("independence", "min_corroborations", "min_sessions", "candidates", "candidate_days")
# The values that a cell tells apart.
_VALUES: Mapping[tuple[str, str], Mapping[Cell, tuple[str, ...]]] = {
    ("decay", "model"): {_T: (_SCOPE, _EXEMPT), _P: _LASTING, _S: _LASTING, _H: _LASTING},
    ("writes", "mode"): {_T: (_AUTOMATIC,), _P: (_AUTOMATIC, _PROMOTED), _S: _ANY_MODE,
                         _H: _ANY_MODE},
    ("promotion", "path"): {
        _T: (PromotionPath.COMPOUNDING, PromotionPath.NONE),
        _P: (PromotionPath.CORROBORATION, PromotionPath.NONE),
        _S: (PromotionPath.META_SEMANTIC, PromotionPath.NONE),
        _H: (PromotionPath.NONE,),
    },
    ("conflict", "rule"): {_T: (ConflictRule.NOOP, ConflictRule.SUPERSEDE)},
    ("consolidation", "method"): {
        _T: _COMPOUNDED,
        _P: _COMPOUNDED,
        _S: (ConsolidationMethod.MERGE, ConsolidationMethod.NONE),
        _H: (ConsolidationMethod.SUPERSESSION,),
    },
}  # fmt: skip


def inert(
    section: str, cell: Cell, key: str, policy: Mapping[str, Any], leaving: Cell
) -> str | None:
    """Why a deviation would change nothing; None where it acts.

    `policy` is the whole policy as the spec has it, `leaving` the cell whose promotion policy the
    statements of a closing session meet.
    """
    known = _VALUES.get((section, key), {}).get(cell)
    if known is not None and policy[key] not in known:
        return f"`{cell}` memory knows only {_listed(known)} here."
    cells = _CELLS.get((section, key))
    if cells is not None and cell not in cells:
        return f"`{key}` is asked of {_listed(cells)} memory alone."
    if section == "promotion" and key in _LEAVING and cell not in (leaving, _S):
        return f"What leaves a session meets the policy of `{leaving}` here."
    return _unasked(section, key, policy)


# A key that is asked for only where another one of its policy has one of some values.
_NEEDS: Mapping[tuple[str, str], tuple[str, tuple[Any, ...]]] = {
    ("decay", "half_life_days"): ("model", (_SCOPE, _FORCING)),
    ("decay", "validity_days"): ("model", (_VALIDITY,)),
    ("writes", "pattern_attributes"): ("auto_extract", (True,)),
    ("writes", "pattern_origins"): ("auto_extract", (True,)),
    ("writes", "sampling"): ("mode", (_AUTOMATIC,)),
    ("promotion", "min_versions"): ("path", (PromotionPath.META_SEMANTIC,)),
    ("promotion", "min_anchors"): ("path", (PromotionPath.META_SEMANTIC,)),
}


def _unasked(section: str, key: str, policy: Mapping[str, Any]) -> str | None:
    """Why a key is not asked for, given another one of the same policy."""
    other, needed = _NEEDS.get((section, key), ("", ()))
    if other and policy[other] not in needed:
        return f"It is asked for where `{other}` is {_listed(tuple(map(str, needed)))}."
    if key == "failed_corroborations" and key not in policy["archive_on"]:
        return "`archive_on` does not name `failed_corroborations`."
    return None


def _listed(values: tuple[str, ...]) -> str:
    """Some values, as a sentence has them."""
    return " and ".join(f"`{value}`" for value in values)
