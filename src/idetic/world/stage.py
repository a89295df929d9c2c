"""The stage of a story: who takes part, the clock that tells its days, and its canonical rules."""

from __future__ import annotations

from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from typing import ClassVar
from uuid import UUID, uuid5

from idetic.context import Worlds
from idetic.ids import SystemClock
from idetic.library.handles import Agent, Memory
from idetic.model import Principal, Ref
from idetic.world.story import RuleText, Story, model_version

AGENT, ASSISTANT = "world_agent", "assistant_agent"

_OPENS = time(9)
_LAST = timedelta(hours=23)


@dataclass(frozen=True)
class Setting:
    """Where a story happens, and the names of those who take part in it."""

    org_id: UUID
    domain_id: UUID
    name: str
    explorer: str = "explorer"
    operator: str = "ada"
    customer: str = "customer"
    keeper: str = "sweeper"
    # The other agents of the team: what one agent says alone, however often, becomes no fact.
    others: tuple[str, ...] = ("scout", "analyst", "tracer", "clerk")

    def action_id(self, name: str) -> UUID:
        """The id of an action, which follows from its name."""
        return uuid5(self.domain_id, f"action/{name}")


class Cast:
    """The memory that everybody in one setting holds."""

    def __init__(self, agent: Agent, setting: Setting) -> None:
        self._agent = agent
        self.spec = agent.spec
        self.version = agent.version
        self.setting = setting
        self.explorer = self.agent(setting.explorer)
        self.operator = self.operator_named(setting.operator)
        self.customer = self._bind(Principal.customer(setting.customer))
        self.keeper = self._bind(Principal.maintenance(setting.keeper))

    def on_duty(self, number: int) -> str:
        """The agent that holds a session: each of the team in turn."""
        team = (self.setting.explorer, *self.setting.others)
        return team[(number - 1) % len(team)]

    def agent(self, name: str | None = None) -> Memory:
        """The memory of an agent, the usual one unless named."""
        return self._bind(Principal.agent(name or self.setting.explorer))

    def operator_named(self, name: str) -> Memory:
        """The memory of an operator."""
        return self._bind(Principal.operator(name))

    def _bind(self, principal: Principal) -> Memory:
        """The memory of this setting, as one of its principals."""
        place = self.setting
        return self._agent.bind(principal=principal, org_id=place.org_id, domain_id=place.domain_id)


@dataclass
class StoryClock:
    """The machine's clock until the story begins, and then the story's; day 1 is `begins`.

    `between` passes from one event of a day to the next, `thread` while a session's thread lasts.
    """

    # It tells a story's time and not the present.
    simulated: ClassVar[bool] = True
    begins: datetime
    between: timedelta = timedelta(hours=2)
    thread: timedelta = timedelta(0)
    _moment: datetime | None = None
    _day: int | None = None

    def now(self) -> datetime:
        """The current moment."""
        return self._moment or SystemClock().now()

    def turn_to(self, day: int) -> None:
        """The next thing on a day: the first at nine, each other one some time later.

        A day never runs into the next one: what is told for yesterday is not in the future.
        """
        midnight = self.begins + timedelta(days=day - 1)
        if self._moment is not None and day == self._day:
            self._moment = min(self._moment + self.between, midnight + _LAST)
            return
        self._day = day
        self._moment = datetime.combine(midnight, _OPENS, UTC)

    def go_on(self) -> None:
        """As long as a thread of a session takes."""
        if self._moment is not None:
            self._moment += self.thread

    def day_of(self, moment: datetime) -> int:
        """The day of the story that a moment is in."""
        return (moment - self.begins).days + 1


@dataclass
class Rulebook:
    """Publishes the rules of one domain, and knows by name what each says now."""

    worlds: Worlds
    setting: Setting
    world_id: UUID
    versions: int = 0
    refs: dict[str, Ref] = field(default_factory=dict)
    texts: dict[str, RuleText] = field(default_factory=dict)

    async def open(self, story: Story, clock: StoryClock) -> None:
        """Publish every version that a story's rules have when it begins, in their order."""
        texts = [(text.day, name, text) for name, found in story.rules.items() for text in found]
        for day, name, text in sorted(texts, key=lambda one: one[0]):
            clock.turn_to(day)
            await self.publish(name, text)

    async def publish(self, name: str, text: RuleText) -> Ref:
        """Publish a new rule, or the next version of one. A rule's id follows from its name."""
        self.refs[name] = await self.worlds.put_rule(
            self.setting.org_id,
            self.world_id,
            text.says,
            strength=text.strength,
            rule_id=uuid5(self.setting.domain_id, f"rule/{name}"),
            world_model_version=model_version(text.day),
        )
        self.versions += 1
        self.texts[name] = text
        return self.refs[name]
