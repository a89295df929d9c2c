"""Persona: operators see both personas; an Actor's login shows no trace of the other one."""

from __future__ import annotations

import re
from dataclasses import dataclass

import pytest

from idetic import Capability, Principal
from idetic.persona.events import EventKind, Persona
from idetic.persona.persona_memory import PersonaMemory
from tests.console.conftest import Console, Visit
from tests.support.console_looks import unreadable
from tests.support.console_seed import MARKUP
from tests.support.console_visit import Visitor
from tests.support.http_house import serving
from tests.support.persona import remembering, task

pytestmark = pytest.mark.anyio
SECRET = "Most visitors who ask for a garage come by train."
ASKED, ANSWERED = "Where can I park?", "In the garage behind the station."
NOTE = "Mention the shuttle bus first."
# What an Actor's page may never hold: neither a word for the other one, nor what it does.
TRACES = re.compile(r"sub-?conscious|persona|dream|" + re.escape(SECRET), re.IGNORECASE)


@dataclass(frozen=True)
class Stage:
    """One agent's persona memory, lived in, and keys to it."""

    console: Console
    memory: PersonaMemory

    async def key(self, principal: Principal, *only: Capability) -> str:
        made = await self.console.house.db.keys.create(
            agent="persona_agent",
            principal=principal,
            anchor={"tenant_id": "acme", "agent_id": "help-desk"},
            capabilities=only or None,
        )
        return made.key

    async def actor(self) -> str:
        return await self.key(Principal.agent("help-desk"))


@pytest.fixture(scope="module")
async def stage(console: Console) -> Stage:
    db = console.house.db
    await db.agent("persona_agent")
    memory = await remembering(db)
    await task(memory, ASKED, ANSWERED)
    await task(memory, MARKUP, "That is not a question.")
    async with memory.loop("review", Persona.SUBCONSCIOUS) as loop:
        await loop.append(EventKind.SUBCONSCIOUS_OUTPUT, SECRET)
    await memory.note(NOTE)
    # A loop of another process that died before anything was derived.
    torn = await remembering(db, derive=False)
    async with torn.loop("torn") as loop:
        await loop.append(EventKind.USER_INPUT, "Is the garage open on Sundays?")
    return Stage(console, memory)


async def everything(visitor: Visitor) -> str:
    """All that reached the browser: every page as it came, and what the sockets carried."""
    said = "\n".join(visitor.frames)
    for path in ("/", "/loops"):
        answer = await visitor.context.request.get(f"{visitor.address}/console{path}")
        said += await answer.text()
    return said + await visitor.page.content()


async def test_an_operator_sees_both_and_dreams(stage: Stage, visit: Visit) -> None:
    visitor = await visit(await stage.key(Principal.operator("ada")))
    await visitor.page.click("nav a:has-text('Persona')")
    await visitor.ready()
    said = await visitor.text()
    for text in (ANSWERED, SECRET, NOTE, "Loops of the Actor", "Loops of the Subconscious"):
        assert text in said
    assert "events without a long-term entry: 1" in said
    await visitor.shot("persona before")
    await visitor.page.click("button:text-is('Dream')")
    await visitor.page.wait_for_selector("p[role=status]:has-text('The dream derived 1,')")
    await visitor.page.wait_for_selector(
        "text=events without a long-term entry: 1", state="detached"
    )
    await visitor.shot("persona after")
    actor, own = await stage.memory.subconscious.coverage()
    assert (actor.without_ltm, own.without_ltm) == ((), ())
    await visitor.page.wait_for_selector("li:has-text('open on Sundays?')")
    assert any("Dreaming" in frame for frame in visitor.frames), "how far it was"


async def test_both_pages_are_readable(stage: Stage, visit: Visit) -> None:
    (loop, *_) = await stage.memory.actor.window()
    pages = {
        "persona overview": "/overview",
        "persona": "/persona",
        "persona loop": f"/persona?loop={loop.loop_id}",
    }
    assert await unreadable(await visit(await stage.key(Principal.operator("ada"))), pages) == {}
    assert await unreadable(await visit(await stage.actor()), {"actor": "/loops"}) == {}


async def test_a_loop_is_shown_with_its_events_as_text(stage: Stage, visit: Visit) -> None:
    visitor = await visit(await stage.key(Principal.operator("ada")))
    await visitor.go("/persona")
    await visitor.page.click(f"li:has-text('{ASKED}') >> a:has-text('events')")
    await visitor.ready()
    said = await visitor.text()
    assert f"found: {ANSWERED}" in said
    assert "tool result" in said
    await visitor.go("/persona")
    assert MARKUP.split()[0] in await visitor.text()
    assert await visitor.page.evaluate("() => window.pwned === undefined")
    for path in ("/persona?loop=nonsense", f"/persona?loop={'0' * 32}"):
        await visitor.go(path)
        assert await visitor.page.locator(".notice.bad, .empty").count() == 1


async def test_who_may_not_maintain_has_no_dream(stage: Stage, visit: Visit) -> None:
    for principal in (Principal.auditor("ben"), Principal.operator("eve")):
        only = (Capability.READ, Capability.READ_ACROSS)
        visitor = await visit(await stage.key(principal, *only))
        await visitor.go("/persona")
        assert SECRET in await visitor.text()
        assert await visitor.page.locator("button:text-is('Dream')").count() == 0


async def test_an_actors_login_shows_its_memory_and_no_trace_of_more(
    stage: Stage, visit: Visit
) -> None:
    visitor = await visit(await stage.actor())
    assert visitor.page.url.endswith("/console/loops")
    said = await visitor.text()
    for text in (ANSWERED, NOTE, "Coverage"):
        assert text in said
    await visitor.shot("actor loops")
    await visitor.page.click(f"li:has-text('{ASKED}') >> a:has-text('events')")
    await visitor.ready()
    assert "position 1" in await visitor.text()
    found = TRACES.search(await everything(visitor))
    assert found is None, found
    assert await visitor.page.locator("nav li").count() == 1
    assert await visitor.page.locator("#search").count() == 0


async def test_control_an_actors_key_that_is_not_told_apart_shows_the_traces(
    stage: Stage, visit: Visit
) -> None:
    """The same key and the same search, over a server that takes no Actor for one."""
    house = stage.console.house
    options = ("--no-worker", "--rate", "5000")
    module = "tests.support.personas_sabotaged"
    with serving(house.database, *options, module=module) as process:
        visitor = await visit(await stage.actor(), process)
        await visitor.go("/persona")
        assert SECRET in await visitor.text()
        assert TRACES.search(await everything(visitor))
        await visitor.context.close()


async def test_an_actors_login_has_no_other_page(stage: Stage, visit: Visit) -> None:
    visitor = await visit(await stage.actor())
    for path in ("/overview", "/explore", "/spec", "/persona", "/queues", "/audit", "/context",
                 "/ask", "/jobs", "/refusals"):  # fmt: skip
        await visitor.go(path)
        said = await visitor.text()
        assert "There is no such page." in said, path
        assert TRACES.search(said) is None, path


async def test_an_actors_key_reads_no_trace_of_more_over_the_api(stage: Stage) -> None:
    """Every operation that needs no id; what an operator reads of the spec is the control."""
    house = stage.console.house
    async with house.http(await stage.key(Principal.operator("ada"))) as http:
        assert TRACES.search((await http.get("/v1/spec")).text)
    async with house.http(await stage.actor()) as http:
        paths = (await http.get("/openapi.json")).json()["paths"]
        asked = [path for path, ways in paths.items() if "get" in ways and "{" not in path]
        assert {"/v1/spec", "/v1/spec/page", "/v1/overview", "/v1/jobs"} <= set(asked)
        for path in asked:
            answer = await http.get(path)
            # The key's own agent is called so.
            said = answer.text.replace("persona_agent", "")
            assert TRACES.search(said) is None, (path, said)
        assert (await http.get("/v1/spec")).status_code == 403


async def test_the_actors_numbers_do_not_move_when_the_other_one_writes(
    stage: Stage, visit: Visit
) -> None:
    visitor = await visit(await stage.actor())
    before = await visitor.page.inner_text(".page")
    async with stage.memory.loop("more", Persona.SUBCONSCIOUS) as loop:
        await loop.append(EventKind.SUBCONSCIOUS_OUTPUT, "Nobody should see a difference.")
    await visitor.go("/loops")
    assert await visitor.page.inner_text(".page") == before


async def test_a_loop_of_the_other_one_is_not_found(stage: Stage, visit: Visit) -> None:
    (latest, *_) = await stage.memory.subconscious.window(Persona.SUBCONSCIOUS)
    visitor = await visit(await stage.actor())
    texts = []
    for chosen in (latest.loop_id, "0" * 32):
        await visitor.go(f"/loops?loop={chosen}")
        texts.append(await visitor.page.inner_text(".page"))
    assert texts[0] == texts[1], "as one that never was"
    assert "There is no such loop." in texts[0]


async def test_keys_of_other_agents_have_no_persona_page(stage: Stage, visit: Visit) -> None:
    visitor = await visit(await stage.console.house.key())
    assert await visitor.page.locator("nav a:has-text('Persona')").count() == 0
    for path in ("/persona", "/loops"):
        await visitor.go(path)
        assert "There is no such page." in await visitor.text()
