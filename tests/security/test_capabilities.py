"""Whatever memory can do needs a capability: a scope that was left none can do nothing at all.

The verbs come from the classes, so a new one is tested the day it is written.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any
from uuid import uuid4

import pytest

from idetic import Claim, Principal, Rule, errors
from idetic.embed import ModelMissing
from idetic.evidence import ContradictionStatus, Outcome, SourceType
from idetic.library.handles import Interaction, Memory, Session
from idetic.model import Capability, PrincipalKind
from idetic.spec.loader import load, shipped
from idetic.spec.retention import RetentionState
from idetic.verbs.declaration import Verb
from tests.conftest import World

pytestmark = pytest.mark.anyio
SHARED = True

# What a verb is given for what it asks for; the rest have defaults.
GIVEN: dict[str, Any] = {
    "messages": "Hello.",
    "claim": Claim("it", "is", "so"),
    "text": "Said.",
    "query": "what",
    "question": "what",
    "observations": [],
    "preferences": [],
    "subjects": ["Zora Quell"],
    "key": "topic",
    "source": "mem0",
    "data": [],
    "path": "export.jsonl",
    "state": RetentionState.ACTIVE,
    "moment": datetime(2026, 3, 1, tzinfo=UTC),
    "since": datetime(2026, 3, 1, tzinfo=UTC),
    "until": datetime(2026, 4, 1, tzinfo=UTC),
    "entry_id": uuid4(),
    "action_id": uuid4(),
    "contradiction_id": uuid4(),
    "proposal_id": uuid4(),
    "session_id": uuid4(),
    "position": 1,
    "source_ref": uuid4(),
    "source_type": SourceType.OPERATOR_INPUT,
    "kind": "rule_promotion",
    "entries": [uuid4()],
    "ref": Rule(uuid4()),
    "status": ContradictionStatus.DISMISSED,
    "outcome": Outcome.ARCHIVE,
    "reason": "because",
    "notes": "because",
    "what": 1,
    "subject": "Zora Quell",
    "created_by": "agent:x",
}


# What needs none: what a key stands for is its holder's to know, and who closes a connection
# looks at nothing. The spec is withheld from the Actor alone (test_persona_access.py).
FREE = {"key_scope", "spec", "close"}


def verbs(handle: type) -> Iterator[str]:
    for name, member in inspect.getmembers(handle):
        verb = isinstance(member, Verb) and not member.streams
        if verb or (inspect.iscoroutinefunction(member) and not name.startswith("_")):
            assert member.__doc__, name
            yield name


def arguments(verb: Any) -> dict[str, Any]:
    asked = inspect.signature(verb).parameters.values()
    wanted = {one.name: one for one in asked if one.default is one.empty}
    # A quarantine asks for one source of three, and so has a default for each.
    named = {"created_by"} if verb.__name__ == "quarantine" else set()
    return {name: GIVEN[name] for name in (*wanted, *named)}


def left(world: World, *capabilities: Capability) -> Memory:
    """Memory for an operator that was left only these capabilities."""
    scope = world.operator.scope.narrowed(frozenset(capabilities))
    return world.agent.within(scope)


@pytest.mark.parametrize("verb", sorted(set(verbs(Memory)) - FREE))
async def test_without_any_capability_memory_does_nothing(world: World, verb: str) -> None:
    called = getattr(left(world), verb)
    with pytest.raises(errors.CapabilityRefused):
        await called(**arguments(called))


@pytest.mark.parametrize("handle", [Session, Interaction], ids=lambda one: one.__name__)
async def test_nor_does_a_session_or_an_interaction(world: World, handle: type) -> None:
    open_one = await world.operator.session().open()
    mine: Any = left(world).session(open_one.id)
    mine = mine if handle is Session else mine.interaction()
    mine._open = True  # as if it had been opened before its rights were taken
    for verb in verbs(handle):
        called = getattr(mine, verb)
        with pytest.raises(errors.CapabilityRefused):
            await called(**arguments(called))


async def lets_embed(memory: Memory) -> bool:
    try:
        await memory.embed()
    except errors.CapabilityRefused:
        return False
    except ModelMissing:
        return True
    return True


async def test_who_may_write_or_maintain_may_embed(world: World) -> None:
    principals = world.agent.spec.visibility.principals
    for kind in PrincipalKind:
        may = {Capability.OBSERVE, Capability.MAINTAIN} & set(principals[kind])
        assert await lets_embed(world.bind(Principal(kind, "x"))) == bool(may), kind
    assert not await lets_embed(left(world, Capability.READ))


@pytest.mark.parametrize("name", shipped())
def test_the_auditor_is_a_principal_of_its_own(name: str) -> None:
    """It reads and verifies; operators, who state and take back, do not audit themselves."""
    spec = load(name)
    auditor = {c for c in Capability if spec.may(PrincipalKind.AUDITOR, c)}
    assert auditor == {Capability.READ, Capability.READ_ACROSS, Capability.AUDIT}
    for kind in (PrincipalKind.AGENT, PrincipalKind.OPERATOR, PrincipalKind.CUSTOMER):
        assert not spec.may(kind, Capability.AUDIT), kind
