"""Writing down: observations, preferences, and the actions that rest on them."""

from __future__ import annotations

from collections.abc import Sequence

from fastapi import Response

from idetic.model import Observation, Receipt
from idetic.surfaces.http.answers import Bound, IdempotencyKey, answer, routes
from idetic.surfaces.http.bodies import (
    ActionBody,
    BatchBody,
    BatchedBody,
    ObserveBody,
    PreferBody,
    PreferencesBody,
)
from idetic.surfaces.http.routes.places import place_of
from idetic.surfaces.http.shapes import shape

router = routes("writing")


@router.post("/observations", response_model=shape(Receipt), operation_id="observe")
async def observe(memory: Bound, body: ObserveBody, key: IdempotencyKey = None) -> Response:
    """Write down what happened. A refusal by the shadow guard is a problem with its receipt."""
    place = place_of(memory, body.session_id, body.interaction_id)
    receipt = await place.observe(
        body.text, **body.seen(), typology=body.typology, idempotency_key=key
    )
    return answer(receipt)


@router.post(
    "/observations/batch", response_model=shape(list[Receipt]), operation_id="observe_many"
)
async def observe_many(memory: Bound, body: BatchBody, key: IdempotencyKey = None) -> Response:
    """Write many observations in one transaction; what is refused comes back as REJECT.

    With an Idempotency-Key, each observation without a key of its own gets one made of that and
    its place in the list, so that a repeated batch writes nothing twice.
    """
    place = place_of(memory, body.session_id, body.interaction_id)
    seen = _numbered(body.observations, key)
    return answer(await place.observe_many(seen, typology=body.typology))


@router.post("/preferences", response_model=shape(Receipt), operation_id="prefer")
async def prefer(memory: Bound, body: PreferBody, key: IdempotencyKey = None) -> Response:
    """State how to do things. A preference supersedes the one with the same claim."""
    place = place_of(memory, body.session_id, body.interaction_id)
    return answer(await place.prefer(body.text, **body.stated(), idempotency_key=key))


@router.post("/preferences/batch", response_model=shape(list[Receipt]), operation_id="prefer_many")
async def prefer_many(memory: Bound, body: PreferencesBody, key: IdempotencyKey = None) -> Response:
    """State many preferences in one transaction; what is refused comes back as REJECT."""
    place = place_of(memory, body.session_id, body.interaction_id)
    return answer(await place.prefer_many(_numbered(body.preferences, key)))


def _numbered(given: Sequence[BatchedBody], key: str | None) -> list[Observation]:
    """Each with a key of its own, or one made of the request's and its place in the list."""
    return [
        each.observation(None if key is None else f"{key}/{number}")
        for number, each in enumerate(given)
    ]


@router.post("/actions", response_model=shape(Receipt), operation_id="link_action")
async def link_action(memory: Bound, body: ActionBody, key: IdempotencyKey = None) -> Response:
    """Record that an action rested on entries; they can then never be removed."""
    receipt = await memory.link_action(
        body.action_id, body.kind, body.entries, reason=body.reason, idempotency_key=key
    )
    return answer(receipt)
