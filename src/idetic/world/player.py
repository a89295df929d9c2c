"""Playing a story against a real database: the demos and their tests run this same player."""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from uuid import UUID

from idetic.context import Worlds
from idetic.library.handles import Interaction
from idetic.library.handles import Session as Opened
from idetic.library.idetic import Idetic
from idetic.model import Decision, Observation, Receipt
from idetic.world import script
from idetic.world.book import Line
from idetic.world.cast import AGENT, Cast, Setting
from idetic.world.clock import StoryClock
from idetic.world.governing import action_of
from idetic.world.happening import Events
from idetic.world.rulebook import Rulebook
from idetic.world.story import Story


@dataclass(frozen=True)
class Told:
    """What one event came to."""

    day: int
    title: str
    lines: tuple[Line, ...] = ()


Tell = Callable[[Told], None]
Look = Callable[["Player", str], Awaitable[None]]


async def play(
    db: Idetic,
    clock: StoryClock,
    story: Story,
    setting: Setting,
    tell: Tell,
    look: Look | None = None,
) -> Player:
    """A story from beginning to end; `look` is given the player whenever the script says so."""
    # Under the machine's clock: when a spec was applied is no part of the story.
    cast = Cast(await db.agent(AGENT), setting)
    worlds = Worlds(db)
    clock.turn_to(min(text.day for texts in story.rules.values() for text in texts))
    world_id = await worlds.register(setting.org_id, setting.domain_id, setting.name)
    rules = Rulebook(worlds, setting.org_id, setting.domain_id, world_id)
    await rules.open(story, clock)
    player = Player(Events(story, cast, rules, clock), clock)
    for event in story.events:
        clock.turn_to(event.day)
        if isinstance(event, script.Look):
            if look is not None:
                await look(player, event.name)
        elif isinstance(event, script.Session):
            tell(await player.session(event))
        else:
            title, lines = await player.others.happen(event)
            tell(Told(event.day, title, tuple(lines)))
    return player


class Player:
    """Plays sessions; everything else that happens is in `others`."""

    def __init__(self, others: Events, clock: StoryClock) -> None:
        self.others = others
        self.clock = clock
        self.book = others.book
        self.sessions = 0

    async def session(self, told: script.Session) -> Told:
        """One session, thread by thread. One that dies leaves everything open."""
        self.sessions += 1
        number = f"s{self.sessions:02}"
        session = await self.others.cast.agent(told.by).session().open()
        self._call(session.id, number)
        for count, said in enumerate(told.threads, start=1):
            turn = await session.interaction().open()
            self._call(turn.id, f"{number}/{count}")
            await self._say(turn, said, told)
            self.clock.go_on()
            if not told.dies:
                await self.book.close(await turn.close())
        await self._say(session, told.notes, told)
        title = f"{number} {told.name}: {_counted(told)}"
        lines = [] if told.dies else await self.book.close(await session.close())
        return Told(told.day, title, tuple(lines))

    def _call(self, scope_id: UUID | None, name: str) -> None:
        if scope_id is not None:
            self.book.voices[scope_id] = name

    async def _say(self, place: Opened | Interaction, said: str, told: script.Session) -> None:
        """Write everything down in one go, up to a question, which is put when its turn comes."""
        labels: list[str] = []
        for label in [*said.split(), script.ASK]:
            if not label.startswith(script.ASK):
                labels.append(label)
                continue
            if labels:
                await self._write(place, labels, told)
            labels = []
            if question := label.removeprefix(script.ASK):
                found = await place.context(self.others.story.questions[question])
                self.book.counts["questions"] += 1
                self.book.counts["answered"] += bool(found.included)

    async def _write(
        self, place: Opened | Interaction, labels: list[str], told: script.Session
    ) -> None:
        seen = [self._seen(label, told, place.place.interaction_id) for label in labels]
        for _ in range(2 if told.twice else 1):
            receipts = await place.observe_many(seen)
        for label, receipt in zip(labels, receipts, strict=True):
            await self._noted(label.removesuffix("~"), receipt, told)

    async def _noted(self, what: str, receipt: Receipt, told: script.Session) -> None:
        """What became of a note; an action rests on it or a dispute is about it at once."""
        self.book.counts["observations"] += 1
        if receipt.decision is not Decision.ADD:
            refused = receipt.decision is Decision.REJECT
            self.book.counts["refused" if refused else "echoes"] += 1
            return
        entry_id = self.book.saw(receipt, what)
        if what == told.acts_on:
            action_id = action_of(self.others.cast.setting.domain_id, f"{told.name}/{what}")
            await self.others.cast.explorer.link_action(action_id, "published_decision", [entry_id])
            self.book.actions[f"{told.name}/{what}"] = action_id
        if told.disputes is not None and what == told.disputes.what:
            await self.others.dispute(entry_id, told.disputes)

    def _seen(self, label: str, told: script.Session, turn: UUID | None) -> Observation:
        provenance = {"world_model_version": script.model_version(told.day)}
        if label.startswith(script.COPY):
            restated = self.others.rules.says(label.removeprefix(script.COPY))
            return Observation(f"Noted: {restated}", provenance=provenance)
        saying = self.others.story.sayings[label.removesuffix("~")]
        return Observation(
            (saying.again if label.endswith("~") else None) or saying.says,
            envelope=saying.envelope,
            refs=tuple(self.others.rules.ref(name) for name in saying.rules),
            claim=saying.claim,
            provenance=provenance,
            heard_from=saying.heard_from,
            idempotency_key=f"{turn}:{label}" if told.twice else None,
        )


def _counted(told: script.Session) -> str:
    labels = [label for said in (*told.threads, told.notes) for label in said.split()]
    notes = sum(not label.startswith(script.ASK) for label in labels)
    threads = len(told.threads)
    said = f"{threads} thread{'s' * (threads > 1)}, {notes} note{'s' * (notes > 1)}"
    more = {
        f", by {told.by}": told.by,
        ", each sent twice": told.twice,
        f"; an action rests on {told.acts_on}": told.acts_on,
        f"; {told.disputes and told.disputes.what} speaks against a rule": told.disputes,
        "; the process dies": told.dies,
    }
    return said + "".join(text for text, holds in more.items() if holds)
