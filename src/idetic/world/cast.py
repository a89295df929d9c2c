"""Who takes part in a story, and the memory that each of them holds."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from idetic.library.handles import Agent, Memory
from idetic.model import Principal

AGENT = "world_agent"


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


class Cast:
    """The handles of everybody in one setting."""

    def __init__(self, agent: Agent, setting: Setting) -> None:
        self._agent = agent
        self.setting = setting
        self.explorer = self.agent(setting.explorer)
        self.operator = self._bind(Principal.operator(setting.operator))
        self.customer = self._bind(Principal.customer(setting.customer))
        self.keeper = self._bind(Principal.maintenance(setting.keeper))

    def agent(self, name: str | None = None) -> Memory:
        """The memory of an agent, the usual one unless named."""
        return self._bind(Principal.agent(name or self.setting.explorer))

    def _bind(self, principal: Principal) -> Memory:
        place = self.setting
        return self._agent.bind(principal=principal, org_id=place.org_id, domain_id=place.domain_id)
