"""Redaction: what the recognisers detect is removed from a text until they detect nothing more.

Recognisers see the text folded, as a reader sees it: a zero-width space inside a card number,
full-width digits or a no-break hyphen change nothing for a person and everything for a pattern.
What they detect is cut out of the text itself.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cached_property, lru_cache
from typing import NamedTuple, Protocol

from idetic.gates.crossing import give_way
from idetic.gates.first_look import signs

SECRET = "secret"  # noqa: S105 - the name of a kind
IDENTIFIER = "[identifier]"
# Any kind a recogniser may name, so that an adapter's placeholders are known as well.
PLACEHOLDER = re.compile(r"\[(?:identifier|[a-z]+(?: [a-z]+){0,3} removed)\]")

_CONTROL = re.compile(r"[^\t\n\r -~]")
# Letters and symbols by category that nevertheless show nothing: the Hangul fillers and the
# empty Braille cell.
_BLANK = frozenset("\u115f\u1160\u3164\uffa0\u2800")
_LINE_ENDS = frozenset("\x0b\x0c\x1c\x1d\x1e\x85\u2028\u2029")
_DASHES = frozenset("\u2212\u2043\u207b\u208b")  # minus signs and a bullet, not dashes by category


class Detection(NamedTuple):
    """A stretch of text to remove. An identifier is stripped without saying which kind it was."""

    start: int
    end: int
    kind: str
    identifier: bool = False

    @property
    def placeholder(self) -> str:
        """The text that stands in its place from now on."""
        return IDENTIFIER if self.identifier else f"[{self.kind.replace('_', ' ')} removed]"


class Recogniser(Protocol):
    """Detects what must not pass. Every detector is one, and so is the Presidio adapter."""

    def __call__(self, text: str, /) -> Iterable[Detection]:
        """The stretches of this text that must not pass, in any order."""
        ...


class Signed(NamedTuple):
    """A recogniser that finds nothing in a text without one of some signs (`first_look`)."""

    needs: int
    recogniser: Recogniser

    def __call__(self, text: str, /) -> Iterable[Detection]:
        """Ask the recogniser, whatever the text shows."""
        return self.recogniser(text)


def signed(needs: int, *recognisers: Recogniser) -> tuple[Recogniser, ...]:
    """Recognisers that all need one of the same signs."""
    return tuple(Signed(needs, one) for one in recognisers)


class Recognisers(tuple[Recogniser, ...]):
    """The recognisers of a boundary. Which of them a text's signs call for is worked out once."""

    @cached_property
    def _by_signs(self) -> dict[int, tuple[Recogniser, ...]]:
        return {}

    def called_for(self, shown: int) -> tuple[Recogniser, ...]:
        """Those that could find something in a text with these signs."""
        found = self._by_signs.get(shown)
        if found is None:
            called = (one for one in self if not isinstance(one, Signed) or one.needs & shown)
            # Bare: the look has been taken.
            found = tuple(one.recogniser if isinstance(one, Signed) else one for one in called)
            self._by_signs[shown] = found
        return found


def when(pieces: tuple[str, ...], recogniser: Recogniser) -> Recogniser:
    """A recogniser that is only asked when one of these pieces is in the text, as written here.

    A look for a piece costs less than 1 us in 300 characters, a regular expression 2 to 40.
    """

    def asked(text: str) -> Iterable[Detection]:
        """Ask the recogniser, if one of the pieces is there."""
        # A plain loop: `any` with a generator takes twice as long.
        for piece in pieces:
            if piece in text:
                return recogniser(text)
        return ()

    return asked


def each(pattern: re.Pattern[str], kind: str) -> Recogniser:
    """A recogniser of whatever matches an expression."""
    return lambda text: (Detection(*match.span(), kind) for match in pattern.finditer(text))


def redact(
    text: str, recognisers: Sequence[Recogniser], label: str = ""
) -> tuple[str, Counter[str]]:
    """The text without what the recognisers detect, and how much of each kind that was.

    `label` is read before the text and never removed: `{"password": …}` says what it holds.

    What is left beside a placeholder is looked at again, alone: that is how the next reader
    would see it. So a second pass detects nothing, whatever the recognisers do at their edges.
    The text itself is returned when nothing was detected.
    """
    if not isinstance(recognisers, Recognisers):
        recognisers = Recognisers(recognisers)
    counts: Counter[str] = Counter()
    before = f"{folded(label).text}: " if label else ""
    # Nearly every text holds nothing, and the rest is for those that do.
    if "[" not in text and not _detect(text, recognisers, before):
        return text, counts
    done: list[str] = []
    waiting = _cut(text, [(*match.span(), match[0]) for match in PLACEHOLDER.finditer(text)])
    while waiting:
        piece, settled = waiting.pop()
        detections = [] if settled or not piece else _detect(piece, recognisers, before)
        if not detections:
            done.append(piece)
            continue
        counts.update(one.kind for one in detections)
        waiting += _cut(piece, [(one.start, one.end, one.placeholder) for one in detections])
    return ("".join(done), counts) if counts else (text, counts)


def _cut(text: str, holes: Sequence[tuple[int, int, str]]) -> list[tuple[str, bool]]:
    """The text in pieces, last first; what fills a hole is settled and not looked at again."""
    pieces: list[tuple[str, bool]] = []
    here = 0
    for start, end, filling in holes:
        pieces += [(text[here:start], False), (filling, True)]
        here = end
    pieces.append((text[here:], False))
    return pieces[::-1]


def _detect(piece: str, recognisers: Recognisers, before: str) -> list[Detection]:
    """What the recognisers find in the folded text, as stretches of the original, merged."""
    as_read = folded(piece)
    text = before + as_read.text
    detections: list[Detection] = []
    for recognise in recognisers.called_for(signs(text)):
        give_way()
        detections += recognise(text)
    if before and detections:
        start = len(before)
        detections = [
            one._replace(start=max(0, one.start - start), end=one.end - start)
            for one in detections
            if one.end > start
        ]
    return _merged(map(as_read.original, detections)) if detections else []


def _merged(detections: Iterable[Detection]) -> list[Detection]:
    """Overlapping detections as one, so that nothing of any of them is left standing."""
    result: list[Detection] = []
    group: list[Detection] = []
    end = -1
    for one in sorted(detections):
        if group and one.start >= end:
            result.append(_union(group))
            group = []
        group.append(one)
        end = max(end, one.end)
    return [*result, _union(group)]


def _union(group: list[Detection]) -> Detection:
    """One detection for a group: a secret if any part is one, otherwise named by its longest part.

    An account number inside an IBAN is an IBAN. A typed kind goes before a bare identifier.
    """
    best = max(group, key=lambda d: (d.kind == SECRET, d.end - d.start, not d.identifier))
    return best._replace(start=group[0].start, end=max(one.end for one in group))


class FoldedText(NamedTuple):
    """A text as patterns see it, and where each of its characters stands in the original."""

    text: str
    offsets: list[int] | None

    def original(self, detection: Detection) -> Detection:
        """The detection in the text as it was given."""
        if self.offsets is None:
            return detection
        last = self.offsets[detection.end - 1]
        return detection._replace(start=self.offsets[detection.start], end=last + 1)


def folded(text: str) -> FoldedText:
    """The text as patterns see it; plain ASCII stays as it is."""
    if text.isascii() and (text.isprintable() or not _CONTROL.search(text)):
        return FoldedText(text, None)
    characters: list[str] = []
    offsets: list[int] = []
    for at, character in enumerate(text):
        shown = character if " " <= character <= "~" else _fold(character)
        characters.append(shown)
        offsets.extend([at] * len(shown))
    return FoldedText("".join(characters), offsets)


@lru_cache(maxsize=8192)
def _fold(character: str) -> str:
    """One character as patterns see it: plain, a few characters, or nothing."""
    if character in "\t\n\r":
        return character
    if character in _LINE_ENDS:
        return "\n"
    category = unicodedata.category(character)
    if category in ("Cf", "Mn", "Me", "Cc") or character in _BLANK:
        return ""
    if category == "Pd" or character in _DASHES:
        return "-"
    digit = unicodedata.decimal(character, None)
    if digit is not None:
        return str(digit)
    return "".join(map(_base, unicodedata.normalize("NFKC", character)))


def _base(character: str) -> str:
    """A Latin letter without its accents: `é` may be one character or two, and must not matter."""
    if unicodedata.category(character) == "Mn":
        return ""
    base = unicodedata.normalize("NFKD", character)[0]
    return base if base.isascii() else character
