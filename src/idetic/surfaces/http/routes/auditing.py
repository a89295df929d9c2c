"""Audit over HTTP: a chain's head, its verification, and what an action rested on."""

from __future__ import annotations

from uuid import UUID

from fastapi import Request, Response

from idetic.audit.explanation import ActionExplanation
from idetic.audit.findings import Verified
from idetic.audit.head import ChainHead
from idetic.surfaces.http.answers import Bound, answer, routes
from idetic.surfaces.http.bodies import VerifyBody
from idetic.surfaces.http.progress import STREAMED, progressing
from idetic.surfaces.http.shapes import shape

router = routes("auditing")


@router.get("/chain/head", response_model=shape(ChainHead), operation_id="head")
async def head(memory: Bound) -> Response:
    """Where the chain of this anchor ends now: keep it elsewhere, to verify against."""
    return answer(await memory.head())


@router.post(
    "/chain/verify", response_model=shape(Verified), responses=STREAMED, operation_id="verify"
)
async def verify(request: Request, memory: Bound, body: VerifyBody) -> Response:
    """Check every link of the chain, its end, and that entries say what they said."""
    kept = None if body.head is None else ChainHead.from_data(body.head.model_dump())
    return await progressing(request, lambda told: memory.verify(kept, told))


@router.get(
    "/actions/{action_id}/explanation",
    response_model=shape(ActionExplanation),
    operation_id="explain_action",
)
async def explain_action(memory: Bound, action_id: UUID) -> Response:
    """What an action rested on, as it stood then, and everything behind that."""
    return answer(await memory.explain_action(action_id))
