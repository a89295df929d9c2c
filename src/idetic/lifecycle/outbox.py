"""The outbox: how proposals and revision signals reach another context.

The chain itself is the outbox: the links that tell of proposals, in the order of their positions.
What was handed over is acknowledged by a link of its own, so nothing is lost between the two: a
message comes at least once, and those of one anchor in their order.
"""

from __future__ import annotations

from typing import Annotated, Protocol

from idetic.engine import Binding
from idetic.errors import InputError
from idetic.evidence import OutboxMessage
from idetic.model import Capability, Receipt
from idetic.store.proposal_rows import acknowledged, outbox_messages
from idetic.store.steps import LinkStep
from idetic.verbs.arguments import Between, Limit
from idetic.verbs.declaration import get, post, verb

_RECEIVER = (Capability.RESOLVE, Capability.MAINTAIN)


class ProposalReceiver(Protocol):
    """Another context that takes proposals; whoever composes the process injects it."""

    async def receive(self, message: OutboxMessage) -> None:
        """Take one message. To return acknowledges it; to raise has it come again.

        One that came before may come again: its proposal and position tell it.
        """
        ...


@verb(
    capability=_RECEIVER,
    whole_anchor=True,
    http=get("/outbox", "governing"),
    examples=("idetic outbox {scope} --json",),
)
async def outbox(binding: Binding, *, limit: Limit = 100) -> list[OutboxMessage]:
    """List the messages that their receiver has not acknowledged, in their order."""
    if not binding.spec.proposes:
        return []
    async with binding.look() as tx:
        return await outbox_messages(tx, limit)


@verb(
    capability=_RECEIVER,
    writes=True,
    http=post("/outbox/acknowledge", "governing"),
    examples=("idetic acknowledge 42 {scope}",),
    describes={"position": "The position of the last message that the receiver processed."},
)
async def acknowledge(binding: Binding, position: Annotated[int, Between(1, 2**63 - 1)]) -> Receipt:
    """Acknowledge the messages of the outbox up to a position, so they are not sent again."""
    async with binding.hold() as tx:
        waiting = await outbox_messages(tx, 1_000) if binding.spec.proposes else []
        reached = await acknowledged(tx) if binding.spec.proposes else 0
        if position > reached and position not in [one.position for one in waiting]:
            raise InputError(
                f"No message of the outbox has position {position}.",
                remedy="Give the `position` of a message that `outbox` lists.",
            )
        told = {"through": max(position, reached)}
        step = LinkStep("delivered", "the receiver acknowledged it", detail=told)
        return (await binding.settle(tx, [step]))[0]
