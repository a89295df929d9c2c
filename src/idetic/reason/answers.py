"""What a reasoner said, read strictly: the form it must have, then whether it tells the truth.

A wrong form is `ReasonerMalformed` and may be repaired by asking again. An answer that rests on
what it was not given is `ReasonerLied` and is not asked for again.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC

from idetic.model import Claim, Decision

from .errors import ReasonerLied, ReasonerMalformed
from .figures import stated, supported
from .forms import ClaimForm, ConflictForm, MergeForm, SummaryForm, fitted
from .port import (
    ConflictAnswered,
    Evidence,
    MergeAnswered,
    MergeAsked,
    SummaryAnswered,
    SummaryAsked,
    Verdict,
)


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
    return ConflictAnswered(Verdict(form.verdict), form.why)


def _cited(cites: Iterable[str], given: Sequence[Evidence]) -> tuple[Evidence, ...]:
    known = {str(entry.id): entry for entry in given}
    asked = list(dict.fromkeys(cite.strip().lower() for cite in cites))
    if not asked:
        raise ReasonerMalformed("`cites` is empty; an answer must rest on at least one entry.")
    foreign = sum(cite not in known for cite in asked)
    if foreign:
        raise ReasonerLied(
            f"Of the {len(asked)} ids that the reasoner cites, {foreign} were not given to it."
        )
    return tuple(known[cite] for cite in asked)


def _no_invented_figures(texts: Iterable[str], cited: Sequence[Evidence]) -> None:
    evidence = frozenset[str]().union(*map(_evidence_figures, cited))
    invented = frozenset[str]().union(*map(stated, texts)) - evidence
    if invented:
        raise ReasonerLied(
            f"Of the figures that the reasoner states, {len(invented)} are in no cited entry."
        )


def _evidence_figures(entry: Evidence) -> frozenset[str]:
    claimed = entry.claim.as_dict().values() if entry.claim else ()
    figures = frozenset[str]().union(*map(supported, (entry.text, *claimed)))
    if entry.valid_at is None:
        return figures
    # Only the whole date, as the model was shown it: its parts would let small numbers pass.
    return figures | {entry.valid_at.astimezone(UTC).date().isoformat()}


def _true_claim(form: ClaimForm | None, cited: Sequence[Evidence]) -> Claim | None:
    # The key decides which claims a later write supersedes: it must not be made up.
    if form is None:
        return None
    for claim in (entry.claim for entry in cited if entry.claim):
        if (claim.subject.strip(), claim.attribute.strip()) == (form.subject, form.attribute):
            return Claim(claim.subject, claim.attribute, form.value)
    raise ReasonerLied("The reasoner makes a claim of which no cited entry speaks.")
