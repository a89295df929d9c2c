"""Who and what there is in the demo world, as values that a surface can hand out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid5

from idetic.model import Principal
from idetic.world.stage import AGENT, ASSISTANT, Setting

EDITION = 2
"""Goes up when what the world holds changes: another edition has tenants of its own."""

_NAMESPACE = UUID("6d1f7a2e-0f3c-5f0e-9d52-6f1f9c4b8a31")


@dataclass(frozen=True)
class Domain:
    """One domain of an organisation: an anchor, and the story that is told there."""

    name: str
    story: str
    setting: Setting

    @property
    def id(self) -> UUID:
        """The domain's id."""
        return self.setting.domain_id


@dataclass(frozen=True)
class Organisation:
    """A tenant, with its domains."""

    name: str
    id: UUID
    domains: tuple[Domain, ...]


@dataclass(frozen=True)
class Login:
    """Somebody who may come in: what `db.keys.create` needs to give them a key."""

    who: str
    organisation: str
    domain: str | None
    agent: str
    principal: Principal
    anchor: Mapping[str, Any]


@dataclass(frozen=True)
class WorldPersona:
    """An agent with two personas, and whose it is."""

    agent_id: str
    name: str
    tenant: UUID


@dataclass(frozen=True)
class WorldAction:
    """Something that was done, and rests on memory: `explain_action` has its chain."""

    id: UUID
    name: str
    organisation: str
    domain: str


@dataclass(frozen=True)
class World:
    """The demo world as it was loaded: who is in it, and how much of what.

    `counts` are by `organisation/domain`. `loaded` says whether this call loaded it, `abandoned`
    how many loads before it were interrupted and left behind, `embedded` whether there was a model.
    """

    organisations: tuple[Organisation, ...]
    personas: tuple[WorldPersona, ...]
    logins: tuple[Login, ...]
    begins: datetime
    ends: datetime
    counts: Mapping[str, Mapping[str, int]]
    actions: tuple[WorldAction, ...]
    loaded: bool
    abandoned: int
    embedded: bool

    def organisation(self, name: str) -> Organisation:
        """An organisation by its name."""
        return next(one for one in self.organisations if one.name == name)

    def total(self, what: str) -> int:
        """How many there are of something, in all organisations."""
        return sum(counts.get(what, 0) for counts in self.counts.values())


@dataclass(frozen=True)
class OrganisationPlan:
    """An organisation before there is a tenant for it: its people, and the story of each domain."""

    name: str
    operator: str
    explorer: str
    customer: str
    auditor: str
    domains: Mapping[str, str]


_BANK = {
    "Wires and sanctions": "wires",
    "Instant payments": "instant",
    "Disputes and refunds": "disputes",
}
_WALLET = {"Instant payments": "wallet", "Disputes and refunds": "chargebacks"}
PLANS = (
    OrganisationPlan("Nordhafen Bank", "ada", "explorer", "kaya", "odile", _BANK),
    OrganisationPlan("Kestrel Pay", "bram", "scout", "lin", "tomas", _WALLET),
)
# The assistant of an app: whose app it is, and the story of its users.
APP = ("Kestrel Pay", "Users of the app", "wallet-app")
PERSONA = ("harbour-desk", "the help desk of Nordhafen Bank", "Nordhafen Bank")


def identity(name: str, attempt: int) -> UUID:
    """An id of the world, the same on every machine; another attempt has others."""
    return uuid5(_NAMESPACE, f"{EDITION}/{attempt}/{name}")


def organisations(attempt: int) -> tuple[Organisation, ...]:
    """Both organisations, with the ids that they have in an attempt."""
    found = []
    for plan in PLANS:
        org_id = identity(plan.name, attempt)
        domains = []
        for name, story in plan.domains.items():
            where = f"{plan.name}/{name}"
            people = (plan.explorer, plan.operator, plan.customer)
            setting = Setting(org_id, identity(where, attempt), f"{plan.name}: {name}", *people)
            domains.append(Domain(name, story, setting))
        found.append(Organisation(plan.name, org_id, tuple(domains)))
    return tuple(found)


def operator_of(organisation: str) -> str:
    """The operator of an organisation, by name."""
    return next(plan.operator for plan in PLANS if plan.name == organisation)


def personas(attempt: int) -> tuple[WorldPersona, ...]:
    """The agents with personas."""
    agent_id, name, organisation = PERSONA
    return (WorldPersona(agent_id, name, identity(organisation, attempt)),)


def logins(attempt: int) -> tuple[Login, ...]:
    """Everybody who may come in: the staff of each domain, a customer; an operator of all users of
    the app; and to personas, two."""
    found: list[Login] = []
    for plan, organisation in zip(PLANS, organisations(attempt), strict=True):
        for domain in organisation.domains:
            anchor = {"org_id": organisation.id, "domain_id": domain.id}
            place = (organisation.name, domain.name, AGENT)
            found += [
                Login("operator", *place, Principal.operator(plan.operator), anchor),
                Login("agent", *place, Principal.agent(plan.explorer), anchor),
                Login("auditor", *place, Principal.auditor(plan.auditor), anchor),
            ]
        found.append(Login("customer", *place, Principal.customer(plan.customer), anchor))
        if plan.name == APP[0]:
            users = {"tenant_id": str(organisation.id), "user_id": None}
            everybody = (plan.name, APP[1], ASSISTANT, Principal.operator(plan.operator), users)
            found.append(Login("operator", *everybody))
    for persona in personas(attempt):
        desk = (PERSONA[2], None, "persona_agent")
        whose = {"tenant_id": str(persona.tenant), "agent_id": persona.agent_id}
        found += [
            Login("operator", *desk, Principal.operator(PLANS[0].operator), whose),
            Login("actor", *desk, Principal.agent(persona.agent_id), whose),
        ]
    return tuple(found)
