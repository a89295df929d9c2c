"""Claims drawn by rules: English, no model, precision before recall."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime

from idetic.dates import date_windows

from .attributes import PART_MAX
from .clauses import Sentence, sentences
from .phrases import DENIED_END, LIST_JOINTS, SAME, list_pattern
from .port import ExtractedClaim, Extraction, Turn, plain_signs
from .wording import Wording
from .wordings import wordings

_ARTICLES = re.compile(
    r"^(?:(?:a )?good|a|an|some|any|all kinds of|lots of)\s+(?=\w)", re.IGNORECASE
)
# What half a phrase ends with: "spending time (with …)", "the idea".
_HALF = re.compile(
    r"(?:\b(?:time|up|out|around|into|about|of|to|idea|thought|being|having|getting|part|way|things?"
    r"|stuff|more|much|most|new|good|great|little|few|kind|kinds|sort|sorts|feeling|look|sound|part"
    r"|seeing|watching|making|taking|giving|working|playing|going|trying|using|doing|sharing"
    r"|in|on|at|for|from|by|a|an|the)|\ba \w+ing|\ba safe)$"
    r"|^(?:being|having|seeing|hearing|getting)\b",
    re.IGNORECASE,
)
_OVER = re.compile(r" (?:over|to|instead of|rather than|rather|and not) ", re.IGNORECASE)
# A capital at the beginning of a sentence, of what is no name: "Drawing flowers is my favourite".
_BEGINNING = re.compile(r"[A-Z][a-z]+(?:ing$| (?!of\b)[a-z])")
_VERB = re.compile(
    r"(?:go|play|have|try|want|need|make|eat|think|feel|do|get|love|like|enjoy|know|see|watch|read"
    r"|listen|work|live|plan|use|find|take|hate|always|often|never|really|usually)\b"
)
# "for three years" is when it began: three years ago.
_FOR = re.compile(
    r"\bfor (?:about |over |almost |the (?:last|past) )?"
    r"((?:[a-z]+|\d+) (?:day|week|month|year)s?)\b"
)


class RuleExtractor:
    """An `Extractor` of fixed wordings; it asks nobody and costs nothing."""

    name = "rules"
    version = "2"

    async def extract(self, turns: Sequence[Turn]) -> Extraction:
        """The claims of these turns: what people said of themselves, in so many words."""
        return Extraction(tuple(claim for turn in turns for claim in claims_of(turn)))


@dataclass(frozen=True, slots=True)
class _Drawn:
    """One wording found in one sentence of a turn."""

    turn: Turn
    sentence: Sentence
    wording: Wording
    found: re.Match[str]

    def said(self, group: str) -> str:
        """The words of a group, as they stand in the turn."""
        if group not in self.wording.pattern.groupindex or self.found[group] is None:
            return ""
        start, end = (self.sentence.start + place for place in self.found.span(group))
        return plain_signs(self.turn.text[start:end]).strip(" '\"").rstrip(".,")

    @property
    def more(self) -> re.Match[str] | None:
        """The list that follows what it names, where one may."""
        if not self.wording.listed:
            return None
        return list_pattern().match(self.sentence.text, self.found.end())

    @property
    def listed(self) -> list[str]:
        """What a list names further. Joints within a quotation are covered, and join nothing."""
        if self.more is None:
            return []
        joints = [(0, 0), *(j.span() for j in LIST_JOINTS.finditer(self.more["more"]))]
        ends = [*(start for start, _ in joints[1:]), len(self.more["more"])]
        place = self.sentence.start + self.more.start()
        said = plain_signs(self.turn.text)
        spans = zip((end for _, end in joints), ends, strict=True)
        return [said[place + start : place + end].strip(" '\"") for start, end in spans]

    @property
    def end(self) -> int:
        """Where it ends in the sentence, a list's included."""
        return self.more.end() if self.more else self.found.end()

    @property
    def denies_all(self) -> bool:
        """Whether nothing follows that bounds a denial: "I don't eat meat on Fridays"."""
        return DENIED_END.match(self.sentence.text, self.end) is not None

    @property
    def quote(self) -> str:
        """The words it rests on, a list's included."""
        start = self.sentence.start
        return self.turn.text[start + self.found.start() : start + self.end].strip()


def claims_of(turn: Turn) -> Iterator[ExtractedClaim]:
    """The claims of one turn: of each key one, that of the last word about it."""
    if not turn.of_a_person:
        return
    lower = turn.text == turn.text.lower()
    last: dict[tuple[str, str], tuple[ExtractedClaim, int]] = {}
    for sentence in sentences(turn.text):
        for drawn in _found(turn, sentence, lower=lower):
            place = sentence.start + drawn.found.start()
            for claim in _claims(drawn):
                said = last.get(claim.claim.key)
                if said is None or _counts(claim, place, *said):
                    last[claim.claim.key] = claim, place
    yield from (claim for claim, _ in last.values())


def _counts(one: ExtractedClaim, place: int, other: ExtractedClaim, before: int) -> bool:
    """Whether one claim counts and not the other, which the same turn makes about the same key."""
    if one.ends is not other.ends:
        # Of a home the one that is; of a dog, that it died.
        return one.ends is (":" in one.claim.attribute)
    if one.valid_at and other.valid_at and one.valid_at != other.valid_at:
        return one.valid_at > other.valid_at
    return place > before and one.claim.value != other.claim.value


def _found(turn: Turn, sentence: Sentence, *, lower: bool) -> Iterator[_Drawn]:
    """The wordings in a sentence, each where a statement may begin, and no two in one place."""
    taken: list[tuple[int, int]] = []
    for wording in wordings():
        if wording.lower and not lower:
            continue
        for found in wording.pattern.finditer(sentence.text):
            apart = all(found.end() <= start or found.start() >= end for start, end in taken)
            drawn = _Drawn(turn, sentence, wording, found)
            if (apart or wording.shared) and _stands(drawn):
                taken += [] if wording.shared else [found.span()]
                yield drawn


def _stands(drawn: _Drawn) -> bool:
    """Whether this wording may stand at this place of this sentence."""
    wording, sentence, place = drawn.wording, drawn.sentence, drawn.found.start()
    instructs = wording.kind.name in ("instruction", "answer_language")
    if (sentence.past and not wording.ends) or (sentence.asks and instructs):
        return False
    if wording.negated and not (wording.ends or instructs) and not drawn.denies_all:
        return False
    if wording.first and not sentence.begins(place):
        return False
    return sentence.opens(place, within=wording.anywhere)


def _claims(drawn: _Drawn) -> Iterator[ExtractedClaim]:
    """The claims of a wording: of what it names, and of what is listed after it."""
    value = drawn.said("value") or drawn.wording.value
    detail = _bare(drawn.said("detail"), begins=drawn.wording.first) or drawn.wording.detail
    if drawn.wording.kind.name == "instruction":
        detail = detail[:1].lower() + detail[1:]
    if drawn.wording.kind.name in ("family", "pet"):
        value, detail = SAME.get(value.lower(), value), SAME.get(detail.lower(), detail)
    for each in (detail, *_listed(drawn, detail)):
        claim = _claim(drawn, value, each)
        if claim is not None:
            yield claim


def _claim(drawn: _Drawn, value: str, detail: str) -> ExtractedClaim | None:
    """One claim; None if what it says is empty, half a phrase, or too long to be one."""
    kind, turn = drawn.wording.kind, drawn.turn
    negated, ends = drawn.wording.negated, drawn.wording.ends
    if kind.name == "prefers":
        value, detail = _choice(value)
    if _HALF.search(detail) or not (detail if kind.many else value):
        return None
    claim = kind.claim(turn.subject, value, detail, negated=negated, ends=ends)
    if max(map(len, claim.as_dict().values())) > PART_MAX:
        return None
    text = kind.sentence(turn.subject, value, detail, negated=negated, ends=ends)
    return ExtractedClaim(
        claim, kind.typology, text, (turn.id,), drawn.quote, _since(drawn), negated, ends
    )


def _choice(preferred: str) -> tuple[str, str]:
    """What is preferred, and the choice: the same for "tea to coffee" and "coffee to tea"."""
    chosen, *others = _OVER.split(preferred, 1)
    return chosen, " or ".join(sorted((chosen, *others), key=str.casefold))


def _listed(drawn: _Drawn, first: str) -> Iterator[str]:
    """What follows a first thing: "hiking, painting and reading"."""
    if not first:
        return
    doing = first.split(maxsplit=1)[0].endswith("ing")
    for item in filter(None, drawn.listed):
        # Doings stand beside doings, things beside things: else a new clause has begun.
        if item.split()[0].endswith("ing") is doing and not _VERB.match(item):
            yield _bare(item)


def _bare(detail: str, *, begins: bool = False) -> str:
    """A detail without what stands before the thing itself, or a capital that only begins it."""
    detail = _ARTICLES.sub("", detail)
    begun = begins and _BEGINNING.match(detail)
    return detail[0].lower() + detail[1:] if begun else detail


def _since(drawn: _Drawn) -> datetime | None:
    """The time that the sentence names for what it says, resolved against the turn's moment."""
    text, moment = drawn.sentence.text.lower(), drawn.turn.moment
    windows = date_windows(_FOR.sub(r"\1 ago", text), moment)
    if len(windows) != 1 or windows[0].since > moment:
        return None
    window = windows[0]
    # Beside a state, a date says when it began only after "since".
    if not (drawn.wording.change or f"since {window.words.removeprefix('since ')}" in text):
        return None
    # "Three years ago" is a window around a moment; any other date begins with its first day.
    middle = window.words.endswith("ago")
    return window.since + (window.until - window.since) / 2 if middle else window.since
