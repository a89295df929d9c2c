"""Two users of an assistant for the console's tests, and a key that covers both."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from idetic import Claim, Idetic, Principal
from idetic.library.handles import Memory

ROME, LISBON = "Ada lives in Rome.", "Ada lives in Lisbon."
TEA = "Ada wants answers in one sentence."
PEANUTS = "Ada is allergic to peanuts."
SAID = "I moved to Lisbon last week, and I am allergic to peanuts."


@dataclass(frozen=True)
class People:
    """Ada, about whom much is known, and Bo, about whom there is one sentence."""

    tenant: str
    ada: Memory
    bo: Memory
    lisbon: UUID
    peanuts: UUID
    conversation: UUID
    action: UUID

    async def key(self, db: Idetic, user: str | None = None, **options: object) -> str:
        """A key of the assistant's operator, for one user or for all of them."""
        made = await db.keys.create(
            agent="assistant_agent",
            principal=Principal.operator("olga"),
            anchor={"tenant_id": self.tenant, "user_id": user},
            **options,  # type: ignore[arg-type]
        )
        return made.key


async def people(db: Idetic) -> People:
    """Conversations, facts that rest on them, a change of mind, a wish, an action."""
    agent, tenant = await db.agent("assistant_agent"), f"shop-{uuid4().hex[:6]}"
    olga = Principal.operator("olga")
    ada = agent.bind(principal=olga, tenant_id=tenant, user_id="Ada")
    bo = agent.bind(principal=olga, tenant_id=tenant, user_id="Bo")
    now: datetime = db.clock.now()
    (first,) = await ada.add("I live in Rome.", speaker="Ada", at=now - timedelta(days=3))
    await ada.fact(ROME, Claim("Ada", "home", "Rome"), evidence=first.entry_ids)
    (said,) = await ada.add(SAID, speaker="Ada", at=now - timedelta(minutes=20))
    moved = await ada.fact(LISBON, Claim("Ada", "home", "Lisbon"), evidence=said.entry_ids)
    nuts = await ada.fact(PEANUTS, Claim("Ada", "allergy", "peanuts"), evidence=said.entry_ids)
    await ada.prefer(TEA, claim=Claim("Ada", "answers", "one sentence"))
    await bo.add("I keep bees.", speaker="Bo")
    await ada.context("Where does Ada live?")
    assert moved.entry_id is not None
    assert nuts.entry_id is not None
    action = uuid4()
    await ada.link_action(action, "assistant_message", [moved.entry_id])
    return People(tenant, ada, bo, moved.entry_id, nuts.entry_id, said.conversation, action)
