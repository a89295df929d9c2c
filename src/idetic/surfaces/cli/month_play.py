"""Playing the month against a real database: the demo and its test run this same player."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from functools import partial
from uuid import UUID

from idetic.context.worlds import Worlds
from idetic.ids import uuid7
from idetic.library.handles import Interaction, Memory
from idetic.library.handles import Session as Opened
from idetic.library.idetic import Idetic
from idetic.model import Observation, Principal, Ref
from idetic.surfaces.cli import month_script as script
from idetic.surfaces.cli.month_book import Line, StoryClock
from idetic.surfaces.cli.month_events import Events
from idetic.surfaces.cli.month_state import State, read_state
from idetic.surfaces.cli.month_world import RULES, SAYINGS


@dataclass(frozen=True)
class Told:
    """What one event came to."""

    day: int
    title: str
    lines: tuple[Line, ...] = ()


Tell = Callable[[Told], None]


async def play(
    db: Idetic, clock: StoryClock, events: Iterable[script.Event], tell: Tell
) -> dict[str, State]:
    """The month from beginning to end, in a tenant of its own; what each look at it found."""
    # Under the machine's clock: when a spec was applied is no part of the story.
    agent = await db.agent(script.AGENT)
    clock.turn_to(0)
    worlds, org_id, domain_id = Worlds(db), uuid7(), uuid7()
    world_id = await worlds.register(org_id, domain_id, script.WORLD)
    bind = partial(agent.bind, org_id=org_id, domain_id=domain_id)
    put = partial(worlds.put_rule, org_id, world_id, world_model_version=script.model_version(1))
    rules = {name: await put(rule.text, strength=rule.strength) for name, rule in RULES.items()}
    player = Player(
        bind(principal=Principal.agent(script.EXPLORER)),
        Events(
            bind(principal=Principal.agent(script.EXPLORER)),
            bind(principal=Principal.operator(script.OPERATOR)),
            bind(principal=Principal.maintenance(script.KEEPER)),
            partial(worlds.put_rule, org_id, world_id),
            rules,
        ),
    )
    found: dict[str, State] = {}
    for event in events:
        clock.turn_to(event.day)
        if isinstance(event, script.Look):
            found[event.name] = await read_state(player.others.book, player.others.operator)
        elif isinstance(event, script.Session):
            tell(await player.session(event))
        else:
            title, lines = await player.others.happen(event)
            tell(Told(event.day, title, tuple(lines)))
    return found


class Player:
    """Plays sessions; everything else that happens is in `others`."""

    def __init__(self, explorer: Memory, others: Events) -> None:
        self.explorer = explorer
        self.others = others
        self._sessions = 0

    async def session(self, told: script.Session) -> Told:
        """One session, thread by thread. One that dies leaves everything open."""
        self._sessions += 1
        number = f"s{self._sessions:02}"
        session = await self.explorer.session().__aenter__()
        self._call(session.id, number)
        for count, said in enumerate(told.threads, start=1):
            turn = await session.interaction().__aenter__()
            self._call(turn.id, f"{number}/{count}")
            await self._say(turn, said, told)
            if not told.dies:
                await self.others.book.close(await turn.close())
        await self._say(session, told.notes, told)
        title = f"{number} {told.name}: {_counted(told)}"
        lines = [] if told.dies else await self.others.book.close(await session.close())
        return Told(told.day, title, tuple(lines))

    def _call(self, scope_id: UUID | None, name: str) -> None:
        if scope_id is not None:
            self.others.book.voices[scope_id] = name

    async def _say(self, place: Opened | Interaction, said: str, told: script.Session) -> None:
        """Write everything down; what an action rests on or a dispute is about, at once."""
        for label in said.split():
            what = label.removesuffix("~")
            key = f"{place.place.interaction_id}:{label}" if told.twice else None
            seen = self._seen(label, told.day, key)
            for _ in range(2 if told.twice else 1):
                (receipt,) = await place.observe_many([seen])
            entry_id = self.others.book.saw(receipt, what)
            if what == told.acts_on:
                await self.explorer.link_action(uuid7(), "published_decision", [entry_id])
            if told.disputes is not None and what == told.disputes.what:
                await self.others.dispute(entry_id, told.disputes)

    def _seen(self, label: str, day: int, key: str | None) -> Observation:
        saying = SAYINGS[label.removesuffix("~")]
        refs: tuple[Ref, ...] = tuple(self.others.rules[name] for name in saying.rules)
        return Observation(
            (saying.again if label.endswith("~") else None) or saying.text,
            refs=refs,
            claim=saying.claim,
            provenance={"world_model_version": script.model_version(day)},
            heard_from=saying.heard_from,
            idempotency_key=key,
        )


def _counted(told: script.Session) -> str:
    threads, notes = len(told.threads), sum(len(said.split()) for said in told.threads)
    notes += len(told.notes.split())
    said = f"{threads} thread{'s' * (threads > 1)}, {notes} note{'s' * (notes > 1)}"
    more = {
        ", each sent twice": told.twice,
        f"; an action rests on {told.acts_on}": told.acts_on,
        f"; {told.disputes and told.disputes.what} speaks against a rule": told.disputes,
        "; the process dies": told.dies,
    }
    return said + "".join(text for text, holds in more.items() if holds)
