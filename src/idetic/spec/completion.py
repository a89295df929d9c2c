"""The documented choices: what an agent's name and its anchor keys make of everything else.

One place completes whatever is short. `spec new` hands in the answers of its interview; the loader
hands in a short spec, which answers no discipline primitive: it leaves governance whole to the
choices documented here. A spec that answers one of them answers for all of them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

from idetic.model import PrincipalKind, Tier
from idetic.spec.interview_questions import (
    ACCEPT,
    GATES,
    NONE,
    Answers,
    InterviewQuestion,
    has_interactions,
    questions_after,
)
from idetic.spec.memory_spec import DISCIPLINE, GuardRole, Reasons
from idetic.spec.primitives import Injection, Neighbours, SourceStrength
from idetic.spec.typology import DEFAULTS, Cell

Data = dict[str, Any]

_KEYS = "anchor.keys"
# A mapping here is one answer: half of somebody's weights beside half of ours would be nobody's.
_WHOLE_ANSWERS = ("signals", "envelope", "voices")
_DEVIATION = re.compile(r"(\w+)\s+(\w+)\s*=\s*(.+?)(?:\s+because\s+(.+))?", re.DOTALL)
# A semicolon separates deviations only before the next cell: reasons may hold one too.
_NEXT_DEVIATION = re.compile(rf"[;\n]\s*(?=(?:{'|'.join(Cell)})\s+\w+\s*=)")


def is_short(data: Mapping[str, Any]) -> bool:
    """Whether data say whose memory it is and leave governance to the documented choices."""
    anchor = data.get("anchor")
    keys = anchor.get("keys") if isinstance(anchor, Mapping) else data.get(_KEYS)
    named = isinstance(data.get("agent"), str) and bool(keys)
    return named and not any(key in data for key in DISCIPLINE)


def complete(data: Mapping[str, Any]) -> Data:
    """A short spec with everything that it leaves out; what it says stands as it says it.

    Anchor keys may be as `spec new` takes them: `"org_id, user_id:text"`, or a list of such words.
    """
    given = {**data, "anchor": _spread(data)}
    given.pop(_KEYS, None)
    chosen = spec_data({question.key: answer for question, answer in walk(_said(given))})
    return _over(chosen, given)


def _spread(data: Mapping[str, Any]) -> Any:
    """The `anchor` section with its keys written out, however short they were given."""
    anchor = data.get("anchor", {})
    if _KEYS in data and isinstance(anchor, Mapping):
        anchor = {**anchor, "keys": data[_KEYS]}
    keys = anchor.get("keys") if isinstance(anchor, Mapping) else None
    words = _words(keys) if isinstance(keys, str) else keys
    if not isinstance(words, list):
        return anchor
    return {**anchor, "keys": [_key(word) if isinstance(word, str) else word for word in words]}


def _said(data: Mapping[str, Any]) -> dict[str, str]:
    """The answers in a short spec that other choices follow from."""
    said = {key: data[key] for key in ("agent", "title") if isinstance(data.get(key), str)}
    said[_KEYS] = "given"  # the keys themselves stand in the data
    mix, retrieval = data.get("typology"), data.get("retrieval")
    for tier in Tier if isinstance(mix, Mapping) else ():
        held = mix.get(tier) if isinstance(mix, Mapping) else None
        if isinstance(held, list):
            said[f"typology.{tier}"] = ", ".join(map(str, held)) or NONE
    fusion = retrieval.get("fusion") if isinstance(retrieval, Mapping) else None
    if isinstance(fusion, Mapping) and isinstance(fusion.get("method"), str):
        said["retrieval.fusion"] = fusion["method"]
    return said


def _over(chosen: Data, given: Mapping[str, Any]) -> Data:
    """What was given, over what was chosen; only mappings mix, a list is an answer of its own."""
    made = dict(chosen)
    for key, value in given.items():
        below = made.get(key)
        mixes = isinstance(value, Mapping) and key not in _WHOLE_ANSWERS
        made[key] = _over(below, value) if mixes and isinstance(below, dict) else value
    return made


def walk(answers: Answers) -> Iterator[tuple[InterviewQuestion, str]]:
    """Each question with its answer, or with its default where none was given."""
    said: dict[str, str] = {}
    for question in questions_after(said):
        # Set before the next question is made: its default may follow from this answer.
        given = answers.get(question.key, "").strip()
        said[question.key] = given or question.default or ""
        yield question, said[question.key]


# --- answers to data ----------------------------------------------------------------------


def spec_data(said: Answers) -> Data:
    """The data that a complete set of answers stands for."""
    data: Data = {key: said[key] for key in ("agent", "title", "purpose")}
    data["anchor"] = _anchor(said)
    declared = [tier for tier in Tier if tier is not Tier.INTERACTION or has_interactions(said)]
    data["typology"] = {tier.value: _words(said[f"typology.{tier}"]) for tier in declared}
    data["tiers"] = {tier.value: _tier(said, tier) for tier in declared} | _broader(said)
    if "broader" in data["tiers"]:
        data["tiers"]["persistent"] |= {"boundary": "anchor_escalation", "event": "escalation"}
    data["backend"] = {
        part: said[f"backend.{part}"] for part in ("schema", "family", "checkpointer")
    }
    if not _words(said["references.canonical"], ";"):
        # Nothing to compare a note with: it may be as long as a message, and is found by pieces.
        data["backend"]["body_text_max"] = 20_000
    data["retrieval"] = _retrieval(said)
    for section in DEFAULTS:
        if said[section] != ACCEPT:
            texts = _NEXT_DEVIATION.split(said[section])
            data[section] = {"deviations": [_deviation(text) for text in texts]}
    if "injection.justification" in said:
        data["injection"] = _injection(said)
    data["references"] = _references(said)
    data["gates"] = [
        {"boundary": boundary.value, "apply": _words(said[f"gates.{boundary}"]), "because": why}
        for boundary, (_, why) in GATES.items()
        if _words(said[f"gates.{boundary}"])
    ]
    data["visibility"] = {
        "principals": {
            kind.value: _words(said[f"visibility.principals.{kind}"]) for kind in PrincipalKind
        },
        "trust": _pairs(said["visibility.trust"]),
        "hedges": {s.value: said[f"visibility.hedges.{s}"] for s in SourceStrength},
    }
    over = said["leak_defence.reasons"] == Reasons.OVER
    data["leak_defence"] = {
        "reasons": said["leak_defence.reasons"],
        "guard": (GuardRole.PRIMARY if over else GuardRole.BACKSTOP).value,
        "because": said["leak_defence.because"],
    }
    data["audit"] = {"posture": "universal", "action_kinds": _words(said["audit.action_kinds"])}
    return data


def _anchor(said: Answers) -> Data:
    """The `anchor` section: keys and their types, and the root and provenance if there are any."""
    nullable = _words(said["anchor.nullable"])
    keys = [_key(word) for word in _words(said[_KEYS])]
    opened = {"nullable_for_queries": True}
    anchor: Data = {"keys": [{**k, **opened} if k["name"] in nullable else k for k in keys]}
    root = said["anchor.root"].split()
    if root != [NONE]:
        anchor["root"] = dict(zip(("noun", "table", "key"), root, strict=False))
    if provenance := _words(said["anchor.provenance"]):
        anchor["provenance"] = provenance
    return anchor


def _key(word: str) -> Data:
    """An anchor key as it is typed: a name, or `name:type`."""
    name, _, kind = (part.strip() for part in word.partition(":"))
    return {"name": name, "type": kind or "uuid"}


def _retrieval(said: Answers) -> Data:
    """The `retrieval` section; the embedding and k are not asked for but fixed here."""
    envelope = {}
    for word in _words(said["retrieval.envelope"]):
        name, _, kind = (part.strip() for part in word.partition(":"))
        envelope[name] = {"type": kind or "scalar", "weight": 1.0}
    return {
        "embedding": "bge-small-en-v1.5",
        "signals": _pairs(said["retrieval.signals"]),
        "fusion": {"method": said["retrieval.fusion"], "k": 60},
        "neighbours": Neighbours().model_dump(),
        "tiers": {
            tier: weight
            for tier, weight in _pairs(said["retrieval.tiers"]).items()
            if tier != Tier.INTERACTION or has_interactions(said)
        },
        "envelope": envelope,
        "reranker": said["retrieval.reranker"],
    }


def _tier(said: Answers, tier: Tier) -> Data:
    """One tier as answered; a name that is the level's own is not written down."""
    parts = {part: said.get(f"tiers.{tier}.{part}") for part in ("boundary", "event", "holds")}
    name = said[f"tiers.{tier}.name"]
    named = {"name": name} if name != tier.value else {}
    return named | {part: value for part, value in parts.items() if value is not None}


def _broader(said: Answers) -> Data:
    """The broader tier, read from `name key, key: what it holds`."""
    if said["tiers.broader"] == NONE:
        return {}
    head, _, holds = said["tiers.broader"].partition(":")
    name, _, keys = head.strip().partition(" ")
    return {"broader": {"name": name, "keys": _words(keys), "holds": holds.strip()}}


def _deviation(text: str) -> Data | str:
    """A deviation read from one line, or the line itself for the checks to refuse."""
    match = _DEVIATION.fullmatch(text.strip())
    if match is None:
        return text.strip()
    cell, key, value, reason = match.groups()
    deviation: Data = {"cell": cell, "set": {key: _plain(value)}}
    return {**deviation, "justification": reason} if reason else deviation


def _injection(said: Answers) -> Data:
    """The `injection` section: budgets as answered, the rest of each block by default."""
    blocks: Data = {"ceiling": _plain(said["injection.ceiling"])}
    for tier in Tier if has_interactions(said) else (Tier.SESSION, Tier.PERSISTENT):
        block = Injection().at(tier).model_dump(mode="json")
        blocks[tier.value] = {**block, "budget": _plain(said[f"injection.{tier}"])}
    return {**blocks, "justification": said["injection.justification"]}


def _references(said: Answers) -> Data:
    """The `references` section: what is never copied, and the canonical tables."""
    canonical = [
        dict(zip(("noun", "table", "key", "body"), part.split(), strict=False))
        for part in _words(said["references.canonical"], ";")
    ]
    return {
        "non_mirror": _words(said["references.non_mirror"], ";"),
        "canonical": canonical,
        "corroborations": said["references.corroborations"] == "yes",
    }


def _words(text: str, separator: str = ",") -> list[str]:
    """The parts of an answer; `none` means that there are no parts."""
    words = [word.strip() for word in text.split(separator) if word.strip()]
    return [] if words == [NONE] else words


def _pairs(text: str) -> Data:
    """An answer of `key=value` parts as a mapping."""
    pairs = (word.partition("=") for word in _words(text))
    return {key.strip(): _plain(value) for key, _, value in pairs}


def _plain(text: str) -> Any:
    """A word of an answer as YAML would read it: a list, a truth value, a number or text."""
    text = text.strip()
    if text.startswith("[") and text.endswith("]"):
        return [_plain(part) for part in _words(text[1:-1])]
    if text in ("true", "false"):
        return text == "true"
    # Whole numbers first: 60 is not to become 60.0.
    for number in (int, float):
        try:
            return number(text)
        except ValueError:
            continue
    return text
