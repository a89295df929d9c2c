"""A worker reasons with the endpoint that its settings name, and without one it asks nobody."""

from __future__ import annotations

import pytest
from anyio import to_thread

from idetic import Claim, Idetic, Principal
from idetic.embed import BgeSmall
from idetic.evidence import Outcome
from idetic.library.handles import Agent
from tests.conftest import TestDatabase
from tests.support import llm_server
from tests.surfaces.cli_runner import Ran, process

pytestmark = pytest.mark.anyio
SPEC = {"agent": "tutor", "anchor": {"keys": "school_id:text"}}
NOTES = (
    "The importer is restarted every night.",
    "The night shift restarts the importer by hand.",
    "Each night somebody restarts the importer.",
)


async def test_a_worker_asks_the_endpoint_of_its_settings(
    database: TestDatabase, embedder: BgeSmall
) -> None:
    opened = Idetic.open(database.dsn, admin_dsn=database.admin_dsn, embedder=embedder)
    with llm_server.running() as server:
        async with opened as db:
            agent = await db.agent(SPEC)
            await facts(agent, *NOTES[:2])
            assert (await worked(database)).code == 0
            assert server.requests == [], "control: without a setting nobody is asked"
            await facts(agent, NOTES[2])
        ran = await worked(
            database,
            "--set", "reasoner.model=small-model", "--set", f"reasoner.base_url={server.url}",
        )  # fmt: skip
        assert ran.code == 0, ran
        assert server.requests, "overlapping facts were put before it"
        assert {asked.body["model"] for asked in server.requests} == {"small-model"}


async def facts(agent: Agent, *notes: str) -> None:
    """Each note as a fact: observed, left as a candidate, promoted by an operator."""
    tutor = agent.bind(school_id="north", principal=Principal.agent("tutor"))
    operator = agent.bind(school_id="north", principal=Principal.operator("ida"))
    for number, note in enumerate(notes):
        async with tutor.session() as session:
            await session.observe(note, claim=Claim("importer", f"note {note[:9]}", str(number)))
    waiting = [one.entry.id for one in await operator.candidates()]
    await operator.dispose(waiting, Outcome.PROMOTE, reason="it is so")


async def worked(database: TestDatabase, *options: str) -> Ran:
    """`idetic worker --once`, as a process of its own."""
    words = ("worker", "--once", "--json", "--dsn", database.dsn, *options)
    login = {"IDETIC_ADMIN_DSN": database.admin_dsn}
    return await to_thread.run_sync(lambda: process(*words, **login))
