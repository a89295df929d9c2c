"""A visitor of the console: a real browser with its own cookies, and what went wrong in it."""

from __future__ import annotations

import os
import re
import shutil
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from axe_playwright_python.async_playwright import Axe
from playwright.async_api import BrowserContext, Page

# The shell without a window: the same pages for a quarter of the work, where it is installed.
CHROMIUM = shutil.which("chromium-headless-shell") or shutil.which("chromium")
SHOTS = Path(__file__).parents[2] / ".artifacts" / "console"
SERIOUS = ("serious", "critical")


@dataclass
class Visitor:
    """One browser context with one page, at one console."""

    address: str
    context: BrowserContext
    page: Page
    errors: list[str] = field(default_factory=list)
    strange: list[str] = field(default_factory=list)
    frames: list[str] = field(default_factory=list)

    def watch(self) -> None:
        """Remember script errors, requests to other hosts, and what the sockets carried."""
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", self._said)
        self.page.on("request", lambda request: self._asked(request.url))
        self.page.on("websocket", self._connected)

    def _said(self, message: Any) -> None:
        # A page that answers 404 is said to have failed to load; that is no script's error.
        if message.type == "error" and "Failed to load resource" not in message.text:
            self.errors.append(message.text)

    def _asked(self, url: str) -> None:
        if not url.startswith("data:") and urlsplit(url).netloc != urlsplit(self.address).netloc:
            self.strange.append(url)

    def _connected(self, socket: Any) -> None:
        self._asked(socket.url)
        for event in ("framereceived", "framesent"):
            socket.on(event, lambda payload: self.frames.append(str(payload)))

    async def log_in(self, key: str) -> None:
        """Type a key into the form."""
        await self.page.goto(f"{self.address}/console/login")
        await self.page.fill("#key", key)
        await self.page.click("button[type=submit]")
        await self.ready()

    async def go(self, path: str) -> None:
        """Open a page and wait until it stands."""
        await self.page.goto(f"{self.address}/console{path}")
        await self.ready()

    async def ready(self) -> None:
        """Until the page is drawn and its socket is open."""
        await self.page.wait_for_selector("main#main h1")
        await self.page.wait_for_function("() => window.socket?.connected && window.did_handshake")
        # What takes long to count is filled in once the page is there.
        await self.page.wait_for_selector("[data-pending]", state="detached")

    async def text(self) -> str:
        """What a reader sees."""
        return await self.page.inner_text("body")

    async def shot(self, name: str) -> None:
        """Keep a picture of the whole page, for whoever sets IDETIC_SHOTS to look at it."""
        if "IDETIC_SHOTS" not in os.environ:
            return
        SHOTS.mkdir(parents=True, exist_ok=True)
        where = SHOTS / f"{re.sub(r'[^a-z0-9]+', '-', name.lower()).strip('-')}.png"
        await self.page.screenshot(path=where, full_page=True)

    async def violations(self, *rules: str) -> list[str]:
        """What axe finds serious on the page as it is, by some of its rules or by all."""
        only = {"runOnly": list(rules)} if rules else {}
        ran = await Axe().run(self.page, options={"resultTypes": ["violations"], **only})
        found = ran.response["violations"]
        return [
            f"{each['id']}: {[node['target'] for node in each['nodes']][:5]}"
            for each in found
            if each["impact"] in SERIOUS
        ]

    def was_well(self) -> None:
        """No script failed, and nothing was asked of another host."""
        # Told in words: pytest explains assertions in test files alone.
        assert self.errors == [], f"the browser said: {self.errors}"
        assert self.strange == [], f"asked of other hosts: {self.strange}"
