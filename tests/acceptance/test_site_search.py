"""The site's search, typed in a browser: what people look for leads to the right page first."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
from playwright.sync_api import Page, sync_playwright

from tests.acceptance.test_site import CONFIG, build
from tests.support.console_visit import CHROMIUM

# What somebody types, and the pages of which one must come first.
WANTED = {
    "delete user": {"how-to/erase-a-person.html"},
    "getting started": {"tutorial/getting-started.html"},
    "chat memory": {"tutorial/chat-agent.html"},
    "per user": {"how-to/memory-per-user.html"},
    "langgraph": {"how-to/langgraph.html", "tutorial/langgraph-agent.html"},
    "claude": {"how-to/mcp.html"},
    "docker": {"how-to/docker.html"},
    "upgrade": {"how-to/upgrade.html"},
    "slow": {"how-to/when-it-is-slow.html"},
}


class Quiet(SimpleHTTPRequestHandler):
    """Serves files and logs nothing."""

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - its name there
        """Say nothing."""


@pytest.fixture(scope="module")
def address(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """The built site, served: the search fetches its index."""
    into = tmp_path_factory.mktemp("searched")
    assert build(CONFIG, into).returncode == 0
    yield from served(into)


def served(folder: Path) -> Iterator[str]:
    handler = partial(Quiet, directory=str(folder))
    with ThreadingHTTPServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}"
        finally:
            server.shutdown()
            thread.join()


@pytest.fixture(scope="module")
def page() -> Iterator[Page]:
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=["--no-sandbox"])
        yield browser.new_page()
        browser.close()


def first_page(page: Page, address: str, phrase: str) -> str:
    """The page that the search lists first for what is typed."""
    page.goto(f"{address}/index.html")
    page.locator("label.md-header__button[for=__search]").first.evaluate("one => one.click()")
    page.locator(".md-search__input").press_sequentially(phrase, delay=5)
    found = page.locator(".md-search-result__item a.md-search-result__link")
    found.first.wait_for()
    page.wait_for_timeout(500)  # the list is drawn anew after each letter
    link = found.first.get_attribute("href") or ""
    return link.partition("?")[0].partition("#")[0].removeprefix(f"{address}/")


@pytest.mark.parametrize("phrase", WANTED)
def test_a_search_finds_the_right_page_first(page: Page, address: str, phrase: str) -> None:
    assert first_page(page, address, phrase) in WANTED[phrase]
