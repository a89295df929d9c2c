"""Floors: what is too little to speak of, by the two values of relevance and the spec's answer."""

from __future__ import annotations

from dataclasses import dataclass, replace

from idetic.recall.hits import AppliedFloors, Recall
from idetic.spec.primitives import Floors

# From so many entries on floors count whole; before that the one of questions in proportion, and
# the one of hits not at all. The little that a fresh memory holds costs a prompt little, and is all
# that is known of somebody: "what can she eat?" is far from "I'm allergic to peanuts." by itself.
GROWN = 20
NOTHING_FOUND = "recall found nothing for this question"
NOTHING_KNOWN = "memory holds nothing about this question"
NOTHING_RELEVANT = "nothing that was recalled helps with this question"


@dataclass(frozen=True, slots=True)
class FloorOverride:
    """Floors of a process in the place of its specs'; None leaves a spec's answer."""

    question: float | None = None
    hit: float | None = None

    def over(self, floors: Floors) -> AppliedFloors:
        """A spec's floors as they hold in this process."""
        question = floors.question if self.question is None else self.question
        return AppliedFloors(question, floors.hit if self.hit is None else self.hit)


def above_floors(recall: Recall | None) -> tuple[Recall | None, str | None]:
    """What of a recall is worth telling, in its order; and if nothing is, why not.

    Where memory knows something by the floor of questions, its most relevant hit stays, however
    little it is. A value that could not be judged is below no floor.
    """
    if recall is None or not recall.hits:
        return recall, None if recall is None else NOTHING_FOUND
    floors, grown = recall.floors, min(1.0, recall.considered / GROWN)
    if recall.known is not None and recall.known < floors.question * grown:
        return replace(recall, hits=()), NOTHING_KNOWN
    values = [1.0 if hit.relevance is None else hit.relevance for hit in recall.hits]
    floor = floors.hit if grown == 1.0 else 0.0
    floor = min(floor, max(values)) if floors.question else floor
    kept = tuple(hit for hit, value in zip(recall.hits, values, strict=True) if value >= floor)
    return replace(recall, hits=kept), None if kept else NOTHING_RELEVANT
