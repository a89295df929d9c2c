"""`explain`: a recall's own account of itself, for people and for programs."""

from __future__ import annotations

from typing import Any

from idetic.recall.hits import Hit, Recall


def explain(recall: Recall) -> str:
    """A readable account: each hit with every signal's rank, value and share of the score."""
    found = f"{len(recall.hits)} of {recall.considered} entries for {recall.query!r}"
    lines = [f"{found}, {recall.candidates} candidates, fused by {recall.fusion}"]
    for number, hit in enumerate(recall.hits, start=1):
        entry = hit.entry
        lines.append(f"{number}. {hit.score:.4f}  {entry.body_text}")
        lines.append(f"   {_provenance(hit)}")
        for signal, word in hit.signals.items():
            if word.contribution:
                lines.append(
                    f"   {signal.value:<9} rank {word.rank}, value {word.value:.3f}, "
                    f"adds {word.contribution:.4f}"
                )
    lines += [f"Not used: {n.what}, because {n.why}. {n.remedy}" for n in recall.not_used]
    return "\n".join(lines)


def _provenance(hit: Hit) -> str:
    entry = hit.entry
    refs = ", ".join(f"{r.noun} {r.id} v{r.version}" for r in entry.refs) or "nothing"
    until = f" until {entry.invalid_at:%Y-%m-%d}" if entry.invalid_at else ""
    return (
        f"{entry.tier}/{entry.typology}, valid from {entry.valid_at:%Y-%m-%d}{until}, by "
        f"{entry.created_by} (origin {entry.origin}, trust {entry.trust}), refers to {refs}"
    )


def as_data(recall: Recall) -> dict[str, Any]:
    """The same for programs: plain data, ready for JSON."""
    return {
        "query": recall.query,
        "fusion": recall.fusion.value,
        "weights": {signal.value: weight for signal, weight in recall.weights.items()},
        "considered": recall.considered,
        "candidates": recall.candidates,
        "pending": recall.pending,
        "profile_id": str(recall.profile_id) if recall.profile_id else None,
        "at": recall.at.isoformat(),
        "hits": [_hit_data(hit) for hit in recall.hits],
        "not_used": [{"what": n.what, "why": n.why, "remedy": n.remedy} for n in recall.not_used],
    }


def _hit_data(hit: Hit) -> dict[str, Any]:
    entry = hit.entry
    return {
        "id": str(entry.id),
        "score": hit.score,
        "body_text": entry.body_text,
        "tier": entry.tier.value,
        "typology": entry.typology.value,
        "state": entry.state.value,
        "valid_at": entry.valid_at.isoformat() if entry.valid_at else None,
        "invalid_at": entry.invalid_at.isoformat() if entry.invalid_at else None,
        "created_by": entry.created_by,
        "origin": entry.origin.value,
        "trust": entry.trust,
        "strength": hit.strength.value if hit.strength else None,
        "reranked": hit.reranked,
        "refs": [{"noun": r.noun, "id": str(r.id), "version": r.version} for r in entry.refs],
        "signals": {
            signal.value: {
                "rank": word.rank,
                "value": word.value,
                "contribution": word.contribution,
            }
            for signal, word in hit.signals.items()
        },
    }
