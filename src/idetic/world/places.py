"""Who and what there is in the demo world, as values that a surface can hand out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID, uuid5

from idetic.model import Principal
from idetic.world.cast import AGENT, Setting

EDITION = 1
"""Goes up when what the world holds changes: another edition has tenants of its own."""

_NAMESPACE = UUID("6d1f7a2e-0f3c-5f0e-9d52-6f1f9c4b8a31")


@dataclass(frozen=True)
class Domain:
    """One domain of an organisation: an anchor, and the story that is told there."""

    name: str
    story: str
    id: UUID
    setting: Setting


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
class PersonaAgent:
    """An agent with two personas, and whose it is."""

    agent_id: str
    name: str
    tenant: UUID


@dataclass(frozen=True)
class Action:
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
    personas: tuple[PersonaAgent, ...]
    logins: tuple[Login, ...]
    begins: datetime
    ends: datetime
    counts: Mapping[str, Mapping[str, int]] = field(default_factory=dict)
    actions: tuple[Action, ...] = ()
    loaded: bool = True
    abandoned: int = 0
    embedded: bool = True

    def organisation(self, name: str) -> Organisation:
        """An organisation by its name."""
        return next(one for one in self.organisations if one.name == name)

    def total(self, what: str) -> int:
        """How many there are of something, in all organisations."""
        return sum(counts.get(what, 0) for counts in self.counts.values())


@dataclass(frozen=True)
class Staff:
    """The people and agents of one organisation, by name."""

    operator: str
    explorer: str
    customer: str
    auditor: str


@dataclass(frozen=True)
class Plan:
    """What the world is made of, before there is a tenant for it."""

    name: str
    staff: Staff
    domains: Mapping[str, str]


PLANS = (
    Plan(
        "Nordhafen Bank",
        Staff("ada", "explorer", "kaya", "odile"),
        {
            "Wires and sanctions": "wires",
            "Instant payments": "instant",
            "Disputes and refunds": "disputes",
        },
    ),
    Plan(
        "Kestrel Pay",
        Staff("bram", "scout", "lin", "tomas"),
        {"Instant payments": "wallet", "Disputes and refunds": "chargebacks"},
    ),
)
PERSONA = ("harbour-desk", "the help desk of Nordhafen Bank", "Nordhafen Bank")


def identity(name: str, attempt: int) -> UUID:
    """An id of the world, the same on every machine; another attempt has others."""
    return uuid5(_NAMESPACE, f"{EDITION}/{attempt}/{name}")


def organisations(attempt: int) -> tuple[Organisation, ...]:
    """Both organisations, with the ids that they have in an attempt."""
    found = []
    for plan in PLANS:
        org_id, staff = identity(plan.name, attempt), plan.staff
        domains = [
            Domain(
                name,
                story,
                domain_id := identity(f"{plan.name}/{name}", attempt),
                Setting(
                    org_id, domain_id, f"{plan.name}: {name}",
                    explorer=staff.explorer, operator=staff.operator, customer=staff.customer,
                ),
            )
            for name, story in plan.domains.items()
        ]  # fmt: skip
        found.append(Organisation(plan.name, org_id, tuple(domains)))
    return tuple(found)


def personas(attempt: int) -> tuple[PersonaAgent, ...]:
    """The agents with personas."""
    agent_id, name, organisation = PERSONA
    return (PersonaAgent(agent_id, name, identity(organisation, attempt)),)


def logins(attempt: int) -> tuple[Login, ...]:
    """Everybody who may come in: the staff of each domain, a customer; and to personas, two."""
    found: list[Login] = []
    for plan, organisation in zip(PLANS, organisations(attempt), strict=True):
        staff = plan.staff
        for domain in organisation.domains:
            anchor = {"org_id": organisation.id, "domain_id": domain.id}
            place = (organisation.name, domain.name, AGENT)
            found += [
                Login("operator", *place, Principal.operator(staff.operator), anchor),
                Login("agent", *place, Principal.agent(staff.explorer), anchor),
                Login("auditor", *place, Principal.auditor(staff.auditor), anchor),
            ]
        found.append(Login("customer", *place, Principal.customer(staff.customer), anchor))
    for persona in personas(attempt):
        desk = (PERSONA[2], None, "persona_agent")
        whose = {"tenant_id": str(persona.tenant), "agent_id": persona.agent_id}
        operator, actor = Principal.operator(PLANS[0].staff.operator), persona.agent_id
        found += [
            Login("operator", *desk, operator, whose),
            Login("actor", *desk, Principal.agent(actor), whose),
        ]
    return tuple(found)
