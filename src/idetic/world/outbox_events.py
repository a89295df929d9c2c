"""What can happen between memory and the context that takes its proposals."""

from __future__ import annotations

from idetic.evidence import ProposalStatus
from idetic.world.performance import Performance
from idetic.world.story import Scene, SceneLine, event


@event
async def propose(play: Performance, what: tuple[str, ...], why: str) -> Scene:
    """The operator proposes what standing entries say as a rule for everybody."""
    ids = [play.standing[name] for name in what]
    done = await play.cast.operator.propose(ids, reason=why)
    lines = [SceneLine(" and ".join(what), "rule_proposed", one.statement or "")
             for one in done.proposals]  # fmt: skip
    lines += [
        SceneLine(await play.name(entry_id), "aggregation_refused", stays)
        for entry_id, stays in done.refused.items()
    ]
    return play.scene(f"{play.cast.setting.operator} proposes a rule", lines)


@event
async def receive(
    play: Performance, by: str, status: ProposalStatus, why: str, name: str = ""
) -> Scene:
    """Another context takes what waits in the outbox and decides about it.

    An acceptance is an action called `name`, which rests on the entries behind the proposal.
    """
    desk, lines = play.cast.operator_named(by), list[SceneLine]()
    waiting = {one.id for one in await desk.proposals()}
    for message in await desk.outbox():
        if message.proposal_id in waiting:
            accepted = status is ProposalStatus.ACCEPTED
            action = play.action(f"{name} {len(lines) + 1}".strip()) if accepted else None
            await desk.decide(message.proposal_id, status, reason=why, action=action)
            said = message.statement or "the rule alone"
            lines.append(SceneLine(message.kind.value, status.value, said))
        await desk.acknowledge(message.position)
    return play.scene(f"{by} takes {len(lines)} from the outbox: {status}", lines)
