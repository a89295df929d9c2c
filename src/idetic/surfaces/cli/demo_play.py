"""Playing the demo's story against a real database; each scene is what came of it."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

from idetic.context import Worlds
from idetic.errors import IdeticError, ShadowRefused, WritePolicyRefused
from idetic.ids import uuid7
from idetic.library.handles import Interaction, Memory, Session
from idetic.library.idetic import Idetic
from idetic.model import Principal, Receipt, Typology
from idetic.surfaces.cli import demo_story as story
from idetic.surfaces.cli.demo_scenes import (
    ActionScene,
    Attempt,
    LedgerScene,
    PreferenceScene,
    RefusalScene,
    ReplayScene,
    Scene,
    SessionScene,
    SpecScene,
    WorldScene,
)
from idetic.surfaces.cli.failures import described


async def play(db: Idetic, tell: Callable[[Scene], None]) -> LedgerScene:
    """The story from beginning to end, in a tenant of its own."""
    agent = await db.agent(story.AGENT)
    tell(SpecScene(agent.spec, agent.version))
    world = await _world(db)
    tell(world)
    anchor = {"org_id": world.org_id, "domain_id": world.domain_id}
    explorer = agent.bind(principal=Principal.agent(story.EXPLORER), **anchor)
    operator = agent.bind(principal=Principal.operator(story.OPERATOR), **anchor)

    first, second = story.SESSIONS
    async with explorer.session() as session:
        tell(await _session(session, first, world))
    # Open until the action rests on its entries: what nothing rests on ends with its scope.
    async with explorer.session() as session:
        seen = await _session(session, second, world)
        tell(seen)
        tell(await _replay(session))
        tell(await _refusals(explorer, session))
        preferred = await _prefer(operator, 0)
        rests_on = [*(entry.id for entry in seen.entries), _entry_of(preferred)]
        tell(await _act(operator, rests_on))
        tell(PreferenceScene(preferred, await _prefer(operator, 1)))
    last = await _ledger(operator, world, preferred)
    tell(last)
    return last


async def _world(db: Idetic) -> WorldScene:
    worlds, org_id, domain_id = Worlds(db), uuid7(), uuid7()
    world_id = await worlds.register(org_id, domain_id, story.WORLD)
    rules = {
        rule.name: await worlds.put_rule(
            org_id,
            world_id,
            rule.text,
            strength=rule.strength,
            world_model_version=story.MODEL_VERSION,
        )
        for rule in story.RULES
    }
    return WorldScene(org_id, domain_id, world_id, rules)


async def _session(session: Session, told: story.StorySession, world: WorldScene) -> SessionScene:
    async with session.interaction() as turn:
        for note in told.interaction:
            await _observe(turn, note, world)
    for note in told.session:
        await _observe(session, note, world)
    return SessionScene(told.name, await session.list())


async def _observe(place: Session | Interaction, note: story.Note, world: WorldScene) -> Receipt:
    return await place.observe(
        note.text,
        envelope={"topic": note.topic, "tags": list(note.tags), "activity": note.activity},
        refs=[world.rules[name] for name in note.rules],
        provenance={"world_model_version": story.MODEL_VERSION},
        heard_from=note.heard_from,
    )


async def _replay(session: Session) -> ReplayScene:
    """A client that lost the answer sends the write again under its key."""
    first = await session.observe(story.REPEATED, idempotency_key=story.REPEATED_KEY)
    again = await session.observe(story.REPEATED, idempotency_key=story.REPEATED_KEY)
    return ReplayScene(first, again)


async def _refusals(memory: Memory, session: Session) -> RefusalScene:
    attempts: list[Attempt] = []
    try:
        await session.observe(story.RESTATED)
    except ShadowRefused as error:
        attempts.append(Attempt(story.RESTATED, described(error)))
    try:
        await memory.observe(story.ASSERTED, typology=Typology.SEMANTIC)
    except WritePolicyRefused as error:
        attempts.append(Attempt(story.ASSERTED, described(error)))
    if len(attempts) != 2:
        raise IdeticError("A write that the spec forbids was accepted.")
    return RefusalScene(attempts)


async def _prefer(operator: Memory, which: int) -> Receipt:
    text, claim = story.PREFERRED[which]
    return await operator.prefer(text, claim=claim)


async def _act(operator: Memory, entries: list[UUID]) -> ActionScene:
    action_id = uuid7()
    receipt = await operator.link_action(
        action_id, story.ACTION, entries, reason=story.ACTION_REASON
    )
    return ActionScene(action_id, story.ACTION, entries, receipt)


async def _ledger(operator: Memory, world: WorldScene, preferred: Receipt) -> LedgerScene:
    entry_id = _entry_of(preferred)
    then = await operator.as_of(preferred.at)
    now = await operator.list(typology=Typology.PROCEDURAL)
    return LedgerScene(
        world,
        entry_id,
        await operator.history(entry_id),
        preferred.at,
        [entry for entry in then if entry.typology is Typology.PROCEDURAL],
        now,
    )


def _entry_of(receipt: Receipt) -> UUID:
    if receipt.entry_id is None:
        raise IdeticError("A write that was accepted names no entry.")
    return receipt.entry_id
