"""Asking memory: recall, the context of a prompt, and an answer for those outside."""

from __future__ import annotations

from fastapi import Response

from idetic.library.answering import Answered
from idetic.recall.context import Context
from idetic.recall.hits import Recall
from idetic.surfaces.http.answers import Bound, answer, routes
from idetic.surfaces.http.bodies import AskBody, ContextBody, RecallBody
from idetic.surfaces.http.routes.places import place_of
from idetic.surfaces.http.shapes import shape

router = routes("asking")


@router.post("/recall", response_model=shape(Recall), operation_id="recall")
async def recall(memory: Bound, body: RecallBody) -> Response:
    """The best entries for a question, each with every signal's rank, value and share."""
    place = place_of(memory, body.session_id, body.interaction_id)
    found = await place.recall(
        body.query,
        limit=body.limit,
        envelope=body.envelope,
        tiers=body.tiers,
        typologies=body.typologies,
        origins=body.origins,
        min_trust=body.min_trust,
        as_of=body.as_of,
        include_archived=body.include_archived,
        include_candidates=body.include_candidates,
        where=body.where,
    )
    return answer(found)


@router.post("/context", response_model=shape(Context), operation_id="context")
async def context(memory: Bound, body: ContextBody) -> Response:
    """The prompt block for a question, under one ceiling; what it shows is recorded as read."""
    place = place_of(memory, body.session_id, body.interaction_id)
    made = await place.context(
        body.query,
        budget=body.budget,
        limit=body.limit,
        envelope=body.envelope,
        preview=body.preview,
    )
    return answer(made)


@router.post("/ask", response_model=shape(Answered), operation_id="ask")
async def ask(memory: Bound, body: AskBody) -> Response:
    """A hedged answer with its evidence, behind the gate of whoever asks; or "I don't know"."""
    return answer(await memory.ask(body.question))
