"""Reading a reasoner's answer strictly: first its form, then whether it is true to the entries.

A wrong form is `ReasonerMalformed` and may be repaired by asking again. An answer that rests on
what it was not given is `ReasonerLied` and is not asked for again. The figures that a text states
are compared by value ("10,000" is 10000, "1.50" is 1.5, an ISO date is one figure), with the letter
that scales them ("10k"), and English number words by the number they mean. Units are not compared,
nor are number words of other languages.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from datetime import UTC

from idetic.model import Claim, Decision

from .port import (
    ConflictAnswered,
    ConflictVerdict,
    MergeAnswered,
    MergeAsked,
    ReasonerLied,
    ReasonerMalformed,
    ShownEntry,
    SummaryAnswered,
    SummaryAsked,
)
from .questions import ClaimForm, ConflictForm, MergeForm, SummaryForm, fitted


def read_merge(content: str, asked: MergeAsked) -> MergeAnswered:
    """The answer, if it has the form and is true to the entries."""
    form = fitted(MergeForm, content)
    cited = _cited(form.cites, asked.entries)
    claim = _true_claim(form.claim, cited)
    _no_invented_figures([form.text or "", claim.value if claim else ""], cited)
    decision = Decision(form.decision)
    return MergeAnswered(decision, form.text, claim, tuple(e.id for e in cited), form.why)


def read_summary(content: str, asked: SummaryAsked) -> SummaryAnswered:
    """The answer, if it has the form, the length asked for, and is true to the entries."""
    form = fitted(SummaryForm, content)
    if len(form.text) > asked.max_chars:
        raise ReasonerMalformed(f"`text` is longer than {asked.max_chars:,} characters.")
    cited = _cited(form.cites, asked.entries)
    _no_invented_figures([form.text], cited)
    return SummaryAnswered(form.text, tuple(entry.id for entry in cited), form.why)


def read_conflict(content: str) -> ConflictAnswered:
    """The verdict, if it has the form."""
    form = fitted(ConflictForm, content)
    return ConflictAnswered(ConflictVerdict(form.verdict), form.why)


def _cited(cites: Iterable[str], given: Sequence[ShownEntry]) -> tuple[ShownEntry, ...]:
    """The entries that an answer cites: at least one, and none that was not given."""
    known = {str(entry.id): entry for entry in given}
    asked = list(dict.fromkeys(cite.strip().lower() for cite in cites))
    if not asked:
        raise ReasonerMalformed("`cites` is empty; an answer must rest on at least one entry.")
    # Counted and not quoted: a reasoner's error never repeats its answer.
    foreign = sum(cite not in known for cite in asked)
    if foreign:
        raise ReasonerLied(
            f"Of the {len(asked)} ids that the reasoner cites, {foreign} were not given to it."
        )
    return tuple(known[cite] for cite in asked)


def _no_invented_figures(texts: Iterable[str], cited: Sequence[ShownEntry]) -> None:
    """Refuse texts that state a figure which no cited entry holds."""
    evidence = frozenset[str]().union(*map(_evidence_figures, cited))
    invented = frozenset[str]().union(*map(stated, texts)) - evidence
    if invented:
        raise ReasonerLied(
            f"Of the figures that the reasoner states, {len(invented)} are in no cited entry."
        )


def _evidence_figures(entry: ShownEntry) -> frozenset[str]:
    """The figures that an entry is evidence for: of its text, its claim, its date."""
    claimed = entry.claim.as_dict().values() if entry.claim else ()
    figures = frozenset[str]().union(*map(supported, (entry.text, *claimed)))
    if entry.valid_at is None:
        return figures
    # Only the whole date, as the model was shown it: its parts would let small numbers pass.
    return figures | {entry.valid_at.astimezone(UTC).date().isoformat()}


def _true_claim(form: ClaimForm | None, cited: Sequence[ShownEntry]) -> Claim | None:
    """The claim under a cited entry's own key, or None; any other key is refused."""
    # The key decides which claims a later write supersedes: it must not be made up.
    if form is None:
        return None
    for claim in (entry.claim for entry in cited if entry.claim):
        if (claim.subject.strip(), claim.attribute.strip()) == (form.subject, form.attribute):
            return Claim(claim.subject, claim.attribute, form.value)
    raise ReasonerLied("The reasoner makes a claim of which no cited entry speaks.")


# --- figures ------------------------------------------------------------------------------

_ONES = (
    "zero one two three four five six seven eight nine ten eleven twelve thirteen fourteen "
    "fifteen sixteen seventeen eighteen nineteen twenty"
)
_TENS = "thirty forty fifty sixty seventy eighty ninety"
_WORDS = {word: str(n) for n, word in enumerate(_ONES.split())} | {
    word: str(n * 10) for n, word in enumerate(_TENS.split(), start=3)
}
_POWERS = "dozen|hundred|thousand|million|billion|trillion"

# "one" is mostly a pronoun, and "ten" a common word of Polish and Dutch: as evidence they count,
# as an assertion they do not.
_AMBIGUOUS = frozenset({"one", "ten"})

_FIGURE = re.compile(
    r"(?P<date>(?<!\d)\d{4}-\d\d-\d\d(?!\d))"
    # A minus is a sign only where a number can begin; elsewhere it is a range or a hyphen.
    r"|(?P<sign>(?<![^\s(])[-\u2212])?(?P<number>\d+(?:[.,'\u2019]\d+)*)(?P<scale>(?:[kKMB]|bn)\b)?"
    rf"|\b(?i:(?P<word>{'|'.join(_WORDS)})|(?P<power>{_POWERS})s?)\b"
)
_THOUSANDS = re.compile(r"\d{1,3}(?:[,'\u2019]\d{3})+(?:\.\d+)?")
_DECIMAL = re.compile(r"(\d+)[.,](\d+)")


def stated(text: str) -> frozenset[str]:
    """The figures that a text asserts."""
    return frozenset(
        _value(found)
        for found in _found(text)
        if not (found["word"] and found["word"].lower() in _AMBIGUOUS)
    )


def supported(text: str) -> frozenset[str]:
    """The figures that a text is evidence for: every one of them, and the parts of a date."""
    found = list(_found(text))
    parts = (part for each in found if each["date"] for part in each["date"].split("-"))
    return frozenset(map(_value, found)) | frozenset(map(_number, parts))


def _found(text: str) -> Iterator[re.Match[str]]:
    """The figures in a text, in digits of any script or in words."""
    # Compatibility forms and the digits of every script become the plain ones.
    folded = unicodedata.normalize("NFKC", text)
    plain = (str(unicodedata.decimal(c)) if c.isdecimal() else c for c in folded)
    return _FIGURE.finditer("".join(plain))


def _value(found: re.Match[str]) -> str:
    """A figure in the one form in which figures are compared."""
    if found["number"]:
        sign, scale = "-" if found["sign"] else "", (found["scale"] or "").lower()
        return f"{sign}{_number(found['number'])}{scale}"
    if found["word"]:
        return _WORDS[found["word"].lower()]
    return str(found["date"] or found["power"].lower())


def _number(digits: str) -> str:
    """A number without what does not change it; as text, since no figure is too long for that."""
    if _THOUSANDS.fullmatch(digits):
        digits = re.sub(r"[,'\u2019]", "", digits)
    point = _DECIMAL.fullmatch(digits)
    if point:
        whole, fraction = point[1].lstrip("0") or "0", point[2].rstrip("0")
        return f"{whole}.{fraction}" if fraction else whole
    # Several separators make a version or an address, which is compared as it stands.
    return (digits.lstrip("0") or "0") if digits.isdecimal() else digits
