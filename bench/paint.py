"""Paint: what a reader waits for on each page of the console, with a small memory and a large one.

The small memory is the demo world's; the large one is an anchor of a hundred thousand entries that
were written a month ago: notes of sessions, preferences, candidates, contradictions and actions.
Neither has vectors: `anchor` measures what those cost. `painted` is the time from the navigation to
the first frame that shows text of the page's own, not of the menu; `whole` is when nothing is left
to be counted. Small and large take turns, so that a slow moment falls on both.

`--home` keeps the database, and finds it loaded the next time; with `--rounds 0` it loads alone.
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Mapping
from datetime import timedelta
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import anyio
import psycopg
from playwright.async_api import Page, async_playwright
from playwright.async_api import TimeoutError as NothingShown
from tests.support.console_visit import CHROMIUM, Visitor

from bench.common import report
from bench.place import bench_server, percentile, served
from bench.recall import corpus
from idetic import Claim, Idetic, Observation, Principal
from idetic.context import Worlds
from idetic.library.handles import Memory
from idetic.model import Ref, Tier, Typology
from idetic.world import load_world
from idetic.world.stage import StoryClock

SMALL, LARGE = "demo", "large"
MOST = 2.0
DAYS_AGO = 30
# Of the large anchor: a fifth are preferences and one in fifty is a candidate, all else are notes.
PREFERRED, PROPOSED, CONTRADICTED, ACTIONS = 5, 50, 100, 100
# The same each time: a database that is kept is found loaded.
_ORG, _DOMAIN, _RULE = UUID(int=1), UUID(int=2), UUID(int=3)
_EACH = 1_000
_SAID_TOGETHER = 5
_WHEN_PAINTED = """
const seen = new MutationObserver(() => {
  const page = document.querySelector("main .page");
  if (window.painted || !page || !page.innerText.trim()) return;
  window.painted = -1;
  requestAnimationFrame(() => setTimeout(() => { window.painted = performance.now(); }, 0));
});
seen.observe(document, { childList: true, subtree: true, characterData: true });
"""
_QUESTION = "q=when+is+the+second+check+made"
_QUEUES = ("disposition", "contradictions", "candidates", "quarantine", "proposals")
PAGES = {
    "overview": "/overview",
    "explorer": "/explore",
    "explorer, a day": "/explore?since={day}&until={day}",
    "explorer, the past": "/explore?as_of={day}T12:00",
    "search": f"/explore?{_QUESTION}",
    "entry": "/entries/{entry}",
    "what is known": "/person",
    "conversation": "/conversations/{conversation}",
    **{f"queue, {name}": f"/queues?queue={name}" for name in _QUEUES},
    "context": f"/context?{_QUESTION}",
    "audit": "/audit",
    "action": "/audit/{action}",
    "jobs": "/jobs",
    "refusals": "/refusals",
    "spec": "/spec",
    "workshop": "/workshop",
}
# By the beginning of a page's name: only an auditor has it.
_AUDITED = ("audit", "action")
Taken = dict[tuple[str, str, str], list[float]]


async def main(entries: int, rounds: int, home: Path | None) -> int:
    """Measure and report; not 0 if a page of the large memory takes longer than it may."""
    with bench_server(home) as server:
        async with Idetic.open(home=server.home) as db:
            memories = {SMALL: await demo(db), LARGE: await large(db, entries)}
            with psycopg.connect(server.dsn(), autocommit=True) as admin:
                admin.execute("VACUUM ANALYZE")
            if not rounds:
                return 0
            keys = {name: await _keys(db, memory) for name, memory in memories.items()}
            paths = {name: await _paths(memory) for name, memory in memories.items()}
            with served(server.home) as address:
                taken = await painted(address, keys, paths, rounds)
    rows = [_row(page, taken) for page in PAGES]
    report("paint", rows, {"entries": entries, "rounds": rounds, "large may take": MOST})
    slow = [row["page"] for row in rows if row["painted, large / demo"] > MOST]
    print(f"MISSED: {', '.join(slow)}" if slow else f"no page takes more than {MOST} times as long")
    return int(bool(slow))


def _row(page: str, taken: Taken) -> dict[str, Any]:
    """The medians of one page in ms, and how they compare."""
    found: dict[str, Any] = {"page": page}
    for what in ("painted", "whole"):
        small, big = (percentile(taken[name, page, what], 0.5) for name in (SMALL, LARGE))
        found |= {f"{what}, {SMALL}": round(small), f"{what}, {LARGE}": round(big)}
        found[f"{what}, {LARGE} / {SMALL}"] = round(big / small, 2)
    return found


async def demo(db: Idetic) -> Memory:
    """The memory of the demo world's first domain."""
    login = (await load_world(db)).logins[0]
    return (await db.agent(login.agent)).bind(principal=_operator(), **login.anchor)


async def large(db: Idetic, entries: int) -> Memory:
    """A memory of so many entries, written through the gateway a month ago."""
    begun = time.perf_counter()
    anchor = {"org_id": _ORG, "domain_id": _DOMAIN}
    whole = (await db.agent("world_agent")).bind(principal=_operator(), **anchor)
    # The actions are written last.
    if len(await _auditor(whole).actions(limit=ACTIONS)) == ACTIONS:
        return whole
    clock = StoryClock(db.clock.now() - timedelta(days=DAYS_AGO))
    clock.turn_to(1)
    worlds, agent = Worlds(db), await db.under(clock).agent("world_agent")
    world = await worlds.register(_ORG, _DOMAIN, "Large")
    says = "The second check of a wire is made before noon."
    rule = await worlds.put_rule(_ORG, world, says, rule_id=_RULE)
    writer = agent.bind(principal=Principal.agent("bench"), **anchor)
    texts = corpus(entries, 1, 1).texts
    preferred, proposed = entries // PREFERRED, entries // PROPOSED
    # A load that was stopped goes on where it was.
    stored = {(one.tier, one.typology): one.count for one in (await whole.overview()).cells}
    for first in range(stored.get((Tier.PERSISTENT, Typology.PROCEDURAL), 0), preferred, _EACH):
        said = enumerate(texts[first : min(first + _EACH, preferred)], start=first)
        wishes = [Observation(t, claim=Claim(f"subject {n}", "is", t[:80])) for n, t in said]
        await agent.bind(principal=_operator(), **anchor).prefer_many(wishes)
    noted = stored.get((Tier.SESSION, Typology.EPISODIC), 0)
    for first in range(preferred + proposed + noted, entries, _EACH):
        session = await writer.session().open()
        said_then = texts[first : first + _EACH]
        await session.observe_many([Observation(text) for text in said_then])
    waiting = stored.get((Tier.PERSISTENT, Typology.SEMANTIC), 0)
    await _candidates(writer, rule, texts[preferred + waiting : preferred + proposed])
    operator = agent.bind(principal=_operator(), **anchor)
    for found in await operator.candidates(limit=CONTRADICTED):
        await writer.contradict(found.entry.id, rule, reason="The rule says otherwise.")
    shown = [entry.id for entry in await operator.list(limit=_SAID_TOGETHER)]
    for _ in range(ACTIONS):
        await writer.link_action(uuid4(), "published_decision", shown)
    await agent.bind(principal=Principal.maintenance("bench"), **anchor).index_words()
    print(f"{entries:,} entries, {time.perf_counter() - begun:.0f} s", flush=True)
    return whole


async def _candidates(memory: Memory, rule: Ref, texts: list[str]) -> None:
    """Sessions whose close leaves each text as a candidate."""
    for first in range(0, len(texts), _SAID_TOGETHER):
        async with memory.session() as session:
            said = enumerate(texts[first : first + _SAID_TOGETHER], start=first)
            claimed = [
                Observation(text, refs=(rule,), claim=Claim(f"topic {number}", "is", text[:80]))
                for number, text in said
            ]
            await session.observe_many(claimed)


def _operator() -> Principal:
    return Principal.operator("ada")


def _auditor(memory: Memory) -> Memory:
    return memory.agent.bind(principal=Principal.auditor("ben"), **memory.scope.anchor)


async def _keys(db: Idetic, memory: Memory) -> dict[str, str]:
    """Keys of an operator and of an auditor."""
    agent, anchor = memory.agent.spec.agent, memory.scope.anchor
    whose = {"operator": _operator(), "auditor": Principal.auditor("ben")}
    return {
        name: (await db.keys.create(agent=agent, principal=principal, anchor=anchor)).key
        for name, principal in whose.items()
    }


async def _paths(memory: Memory) -> dict[str, str]:
    """The address of each page for one memory: of a candidate, what it came from, an action."""
    entry = (await memory.candidates(limit=1))[0].entry
    (reason,) = await memory.why([entry.id])
    named = {
        "day": entry.created_at.date(),
        "entry": entry.id,
        "conversation": reason.sayings[0].conversation,
        "action": (await _auditor(memory).actions(limit=1))[0].action_id,
    }
    return {page: path.format(**named) for page, path in PAGES.items()}


async def painted(
    address: str,
    keys: Mapping[str, Mapping[str, str]],
    paths: Mapping[str, Mapping[str, str]],
    rounds: int,
) -> Taken:
    """How long each page took in each round; the first, which fills the caches, is left out."""
    taken: Taken = {}
    async with async_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu"]
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=flags)
        visitors: dict[tuple[str, str], Page] = {}
        for name, held in keys.items():
            for who, key in held.items():
                context = await browser.new_context(viewport={"width": 1280, "height": 860})
                context.set_default_timeout(120_000)
                visitors[name, who] = page = await context.new_page()
                await page.add_init_script(_WHEN_PAINTED)
                await Visitor(address, context, page).log_in(key)
        for number in range(-1, rounds):
            for each in PAGES:
                for name in (SMALL, LARGE):
                    who = "auditor" if each.startswith(_AUDITED) else "operator"
                    times = await _visited(visitors[name, who], address, paths[name][each])
                    for what, took in times.items() if number >= 0 else ():
                        taken.setdefault((name, each, what), []).append(took)
        await browser.close()
    return taken


async def _visited(page: Page, address: str, path: str) -> dict[str, float]:
    """The times of one visit, in ms since its navigation."""
    await page.goto(f"{address}/console{path}")
    try:
        await page.wait_for_function("window.painted > 0")
    except NothingShown as error:
        raise RuntimeError(f"{path} showed: {await page.inner_text('main')}") from error
    await page.wait_for_selector("[data-pending]", state="detached")
    first, now = await page.evaluate("[window.painted, performance.now()]")
    return {"painted": first, "whole": now}


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m bench.paint")
    parser.add_argument("--entries", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--home", type=Path)
    chosen = parser.parse_args()
    sys.exit(anyio.run(main, chosen.entries, chosen.rounds, chosen.home))
