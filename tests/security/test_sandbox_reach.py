"""A trial in the workshop reads what the login reads: a spec decides whose rules an agent sees."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from idetic import Idetic, Principal
from idetic.errors import InputError, ShadowRefused
from idetic.spec.loader import load
from idetic.surfaces.console.pages.workshop import check_reach
from tests.conftest import World

pytestmark = pytest.mark.anyio

Data = dict[str, Any]
RULE = (
    "Wires above 4.7 million EUR are approved by one person alone between five and six in the "
    "evening, and never on a Friday before a holiday."
)


def unscoped(data: Data) -> None:
    del data["references"]["canonical"][0]["scope"]


def of_another_table(data: Data) -> None:
    data["references"]["canonical"][0]["table"] = "worlds.rule_versions"


def one_more(data: Data) -> None:
    rule = data["references"]["canonical"][0]
    more = {"noun": "pay", "table": "public.payroll", "key": "pay_id", "body": "note"}
    data["references"]["canonical"] = [rule, more]


def of_the_whole_tenant(data: Data) -> None:
    del data["anchor"]["keys"][1]


def under_another_root(data: Data) -> None:
    data["anchor"]["root"]["table"] = "worlds.rules"


def changed(change: Callable[[Data], None]) -> Data:
    data: Data = load("world_agent").as_data()
    change(data)
    return data


REACHING = (unscoped, of_another_table, one_more, of_the_whole_tenant, under_another_root)


@pytest.mark.parametrize("change", REACHING, ids=lambda change: change.__name__)
def test_a_spec_that_reads_more_is_not_tried(change: Callable[[Data], None]) -> None:
    with pytest.raises(InputError, match="decides whose content it reads"):
        check_reach(load(changed(change)), load("world_agent"))


def test_what_reads_as_much_is() -> None:
    other = changed(lambda data: data.update(title="Another title"))
    check_reach(load(other), load("world_agent"))


@pytest.mark.parametrize("change", [None, unscoped], ids=["the login's own", "control"])
async def test_control_a_spec_without_scope_tells_the_rules_of_another_domain(
    db: Idetic, world: World, change: Callable[[Data], None] | None
) -> None:
    """Why it is not tried: with the administration login it works."""
    other = await world.worlds.register(world.org_id, uuid4(), "Another domain")
    await world.worlds.put_rule(world.org_id, other, RULE)
    spec = changed(change or (lambda _: None))
    anchor = {"org_id": world.org_id, "domain_id": world.domain_id}
    async with db.sandbox(spec) as agent:
        memory = agent.bind(principal=Principal.agent("sandbox"), **anchor)
        async with memory.session() as session:
            if change is None:
                assert (await session.observe(RULE)).entry_id
            else:
                with pytest.raises(ShadowRefused):
                    await session.observe(RULE)
