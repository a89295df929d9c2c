"""The pictures of the console in the docs: `make picture` takes them anew, of the demo world."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from pathlib import Path

from playwright.async_api import Page, async_playwright

from idetic.embed import install
from tests.support.children import child
from tests.support.console_visit import CHROMIUM
from tests.support.strangers import new_place

PICTURES = Path(__file__).parents[2] / "docs" / "pictures"
PLACE = ("Nordhafen Bank", "Instant payments", "operator:ada")
_TO_THE_TOP = "it => scrollBy(0, it.closest('section').getBoundingClientRect().top - 24)"
ASKED = "/console/explore?q=Why+do+names+match+only+closely%3F"


def main() -> None:
    """Serve the demo world, look at it, and keep what is seen."""
    # A home of its own: the user's may hold a memory, or the demo world of an earlier day.
    with new_place() as place:
        _picture(place / "home")


def _picture(home: Path) -> None:
    command = [sys.executable, "-m", "idetic", "serve", "--demo", "--json", "--port", "0"]
    found = {"IDETIC_HOME": str(home), "IDETIC_MODEL_DIR": str(install().path)}
    with child(command, stdout=subprocess.PIPE, env={**os.environ, **found}) as running:
        assert running.stdout
        told = json.loads(running.stdout.readline())
        keys = {(k["organisation"], k["domain"], k["principal"]): k["key"] for k in told["keys"]}
        asyncio.run(_take(told["address"], keys[PLACE]))
        running.terminate()
        running.wait()


async def _take(address: str, key: str) -> None:
    async with async_playwright() as playwright:
        browser = await playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        page = await browser.new_page(viewport={"width": 1200, "height": 820})
        page.set_default_timeout(120_000)
        await page.goto(f"{address}/console")
        await page.fill("input[name=key]", key)
        await page.keyboard.press("Enter")
        await page.wait_for_url("**/console/overview")
        await page.goto(f"{address}{ASKED}")
        best = page.locator(".line").first
        await best.get_by_text("Why").click()
        await _keep(page, "console")
        await best.locator("a").click()
        # What an entry rests on stands below its facts.
        await page.get_by_text("Why memory says this").evaluate(_TO_THE_TOP)
        await _keep(page, "why")
        await page.goto(f"{address}/console/person")
        await page.locator(".known").first.wait_for()
        await _keep(page, "person")
        await browser.close()


async def _keep(page: Page, name: str) -> None:
    """Keep a picture of what the window shows."""
    PICTURES.mkdir(exist_ok=True)
    await page.screenshot(path=PICTURES / f"{name}.png")


if __name__ == "__main__":
    main()
