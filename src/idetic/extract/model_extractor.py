"""Claims drawn by a model behind the reasoner's port: checked, counted, capped.

A model names the kind, the words and the turns. Everything else is ours: key and sentence are made
by `attributes`, a date by `idetic.dates`. So no sentence of a model's enters memory.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from uuid import UUID

from idetic.dates import date_windows
from idetic.errors import InputError
from idetic.model import Claim
from idetic.reason.port import (
    ClaimReasoner,
    ClaimsAnswered,
    ClaimsAsked,
    ReasonedClaim,
    ReasonerCapped,
    ReasonerError,
    ReasonerUnavailable,
    ShownEntry,
    Usage,
)

from .attributes import KINDS, NO, PART_MAX, YES
from .port import ExtractedClaim, Extraction, RefusedClaim, Turn, plain_words

# The kinds as a model is told of them; the colon says that a detail is asked for.
_TOLD = {
    kind.name: f"{kind.meaning}{' (with a detail: …)' if kind.many else ''}"
    for kind in KINDS.values()
}


class ModelExtractor:
    """An `Extractor` that asks a reasoner, some turns at a time.

    What a run may take is the reasoner's meter's. A cap that is reached, or a server that is away,
    ends the run; the turns that were not read are named.
    """

    version = "1"

    def __init__(self, reasoner: ClaimReasoner, *, name: str = "model", turns_per_call: int = 20):
        if turns_per_call < 1:
            raise InputError("turns_per_call must be a whole number above 0.")
        self.name = name
        self._reasoner, self._per_call = reasoner, turns_per_call

    async def extract(self, turns: Sequence[Turn]) -> Extraction:
        """The claims of these turns, as far as they are true to them."""
        people = [turn for turn in turns if turn.of_a_person and turn.text.strip()]
        found = Extraction()
        for start in range(0, len(people), self._per_call):
            batch = people[start : start + self._per_call]
            try:
                found += await self._read(batch)
            except (ReasonerCapped, ReasonerUnavailable) as error:
                left = tuple(turn.id for turn in people[start:])
                spent = error.usage or Usage()
                return found + Extraction(usage=spent, unread=left, stopped=error.message)
        return found

    async def _read(self, turns: Sequence[Turn]) -> Extraction:
        """What comes of one call; an answer that cannot be read is a refusal of all of it."""
        shown = tuple(
            ShownEntry(turn.id, f"{turn.subject}: {turn.text}", valid_at=turn.moment)
            for turn in turns
        )
        try:
            answer = await self._reasoner.draw(ClaimsAsked(shown, _TOLD))
        except (ReasonerCapped, ReasonerUnavailable):
            raise
        except ReasonerError as error:
            refused = RefusedClaim(error.message, tuple(turn.id for turn in turns))
            return Extraction(refused=(refused,), usage=error.usage or Usage())
        return _taken(answer, {turn.id: turn for turn in turns})


def _taken(answer: ClaimsAnswered, turns: Mapping[UUID, Turn]) -> Extraction:
    """An answer's claims in our form; what has none is refused as well."""
    claims: dict[tuple[Claim, tuple[UUID, ...]], ExtractedClaim] = {}
    refused = [RefusedClaim(reason) for reason in answer.refused]
    for stated in answer.claims:
        cited = [turns[cite] for cite in stated.cites]
        wrong = next(_faults(stated, cited), None)
        if wrong is None:
            claim = _claim(stated, cited)
            claims.setdefault((claim.claim.normalised(), claim.turns), claim)
        else:
            refused.append(RefusedClaim(wrong, stated.cites))
    return Extraction(tuple(claims.values()), tuple(refused), answer.usage)


def _faults(stated: ReasonedClaim, cited: Sequence[Turn]) -> Iterator[str]:
    """What keeps a claim out, although its words stand in its turns."""
    kind = KINDS[stated.attribute]
    # All of them: else somebody's words could be pinned on another who spoke too.
    if any(plain_words(turn.subject) != plain_words(stated.subject) for turn in cited):
        yield "The claim is about somebody who did not say it."
    if not any(plain_words(stated.quote) in plain_words(turn.text) for turn in cited):
        yield "The quotation is not in what was said."
    if not (stated.detail if kind.many else stated.value):
        yield "The claim lacks what it is about."
    if stated.negated and kind.denied is None:
        yield "What is denied takes the place of nothing that may be known."
    if max(map(len, (stated.subject, stated.detail, stated.value))) > PART_MAX // 2:
        yield "The claim is too long to be one."


def _claim(stated: ReasonedClaim, cited: Sequence[Turn]) -> ExtractedClaim:
    """A claim under the key that the rules would give it."""
    kind, subject = KINDS[stated.attribute], cited[0].subject
    value = "" if kind.many and stated.value.casefold() in (YES, NO) else stated.value
    claim = kind.claim(subject, value, stated.detail, negated=stated.negated)
    text = kind.sentence(subject, value, stated.detail, negated=stated.negated)
    windows = date_windows(stated.when, cited[0].moment) if stated.when else ()
    since = windows[0].since if len(windows) == 1 else None
    held = since if since is not None and since <= cited[0].moment else None
    return ExtractedClaim(
        claim, kind.typology, text, stated.cites, stated.quote, held, stated.negated
    )
