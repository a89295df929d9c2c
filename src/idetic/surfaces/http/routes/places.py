"""Sessions and interactions: opening, renewing, closing; and finding the place a request names."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from fastapi import Response

from idetic.errors import InputError
from idetic.evidence import Closed
from idetic.library.handles import Interaction, Memory, Session
from idetic.surfaces.http.answers import Bound, answer, routes
from idetic.surfaces.http.bodies import CloseBody, OpenBody
from idetic.surfaces.http.shapes import shape

router = routes("sessions")


@dataclass(frozen=True, slots=True)
class Opened:
    """A scope that is open, by its id."""

    id: UUID


def place_of(
    memory: Memory, session_id: UUID | None, interaction_id: UUID | None
) -> Memory | Session | Interaction:
    """Where a request takes place; whether that is still open is for the write to find out."""
    if session_id is None:
        if interaction_id is not None:
            raise InputError("An interaction_id goes with its session_id.")
        return memory
    session = memory.session(session_id).resume()
    return session if interaction_id is None else session.interaction(interaction_id).resume()


@router.post("/sessions", response_model=shape(Opened), operation_id="open_session")
async def open_session(memory: Bound, body: OpenBody) -> Response:
    """Open a session, or resume one that is open."""
    session = await memory.session(body.id).open()
    return answer({"id": session.id})


@router.post("/sessions/{session_id}/renew", status_code=204, operation_id="renew_session")
async def renew_session(memory: Bound, session_id: UUID) -> Response:
    """Say that a session is alive although nothing is written; else its lease runs out."""
    await memory.session(session_id).resume().renew()
    return Response(status_code=204)


@router.post(
    "/sessions/{session_id}/close", response_model=shape(Closed), operation_id="close_session"
)
async def close_session(memory: Bound, session_id: UUID, body: CloseBody) -> Response:
    """End a session: what it holds is promoted or goes. Closing twice is fine."""
    return answer(await memory.session(session_id).close(body.reason))


@router.post(
    "/sessions/{session_id}/interactions",
    response_model=shape(Opened),
    operation_id="open_interaction",
)
async def open_interaction(memory: Bound, session_id: UUID, body: OpenBody) -> Response:
    """Open an interaction within a session, or resume one that is open."""
    turn = await memory.session(session_id).interaction(body.id).open()
    return answer({"id": turn.id})


@router.post(
    "/sessions/{session_id}/interactions/{interaction_id}/renew",
    status_code=204,
    operation_id="renew_interaction",
)
async def renew_interaction(memory: Bound, session_id: UUID, interaction_id: UUID) -> Response:
    """Say that an interaction is alive although nothing is written."""
    turn = memory.session(session_id).interaction(interaction_id)
    await turn.resume().renew()
    return Response(status_code=204)


@router.post(
    "/sessions/{session_id}/interactions/{interaction_id}/close",
    response_model=shape(Closed),
    operation_id="close_interaction",
)
async def close_interaction(
    memory: Bound, session_id: UUID, interaction_id: UUID, body: CloseBody
) -> Response:
    """End an interaction: what it holds is compounded into its session."""
    return answer(await memory.session(session_id).interaction(interaction_id).close(body.reason))
