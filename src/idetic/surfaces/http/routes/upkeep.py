"""Upkeep: what workers do by themselves, for a principal that wants it now."""

from __future__ import annotations

from fastapi import Request, Response

from idetic.evidence import Closed, Decided
from idetic.lifecycle.canonical_rescan import Rescanned
from idetic.lifecycle.consolidation import Consolidated
from idetic.lifecycle.retention import Disposed, Reconciled
from idetic.recall.embedding import Embedded
from idetic.surfaces.http.answers import Bound, answer, routes
from idetic.surfaces.http.bodies import RescanBody
from idetic.surfaces.http.progress import STREAMED, progressing
from idetic.surfaces.http.shapes import shape

router = routes("upkeep")


@router.post("/embed", response_model=shape(Embedded), responses=STREAMED, operation_id="embed")
async def embed(request: Request, memory: Bound) -> Response:
    """Give every pending entry of this anchor its vector, in batches that each commit."""
    return await progressing(request, memory.embed)


@router.post("/reembed", response_model=shape(Embedded), responses=STREAMED, operation_id="reembed")
async def reembed(request: Request, memory: Bound) -> Response:
    """Embed the whole tenant with the loaded model, then switch recalls to it."""
    return await progressing(request, memory.reembed)


@router.post("/candidates/promote", response_model=shape(list[Decided]), operation_id="promote")
async def promote(memory: Bound) -> Response:
    """Promote every candidate of this anchor whose gates pass by now."""
    return answer(await memory.promote())


@router.post("/recover", response_model=shape(list[Closed]), operation_id="recover")
async def recover(memory: Bound) -> Response:
    """Close the scopes of this anchor whose process went away."""
    return answer(await memory.recover())


@router.post("/consolidate", response_model=shape(Consolidated), operation_id="consolidate")
async def consolidate(memory: Bound) -> Response:
    """Merge facts that changed since the last run."""
    return answer(await memory.consolidate())


@router.post("/rescan", response_model=shape(Rescanned), operation_id="rescan")
async def rescan(memory: Bound, body: RescanBody) -> Response:
    """Bring memory in line with changed canonical content."""
    return answer(await memory.rescan(body.noun, body.ref_id))


@router.post("/reconcile", response_model=shape(Reconciled), operation_id="reconcile")
async def reconcile(memory: Bound) -> Response:
    """What is kept in which state, and what should not be there; nothing is cleaned up."""
    return answer(await memory.reconcile())


@router.post(
    "/tombstones/dispose", response_model=shape(Disposed), operation_id="dispose_tombstones"
)
async def dispose_tombstones(memory: Bound) -> Response:
    """Tombstone what outlived its TTL, and empty the tombstones whose grace is over."""
    return answer(await memory.dispose_tombstones())


@router.post("/dispositions/mark", response_model=int, operation_id="mark_due")
async def mark_due(memory: Bound) -> Response:
    """Say in the history of every entry that fell due that it waits; how many there are."""
    return answer(await memory.mark_due())
