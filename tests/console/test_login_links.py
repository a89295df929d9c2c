"""The demo's links log in once, on this machine, and never again or from elsewhere."""

from __future__ import annotations

from collections.abc import Mapping
from uuid import uuid4

import httpx
import pytest
from fastapi import FastAPI

from idetic.surfaces.cli.demo import DemoKey
from idetic.surfaces.cli.serve import _listed
from idetic.surfaces.console.addresses import BASE
from idetic.surfaces.console.login import COOKIE, Logins, login_routes
from idetic.surfaces.console.login_links import LoginLinks, is_local
from tests.console.conftest import Console

pytestmark = pytest.mark.anyio


class EverlastingLinks(LoginLinks):
    """Links without their protection: they hold from anywhere, however often."""

    def redeem(self, secret: str, host: str | None, headers: Mapping[str, str]) -> str:
        held = dict(self._keys)
        key = super().redeem(secret, "127.0.0.1", {})
        self._keys = held
        return key


async def opened(
    console: Console, links: LoginLinks, path: str, host: str = "127.0.0.1", **headers: str
) -> httpx.Response:
    """Open a link as a browser on some host would."""
    app = FastAPI()
    app.include_router(login_routes(Logins(console.house.db), links), prefix=BASE)
    transport = httpx.ASGITransport(app, client=(host, 4711))
    async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1") as browser:
        return await browser.get(path, headers=headers)


async def test_a_link_logs_in_once(console: Console) -> None:
    links = LoginLinks()
    path = links.issue(await console.house.key())
    answer = await opened(console, links, path)
    assert (answer.status_code, answer.headers["location"]) == (303, f"{BASE}/")
    assert answer.cookies[COOKIE]
    again = await opened(console, links, path)
    assert again.status_code == 401
    assert "was used already" in again.text
    assert COOKIE not in again.cookies


@pytest.mark.parametrize(
    ("host", "headers"),
    [
        ("10.0.0.7", {}),
        ("127.0.0.1", {"X-Forwarded-For": "10.0.0.7"}),
        ("127.0.0.1", {"Forwarded": "for=10.0.0.7"}),
    ],
    ids=["another machine", "a proxy", "a standard proxy"],
)
async def test_a_link_from_elsewhere_is_refused_and_stays_unused(
    host: str, headers: dict[str, str], console: Console
) -> None:
    links = LoginLinks()
    path = links.issue(await console.house.key())
    answer = await opened(console, links, path, host, **headers)
    assert answer.status_code == 401
    assert "on the machine that the server runs on" in answer.text
    assert COOKIE not in answer.cookies
    assert (await opened(console, links, path)).status_code == 303


async def test_control_without_the_protection_a_link_holds_twice_and_from_anywhere(
    console: Console,
) -> None:
    links = EverlastingLinks()
    path = links.issue(await console.house.key())
    for host in ("127.0.0.1", "10.0.0.7"):
        assert (await opened(console, links, path, host)).status_code == 303


async def test_a_guessed_link_and_a_key_that_ended_do_not_log_in(console: Console) -> None:
    links, keys = LoginLinks(), console.house.db.keys
    assert (await opened(console, links, f"{BASE}/enter/guessed")).status_code == 401
    path = links.issue(await console.house.key())
    await keys.revoke((await keys.list("world_agent"))[-1].id)
    assert (await opened(console, links, path)).status_code == 401


@pytest.mark.parametrize(
    ("host", "local"),
    [("127.0.0.1", True), ("::1", True), ("localhost", True), ("192.0.2.7", False), ("", False)],
)
async def test_only_a_server_on_this_machine_has_links(host: str, local: bool) -> None:
    assert is_local(host) is local


async def test_the_terminal_shows_links_and_no_key() -> None:
    ada = DemoKey("Bank", "Wires", "world_agent", "operator:ada", "idk_secret", uuid4())
    links = LoginLinks()
    shown = "\n".join(_listed([ada], lambda key: f"http://127.0.0.1:8765{links.issue(key)}"))
    assert "operator:ada" in shown
    assert "http://127.0.0.1:8765/console/enter/" in shown
    assert ada.key not in shown
