"""Paint: how long each page of the console takes to its first meaningful paint, small and large.

The small memory is the demo world's, the large one an anchor of a hundred thousand entries: notes
of sessions, preferences, candidates, contradictions. Neither has vectors; `anchor` measures what
those cost. From the navigation to the first frame that shows the page's own content, in a browser
that has been on each page before. The two take turns, so that a slow moment falls on both.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from collections.abc import AsyncIterator, Iterator, Mapping
from contextlib import asynccontextmanager, contextmanager
from pathlib import Path
from typing import Any
from uuid import UUID, uuid4

import anyio
import psycopg
from playwright.async_api import Browser, Page, async_playwright

from bench.common import report
from bench.place import bench_server, percentile
from bench.recall import corpus
from idetic import Claim, Idetic, Observation, Principal
from idetic.context import Worlds
from idetic.library.handles import Memory
from idetic.model import PrincipalKind, Ref
from idetic.world import load_world

SMALL, LARGE = "demo", "large"
MOST = 2.0
# Of the large anchor: a fifth are preferences and one in fifty is a candidate, all else are notes.
PREFERRED, PROPOSED, CONTRADICTED = 5, 50, 100
_EACH = 1_000
_WHEN_PAINTED = """
const seen = new MutationObserver(() => {
  const page = document.querySelector("main .page");
  if (window.painted || !page || !page.innerText.trim()) return;
  window.painted = -1;
  requestAnimationFrame(() => setTimeout(() => { window.painted = performance.now(); }, 0));
});
seen.observe(document, { childList: true, subtree: true, characterData: true });
"""
_PAGES = {
    "overview": "/overview",
    "explorer": "/explore",
    "explorer, a day": "/explore?since={today}&until={today}",
    "search": "/explore?q=when+is+the+second+check+made",
    "entry": "/entries/{entry}",
    "what is known": "/person",
    "queue, disposition": "/queues?queue=disposition",
    "queue, contradictions": "/queues?queue=contradictions",
    "queue, candidates": "/queues?queue=candidates",
    "queue, quarantine": "/queues?queue=quarantine",
    "queue, proposals": "/queues?queue=proposals",
    "context": "/context?q=when+is+the+second+check+made",
    "audit": "/audit",
    "jobs": "/jobs",
    "refusals": "/refusals",
    "spec": "/spec",
    "workshop": "/workshop",
}
# Of these alone the page is an auditor's.
_AUDITED = ("audit",)


async def main(entries: int, rounds: int) -> int:
    """Measure and report; not 0 if a page of the large memory takes longer than it may."""
    with bench_server() as server:
        async with Idetic.open(home=server.home) as db:
            places = {SMALL: await _demo(db), LARGE: await _large(db, entries)}
            with psycopg.connect(server.dsn(), autocommit=True) as admin:
                admin.execute("VACUUM ANALYZE")
            keys = {name: await _keys(db, memory) for name, memory in places.items()}
            paths = {name: await _paths(memory) for name, memory in places.items()}
            with _served(server.home) as address:
                taken = await _painted(address, keys, paths, rounds)
    rows = [_row(page, taken) for page in _PAGES]
    report("paint", rows, {"entries": entries, "rounds": rounds, "large may take": MOST})
    slow = [row["page"] for row in rows if row["large / demo"] > MOST]
    print(f"MISSED: {', '.join(slow)}" if slow else f"no page takes more than {MOST} times as long")
    return int(bool(slow))


def _row(page: str, taken: Mapping[tuple[str, str], list[float]]) -> dict[str, Any]:
    """The medians of one page, and how they compare."""
    small, large = (percentile(taken[name, page], 0.5) for name in (SMALL, LARGE))
    times = {f"{SMALL} ms": round(small), f"{LARGE} ms": round(large)}
    return {"page": page, **times, "large / demo": round(large / small, 2)}


async def _demo(db: Idetic) -> Memory:
    """The memory of the demo world's first domain, as its operator."""
    world = await load_world(db)
    login = next(one for one in world.logins if one.principal.kind is PrincipalKind.OPERATOR)
    agent = await db.agent(login.agent)
    return agent.bind(principal=login.principal, **login.anchor)


async def _large(db: Idetic, entries: int) -> Memory:
    """A memory of so many entries, written through the gateway."""
    org, domain = uuid4(), uuid4()
    worlds, agent = Worlds(db), await db.agent("world_agent")
    world = await worlds.register(org, domain, "Large")
    rule = await worlds.put_rule(org, world, "The second check of a wire is made before noon.")
    anchor = {"org_id": org, "domain_id": domain}
    memory = agent.bind(principal=Principal.agent("bench"), **anchor)
    operator = agent.bind(principal=Principal.operator("ada"), **anchor)
    texts = corpus(entries, 1, 1).texts
    preferred, proposed = entries // PREFERRED, entries // PROPOSED
    begun = time.perf_counter()
    for number, text in enumerate(texts[:preferred]):
        await operator.prefer(text, claim=Claim(f"subject {number}", "is", text[:80]))
    await _candidates(memory, rule, texts[preferred : preferred + proposed])
    for first in range(preferred + proposed, entries, _EACH):
        session = await memory.session().open()
        said = texts[first : min(first + _EACH, entries)]
        await session.observe_many([Observation(text) for text in said])
    for candidate in await operator.candidates(limit=CONTRADICTED):
        await memory.contradict(candidate.entry.id, rule, reason="it says otherwise")
    await agent.bind(principal=Principal.maintenance("bench"), **anchor).index_words()
    print(f"{entries:,} entries, {time.perf_counter() - begun:.0f} s", flush=True)
    return operator


async def _candidates(memory: Memory, rule: Ref, texts: list[str]) -> None:
    """Sessions whose close leaves each text as a candidate."""
    for first in range(0, len(texts), 100):
        async with memory.session() as session:
            said = enumerate(texts[first : first + 100], start=first)
            claimed = [
                Observation(text, refs=(rule,), claim=Claim(f"topic {number}", "is", text[:80]))
                for number, text in said
            ]
            await session.observe_many(claimed)


async def _keys(db: Idetic, memory: Memory) -> dict[str, str]:
    """Keys of an operator and of an auditor."""
    agent, anchor = memory.agent.spec.agent, memory.scope.anchor
    whose = {"operator": Principal.operator("ada"), "auditor": Principal.auditor("ben")}
    return {
        name: (await db.keys.create(agent=agent, principal=principal, anchor=anchor)).key
        for name, principal in whose.items()
    }


async def _paths(memory: Memory) -> dict[str, str]:
    """The address of each page for one memory."""
    entry: UUID = (await memory.list(limit=1))[0].id
    today = memory.agent.engine.clock.now().date()
    return {page: path.format(entry=entry, today=today) for page, path in _PAGES.items()}


@contextmanager
def _served(home: Path) -> Iterator[str]:
    """The console of a server of its own."""
    command = ["serve", "--json", "--port", "0", "--no-worker", "--rate", "1000000"]
    running = subprocess.Popen(
        [sys.executable, "-m", "idetic", *command],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "IDETIC_HOME": str(home)},
    )
    assert running.stdout
    try:
        yield json.loads(running.stdout.readline())["address"]
    finally:
        running.terminate()
        running.communicate(timeout=60)


async def _painted(
    address: str,
    keys: Mapping[str, Mapping[str, str]],
    paths: Mapping[str, Mapping[str, str]],
    rounds: int,
) -> dict[tuple[str, str], list[float]]:
    """How long each page took in each round; the first, which fills the caches, is left out."""
    taken: dict[tuple[str, str], list[float]] = {}
    async with _browser() as browser:
        visitors = {
            (name, who): await _visitor(browser, address, key)
            for name, held in keys.items()
            for who, key in held.items()
        }
        for number in range(-1, rounds):
            for page in _PAGES:
                for name in (SMALL, LARGE):
                    who = "auditor" if page in _AUDITED else "operator"
                    visitor = visitors[name, who]
                    await visitor.goto(f"{address}/console{paths[name][page]}")
                    await visitor.wait_for_function("window.painted > 0")
                    painted: float = await visitor.evaluate("window.painted")
                    if number >= 0:
                        taken.setdefault((name, page), []).append(painted)
    return taken


@asynccontextmanager
async def _browser() -> AsyncIterator[Browser]:
    """The browser that the console's tests use."""
    chromium = shutil.which("chromium-headless-shell") or shutil.which("chromium")
    async with async_playwright() as playwright:
        flags = ["--no-sandbox", "--disable-gpu"]
        browser = await playwright.chromium.launch(executable_path=chromium, args=flags)
        yield browser
        await browser.close()


async def _visitor(browser: Browser, address: str, key: str) -> Page:
    """A page that is logged in, and notes when it was painted."""
    page = await browser.new_page(viewport={"width": 1280, "height": 860})
    page.set_default_timeout(120_000)
    await page.add_init_script(_WHEN_PAINTED)
    await page.goto(f"{address}/console/login")
    await page.fill("#key", key)
    await page.click("button[type=submit]")
    await page.wait_for_selector("main#main h1")
    return page


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__, prog="python -m bench.paint")
    parser.add_argument("--entries", type=int, default=100_000)
    parser.add_argument("--rounds", type=int, default=5)
    chosen = parser.parse_args()
    sys.exit(anyio.run(main, chosen.entries, chosen.rounds))
