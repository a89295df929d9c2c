"""The specs that benchmarks measure: the shipped ones, what `spec new` writes, single signals."""

from __future__ import annotations

from typing import Any

import yaml

from idetic.spec.interview import build
from idetic.spec.loader import shipped, shipped_text

SpecData = dict[str, Any]
NEW = "spec_new"
NEW_RRF = f"{NEW} with rrf"
# Asked for by name alone: it takes most of a second for each question.
NEW_RERANKED = f"{NEW} with reranker"
SINGLE = ("semantic", "lexical")


def spec_new(**more: str) -> SpecData:
    """What `idetic spec new` writes with these answers and every other default."""
    said = {f"retrieval.{name}": answer for name, answer in more.items()}
    text = build({"agent": NEW, "anchor.keys": "conversation_id:text", **said})
    data: SpecData = yaml.safe_load(text)
    return data


def measured() -> dict[str, SpecData]:
    """What a user gets without writing a spec by hand, by name."""
    ours = {NEW: spec_new(), NEW_RRF: spec_new(fusion="rrf")}
    return ours | {name: yaml.safe_load(shipped_text(name)) for name in shipped()}


def selectable() -> dict[str, SpecData]:
    """What can be measured by name."""
    return measured() | {NEW_RERANKED: spec_new(reranker="cross_encoder")}


def single(spec: SpecData, signal: str) -> SpecData:
    """The same agent and tables with one signal that counts."""
    signals = dict.fromkeys(spec["retrieval"]["signals"], 0.0) | {signal: 1.0}
    return spec | {"retrieval": spec["retrieval"] | {"signals": signals, "reranker": "none"}}
