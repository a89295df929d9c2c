"""A small lived-in memory for the console's tests: everything a page shows is there once."""

from __future__ import annotations

from contextlib import suppress
from dataclasses import dataclass
from datetime import timedelta
from uuid import UUID, uuid4

from idetic import Claim, Observation, errors
from idetic.evidence import Closed
from idetic.library.handles import Memory
from idetic.model import Receipt
from tests.conftest import RULE_TEXT, World
from tests.support.voices import another, vouch

# What an attacker would store; shown letter by letter, or not at all.
MARKUP = (
    '<img src=x onerror="window.pwned = true"><script>window.pwned = true</script> '
    "{{ constructor }} **bold** [a](javascript:alert(1)) ${pwned}"
)
FACT = "Wires to the partner bank leave until 17:00."
CANDIDATE = "Repaired wires keep their first sign-off."
PREFERENCE = "Report a finding as one sentence with a count."


@dataclass(frozen=True)
class Seeded:
    """The ids of what was seeded, by what it is."""

    fact: UUID
    superseded: UUID
    candidate: UUID
    preference: UUID
    replaced: UUID
    markup: UUID
    action: UUID


async def seed(world: World, mark: str) -> Seeded:
    """Sessions, promotions, a change of mind, support, a contradiction, an action, a reading.

    The mark stands wherever a text can: it must be in no page of another tenant.
    """
    agent, operator = world.memory, world.operator
    superseded = await _fact(agent, world, "16:00", mark)
    fact = await _fact(agent, world, "17:00", mark)
    waits = Observation(CANDIDATE, {"topic": "wires"}, claim=Claim("repair", "sign-off", "kept"))
    candidate = _only(await _hear(agent, [waits]), "proposed")
    replaced = _entry(await _prefer(operator, "Report findings with every sample.", "full"))
    preference = _entry(await _prefer(operator, PREFERENCE, "brief"))
    markup = _entry(await operator.prefer(MARKUP))
    await operator.prefer(f"Feed the {mark}.", claim=Claim("bird", "name", mark))
    timetable = f"The bank's own timetable says so, and the {mark}."
    await vouch(operator, fact, notes=timetable)
    await agent.contradict(fact, world.rule, reason=f"The rule has no cut-off, says the {mark}.")
    action = uuid4()
    await operator.link_action(action, "published_decision", [fact, preference])
    with suppress(errors.ShadowRefused):
        async with agent.session() as session:
            await session.observe(RULE_TEXT)
    await agent.context("When do wires leave?")
    return Seeded(fact, superseded, candidate, preference, replaced, markup, action)


async def _prefer(operator: Memory, said: str, value: str) -> Receipt:
    return await operator.prefer(said, claim=Claim("findings", "detail", value))


async def _fact(agent: Memory, world: World, until: str, mark: str) -> UUID:
    """What three threads of two sessions said."""
    said = Observation(
        f"Wires to the partner bank leave until {until}.",
        {"topic": "payments/wires", "tags": ["cut-off", mark], "activity": "replay"},
        (world.rule,),
        Claim("partner bank", "cut-off", until),
        {"world_model_version": "2026.1"},
        valid_at=agent.agent.engine.clock.now() - timedelta(hours=1),
    )
    await _hear(agent, [said], [said])
    return _only(await _hear(agent, [said]), "promoted")


async def _hear(agent: Memory, *threads: list[Observation]) -> Closed:
    async with another(agent).session() as session:
        for said in threads:
            async with session.interaction() as turn:
                await turn.observe_many(said)
        return await session.close()


def _only(closed: Closed, transition: str) -> UUID:
    (found,) = closed.entries(transition)
    return found


def _entry(receipt: Receipt) -> UUID:
    assert receipt.entry_id is not None
    return receipt.entry_id
