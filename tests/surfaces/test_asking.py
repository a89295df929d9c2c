"""Another context asks the agent from another process: over HTTP, in operator or customer mode."""

from __future__ import annotations

import pytest

from idetic import Answered, AskTool, Capability, Mode, Principal, errors, runner
from idetic.client import connect, connect_runner
from idetic.library.answers import DONT_KNOW
from idetic.recall.evidence import HEADER
from idetic.verbs.declaration import VERBS
from tests.support.http_house import House

pytestmark = pytest.mark.anyio

NOTE = "Release Friday wires only after the screening."
QUESTION = "When are Friday wires released?"
CORA = Principal.customer("cora")


@pytest.fixture
async def told(house: House) -> House:
    """A house whose first world knows something, and whose second knows something else."""
    await house.world.operator.prefer(NOTE, refs=[house.world.rule])
    await house.other.operator.prefer("Release Friday wires at the word of Globex.")
    return house


async def test_both_modes_answer_as_in_process(told: House) -> None:
    here = runner(told.world.operator, told.world.bind(CORA))
    keys = [await told.key(), await told.key(CORA)]
    async with connect_runner(told.address, *keys) as there:
        for mode in Mode:
            answered = await there.ask(QUESTION, mode)
            assert answered == await here.ask(QUESTION, mode)
            assert [one.text for one in answered.evidence] == [NOTE]
            unknown = await there.ask("Which soup does the canteen serve?", mode)
            assert unknown == Answered(DONT_KNOW, (), mode)


async def test_a_key_serves_the_mode_of_its_principal_and_no_other(told: House) -> None:
    async with connect_runner(told.address, await told.key(CORA)) as theirs:
        assert (await theirs.ask(QUESTION, Mode.CUSTOMER)).known
        with pytest.raises(errors.CapabilityRefused, match="does not answer in operator mode"):
            await theirs.ask(QUESTION, Mode.OPERATOR)
    for who in (Principal.agent("explorer"), Principal.auditor("ben")):
        with pytest.raises(errors.CapabilityRefused, match="cannot answer for another agent"):
            async with connect_runner(told.address, await told.key(who)):
                pass
    with pytest.raises(errors.InputError, match="Two memories serve"):
        async with connect_runner(told.address, await told.key(CORA), await told.key(CORA)):
            pass


async def test_a_runner_reaches_nothing_but_the_question(told: House) -> None:
    async with connect_runner(told.address, await told.key(CORA)) as theirs:
        assert [name for name in dir(theirs) if not name.startswith("_")] == ["ask"]
        assert not hasattr(theirs, "__dict__")


LOOKS = ("list", "recall", "context", "core", "overview", "contradictions", "candidates", "spec")


async def test_a_customers_key_sees_no_row_and_no_other_world(told: House) -> None:
    """Whatever a customer's key asks for but an answer is refused; an operator's is not."""
    given = {"recall": (QUESTION,), "context": (QUESTION,)}
    async with (
        connect(told.address, await told.key(CORA)) as theirs,
        connect(told.address, await told.key()) as control,
    ):
        for name in LOOKS:
            with pytest.raises(errors.CapabilityRefused):
                await theirs.bound(VERBS[name])(*given.get(name, ()))
            await control.bound(VERBS[name])(*given.get(name, ()))
        assert "Globex" not in (await theirs.ask(QUESTION)).text
    async with connect(told.address, await told.key(CORA, world=told.other)) as neighbour:
        assert "Globex" in (await neighbour.ask(QUESTION)).text, "control: it is told to its own"


async def test_a_customer_writes_nothing(told: House) -> None:
    before = told.rows()
    async with connect(told.address, await told.key(CORA)) as theirs:
        for name, words in (("observe", ("x",)), ("prefer", ("x",))):
            with pytest.raises(errors.CapabilityRefused):
                await theirs.bound(VERBS[name])(*words)
    assert told.rows() == before


async def test_another_agent_is_given_the_question_as_a_tool(told: House) -> None:
    async with connect_runner(told.address, await told.key(CORA)) as agent:
        tool = AskTool(agent, "ask_world_agent", Mode.CUSTOMER)
        assert tool.__name__ == tool.schema["name"] == "ask_world_agent"
        assert list(tool.schema["parameters"]["properties"]) == ["question"]
        answer = await tool(QUESTION)
        assert answer.startswith(HEADER)
        assert f"\n> {NOTE}" in answer
        assert await tool("zyzzyva quux") == DONT_KNOW
        operators = AskTool(agent, "ask_world_agent", Mode.OPERATOR)
        with pytest.raises(errors.CapabilityRefused):
            await operators(QUESTION)


async def test_a_narrowed_key_that_may_not_read_may_not_ask(told: House) -> None:
    key = await told.key(only=[Capability.OBSERVE])
    async with connect_runner(told.address, key) as silent:
        with pytest.raises(errors.CapabilityRefused):
            await silent.ask(QUESTION, Mode.OPERATOR)
