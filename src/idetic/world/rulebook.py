"""The canonical rules of one domain, by the names that its story gives them."""

from __future__ import annotations

from uuid import UUID, uuid5

from idetic.context import Worlds
from idetic.model import Ref
from idetic.world.clock import StoryClock
from idetic.world.script import Text, model_version
from idetic.world.story import Story


class Rulebook:
    """Publishes rules, and knows what each says now. A rule's id follows from its name."""

    def __init__(self, worlds: Worlds, org_id: UUID, domain_id: UUID, world_id: UUID) -> None:
        self.versions = 0
        self._worlds = worlds
        self._org_id, self._domain_id, self._world_id = org_id, domain_id, world_id
        self._refs: dict[str, Ref] = {}
        self._says: dict[str, str] = {}

    def __len__(self) -> int:
        return len(self._refs)

    def ref(self, name: str) -> Ref:
        """A rule as a reference, pinned to the version that holds now."""
        return self._refs[name]

    def says(self, name: str) -> str:
        """What a rule says now."""
        return self._says[name]

    async def open(self, story: Story, clock: StoryClock) -> None:
        """Publish every version that a story's rules have when it begins, in their order."""
        texts = [(text.day, name, text) for name, found in story.rules.items() for text in found]
        for day, name, text in sorted(texts, key=lambda one: one[0]):
            clock.turn_to(day)
            await self.publish(name, text)

    async def publish(self, name: str, text: Text) -> Ref:
        """A rule that is new, or the next version of one."""
        ref = await self._worlds.put_rule(
            self._org_id,
            self._world_id,
            text.says,
            strength=text.strength,
            rule_id=uuid5(self._domain_id, f"rule/{name}"),
            world_model_version=model_version(text.day),
        )
        self.versions += 1
        self._refs[name], self._says[name] = ref, text.says
        return ref
