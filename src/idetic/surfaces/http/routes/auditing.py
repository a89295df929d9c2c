"""Audit over HTTP: a chain's head, its verification, and what an action rested on."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from fastapi import Request, Response

from idetic.audit.chain import ChainHead
from idetic.audit.explanation import ActionExplanation, ActionRecord, ReadReceipt
from idetic.audit.findings import Verified
from idetic.surfaces.http.answers import Bound, answer, routes
from idetic.surfaces.http.bodies import VerifyBody
from idetic.surfaces.http.progress import STREAMED, progressing
from idetic.surfaces.http.routes.reading import Cursor, Limit
from idetic.surfaces.http.shapes import shape

router = routes("auditing")


@dataclass(frozen=True, slots=True)
class ActionPage:
    """Actions, newest first, and where the next page begins; null on the last."""

    actions: tuple[ActionRecord, ...]
    next_cursor: UUID | None


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


@router.get("/actions", response_model=shape(ActionPage), operation_id="actions")
async def actions(memory: Bound, limit: Limit = 100, cursor: Cursor = None) -> Response:
    """The actions that rest on this memory, newest first."""
    found = await memory.actions(limit=limit, before=cursor)
    following = found[-1].action_id if len(found) == limit else None
    return answer(ActionPage(tuple(found), following))


@router.get(
    "/entries/{entry_id}/readers",
    response_model=shape(list[ReadReceipt]),
    operation_id="readers",
)
async def readers(memory: Bound, entry_id: UUID, limit: Limit = 100) -> Response:
    """Who was shown an entry, newest first."""
    return answer(await memory.readers(entry_id, limit=limit))


@router.get(
    "/actions/{action_id}/explanation",
    response_model=shape(ActionExplanation),
    operation_id="explain_action",
)
async def explain_action(memory: Bound, action_id: UUID) -> Response:
    """What an action rested on, as it stood then, and everything behind that."""
    return answer(await memory.explain_action(action_id))
