"""The question for claims: its instructions, and the check of each claim in the answer.

Unlike a merge, an answer holds many claims. One that is not true to what it cites is refused alone,
with a reason that repeats nothing of it; the others stand.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Sequence

from .port import (
    ClaimsAnswered,
    ClaimsAsked,
    ReasonedClaim,
    ReasonerError,
    ReasonerLied,
    ReasonerMalformed,
    ShownEntry,
)
from .questions import (
    ClaimPart,
    Form,
    ReasonerQuestion,
    StatedText,
    cited_of,
    fitted,
    no_invented_figures,
)

# More than this is a list of everything, and no reading.
MOST_CLAIMS = 100

_DRAW = """\
Each entry is one turn of a conversation: who spoke, a colon, what they said. List, as `claims`, \
what speakers say of themselves and how they want things done. Take only what is stated as a fact \
that holds: nothing from questions, wishes, conditions, jokes, quotations, or what others said. \
An empty list is a good answer.
For each claim:
- `subject`: the speaker's name, as it stands before the colon.
- `attribute`: one of the kinds below, exactly as written.
- `detail`: for kinds marked with a colon, what the claim is about; else an empty string.
- `value`: the value; an empty string for a kind with a detail that needs none.
- `negated`: true if the speaker denies it.
- `when`: the words that say since when it holds, copied from the entry; null without any.
- `quote`: the words that it rests on, copied from one entry, letter for letter.
- `cites`: the `id` of the entries it rests on.
Kinds:
"""


class DrawnForm(Form):
    """A claim as it is asked for."""

    subject: ClaimPart
    attribute: ClaimPart
    detail: str
    value: str
    negated: bool
    when: str | None
    quote: StatedText
    cites: list[str]


class ClaimsForm(Form):
    """The answer to `ClaimsAsked` as it is asked for."""

    claims: list[DrawnForm]


def claims_question(asked: ClaimsAsked) -> ReasonerQuestion:
    """The question for claims, ready for a model."""
    kinds = "".join(f"- {name}: {meaning}\n" for name, meaning in asked.kinds.items())
    return ReasonerQuestion("claims", _DRAW + kinds, asked.entries, ClaimsForm)


def read_claims(content: str, asked: ClaimsAsked) -> ClaimsAnswered:
    """The answer, if it has the form: each claim taken or refused."""
    form = fitted(ClaimsForm, content)
    if len(form.claims) > MOST_CLAIMS:
        raise ReasonerMalformed(f"There are more than {MOST_CLAIMS} claims.")
    claims: list[ReasonedClaim] = []
    refused: list[str] = []
    for each in form.claims:
        try:
            claims.append(_true(each, asked))
        except ReasonerError as error:
            refused.append(error.message)
    return ClaimsAnswered(tuple(claims), tuple(refused))


def _true(form: DrawnForm, asked: ClaimsAsked) -> ReasonedClaim:
    """A claim whose kind was asked for, and whose words, figures and names its entries hold."""
    if form.attribute not in asked.kinds:
        raise ReasonerLied("The claim is of a kind that was not asked for.")
    cited = cited_of(form.cites, asked.entries)
    texts = (form.subject, form.detail, form.value)
    no_invented_figures(texts, cited)
    _no_invented_names(texts, cited)
    _quoted("quote", form.quote, cited)
    if form.when is not None:
        _quoted("when", form.when, cited)
    _no_invented_words((form.detail, form.value), cited)
    parts = (form.subject, form.attribute, form.detail.strip(), form.value.strip())
    return ReasonedClaim(*parts, form.negated, form.when, form.quote, tuple(e.id for e in cited))


_WORDS = re.compile(r"[^\W\d_]+(?:['\u2019-][^\W\d_]+)*")
# What a value may add to the words of an entry: it tells how, and names nothing.
_FREE = frozenset(
    "yes no a an the to of in at for and or my their always never please from now".split()
)


def _folded(text: str) -> str:
    """A text as it is compared: case, width, spacing and kinds of quotes make no difference."""
    plain = unicodedata.normalize("NFKC", text).replace("\u2019", "'").replace("\u2018", "'")
    return " ".join(plain.replace("\u201c", '"').replace("\u201d", '"').casefold().split())


def _stems(text: str) -> frozenset[str]:
    """The words of a text, each without an ending that names and things take."""
    words = (word.removesuffix("'s") for word in _WORDS.findall(_folded(text)))
    return frozenset(word.removesuffix("s") for word in words)


def _evidence(cited: Sequence[ShownEntry]) -> frozenset[str]:
    """The words that the cited entries hold."""
    return frozenset[str]().union(*(_stems(entry.text) for entry in cited))


def _no_invented_names(texts: Sequence[str], cited: Sequence[ShownEntry]) -> None:
    """Refuse a claim with a name that no cited entry holds: a word with a capital."""
    known = _evidence(cited)
    named = [w for text in texts for w in _WORDS.findall(text) if w[0].isupper()]
    invented = sum(not _stems(word) <= known for word in named)
    if invented:
        raise ReasonerLied(f"Of the names that the claim holds, {invented} are in no cited entry.")


def _no_invented_words(parts: Sequence[str], cited: Sequence[ShownEntry]) -> None:
    """Refuse a detail or a value of which the cited entries hold no word at all."""
    known = _evidence(cited)
    for part in parts:
        words = _stems(part) - {word.removesuffix("s") for word in _FREE}
        if words and not words & known:
            raise ReasonerLied("The claim is about something that no cited entry mentions.")


def _quoted(field: str, words: str, cited: Sequence[ShownEntry]) -> None:
    """Refuse words that are said to stand in an entry and stand in none."""
    if not any(_folded(words) in _folded(entry.text) for entry in cited):
        raise ReasonerLied(f"The words in `{field}` are in no cited entry.")
