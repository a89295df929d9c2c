"""The interview of `spec new`: the primitives as questions, their answers as commented YAML.

Pure logic. A surface asks `next_question` until there is none, puts each answer as text under
the question's key, and hands the answers to `build`. An answer left out takes its default, so
a name and the anchor keys are enough for a valid spec. Answers are read leniently: what cannot be
read stays text, and validation says what is wrong with it in the same words as for a file.
"""

from __future__ import annotations

import re
import textwrap
from collections.abc import Iterator
from typing import Any

import yaml

from idetic.model import PrincipalKind, Tier
from idetic.spec.interview_questions import (
    ACCEPT,
    GATES,
    NONE,
    Answers,
    InterviewQuestion,
    questions_after,
)
from idetic.spec.loader import parse
from idetic.spec.memory_spec import GuardRole, Reasons
from idetic.spec.primitives import Injection, Neighbours, SourceStrength
from idetic.spec.problems import PRIMITIVES, WHOLE, SpecInvalid, SpecProblem
from idetic.spec.shape import meant, nearest
from idetic.spec.typology import DEFAULTS, Cell

Data = dict[str, Any]

_DEVIATION = re.compile(r"(\w+)\s+(\w+)\s*=\s*(.+?)(?:\s+because\s+(.+))?", re.DOTALL)
# A semicolon separates deviations only before the next cell: reasons may hold one too.
_NEXT_DEVIATION = re.compile(rf"[;\n]\s*(?=(?:{'|'.join(Cell)})\s+\w+\s*=)")

_NOTES = {
    "anchor": "The key tuple that owns memory; the first key is the tenant.",
    "typology": "Which kinds of memory each tier holds; behaviour follows from this.",
    "tiers": "What ends each tier, and what it holds.",
    "backend": "Where memory lives; checkpointer state stays in a schema of its own.",
    "retrieval": "How memory enters the agent's reasoning.",
    "injection": "Token budgets per tier, under one absolute ceiling.",
    "references": "What memory may only reference, never copy.",
    "gates": "What is transformed at which boundary, and why.",
    "visibility": "Who may do what, how far each origin is trusted, and how answers are hedged.",
    "leak_defence": "How the shadow guard is calibrated; its numbers are contracts.",
    "audit": "Universal: append-only. What an action rests on stays.",
}


def questions(answers: Answers | None = None) -> tuple[InterviewQuestion, ...]:
    """Every question that these answers lead to; defaults follow from what was said before.

    A default that follows from something not yet said is None.
    """
    return tuple(question for question, _ in _walk(answers or {}))


def next_question(answers: Answers) -> InterviewQuestion | None:
    """The first question that has no answer yet, or None when all are answered."""
    return next((question for question, _ in _walk(answers) if question.key not in answers), None)


def objection(question: InterviewQuestion, answer: str) -> str | None:
    """What is wrong with an answer on its own, if anything: told before the walk goes on."""
    if not answer.strip() and question.default is None:
        return "This has no default; an answer is needed."
    if question.choices is None:
        return None
    given = [part.strip() for part in answer.split(",")] if question.many else [answer.strip()]
    allowed = (*question.choices, "none", "") if question.many else question.choices
    wrong = [part for part in given if part not in allowed]
    if not wrong:
        return None
    close = nearest(wrong[0], question.choices)
    aid = f"Did you mean {close}? " if close else ""
    return f"{wrong[0]!r} is not a choice. {aid}Choose from: {', '.join(question.choices)}."


def build(answers: Answers) -> str:
    """The spec as commented YAML, known to be valid; raises `SpecInvalid` where it is not."""
    said = {question.key: answer for question, answer in _walk(answers)}
    problems = [
        SpecProblem(question.primitive, question.key, "No answer is given.", question.explanation)
        for question, answer in _walk(answers)
        if not answer and question.default is None
    ]
    for key in answers:
        if key not in said:
            remedy = meant(key, said).strip() or "Remove it."
            problems.append(SpecProblem(WHOLE, key, "No question asks for this.", remedy))
    if problems:
        raise SpecInvalid(problems, source="The interview")
    text = _commented_yaml(_spec_data(said))
    parse(text, "The interview")
    return text


def _walk(answers: Answers) -> Iterator[tuple[InterviewQuestion, str]]:
    """Each question with its answer, or with its default where none was given."""
    said: dict[str, str] = {}
    for question in questions_after(said):
        # Set before the next question is made: its default may follow from this answer.
        given = answers.get(question.key, "").strip()
        said[question.key] = given or question.default or ""
        yield question, said[question.key]


# --- answers to YAML ----------------------------------------------------------------------


def _spec_data(said: Answers) -> Data:
    """The data that a complete set of answers stands for."""
    data: Data = {key: said[key] for key in ("agent", "title", "purpose")}
    data["anchor"] = _anchor(said)
    data["typology"] = {tier.value: _words(said[f"typology.{tier}"]) for tier in Tier}
    data["tiers"] = {
        tier.value: {part: said[f"tiers.{tier}.{part}"] for part in ("boundary", "event", "holds")}
        for tier in Tier
    }
    data["backend"] = {
        part: said[f"backend.{part}"] for part in ("schema", "family", "checkpointer")
    }
    if not _words(said["references.canonical"], ";"):
        # Nothing to compare a note with: it may be as long as a message, and is found by pieces.
        data["backend"]["body_text_max"] = 100_000
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


def _commented_yaml(data: Data) -> str:
    """The data as YAML, each primitive under a comment; accepted defaults are comments too."""
    blocks = [_dump({key: data[key] for key in ("agent", "title", "purpose")})]
    for key, primitive in PRIMITIVES.items():
        note = f"{primitive}: the defaults, accepted by saying nothing."
        if key in data:
            note = _NOTES.get(key, "Deviations from the typology defaults, each with its reason.")
            note = f"{primitive}. {note}"
        comment = "".join(f"# {line}\n" for line in textwrap.wrap(note, 96))
        blocks.append(comment + (_dump({key: data[key]}) if key in data else ""))
    return "\n".join(blocks)


class _Dumper(yaml.SafeDumper):
    """Short lists on one line, everything else in indented blocks: as one would write it."""

    def increase_indent(self, flow: bool = False, indentless: bool = False) -> None:
        """Indent a list below its key; PyYAML would put it in the key's own column."""
        super().increase_indent(flow, False)

    def represent_sequence(
        self, tag: str, sequence: Any, flow_style: bool | None = None
    ) -> yaml.SequenceNode:
        """Put a list on one line if it holds only words, and few enough to fit."""
        words = all(isinstance(item, str) for item in sequence)
        short = words and sum(len(item) + 2 for item in sequence) < 80
        return super().represent_sequence(tag, sequence, flow_style=short)


def _dump(data: Data) -> str:
    """Data as YAML, with the keys in the order given."""
    return yaml.dump(data, Dumper=_Dumper, sort_keys=False, allow_unicode=True, width=96)


def _anchor(said: Answers) -> Data:
    """The `anchor` section: keys and their types, and the root and provenance if there are any."""
    nullable = _words(said["anchor.nullable"])
    keys = []
    for word in _words(said["anchor.keys"]):
        name, _, kind = (part.strip() for part in word.partition(":"))
        key: Data = {"name": name, "type": kind or "uuid"}
        keys.append({**key, "nullable_for_queries": True} if name in nullable else key)
    anchor: Data = {"keys": keys}
    root = said["anchor.root"].split()
    if root != [NONE]:
        anchor["root"] = dict(zip(("noun", "table", "key"), root, strict=False))
    if provenance := _words(said["anchor.provenance"]):
        anchor["provenance"] = provenance
    return anchor


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
        "tiers": _pairs(said["retrieval.tiers"]),
        "envelope": envelope,
        "reranker": said["retrieval.reranker"],
    }


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
    for tier in Tier:
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
