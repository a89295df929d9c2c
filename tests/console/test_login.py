"""Logging in: only with a key that holds, for as long as it holds, and from a page of ours."""

from __future__ import annotations

import os
from uuid import UUID

import httpx
import pytest
from websockets.asyncio.client import connect
from websockets.exceptions import InvalidStatus

from idetic import Principal
from tests.console.conftest import Console, Visit
from tests.support.console_looks import faults_of

pytestmark = pytest.mark.anyio
COOKIE = "idetic_console"


async def test_a_key_logs_in_and_stays_with_the_server(console: Console, visit: Visit) -> None:
    key = await console.house.key()
    visitor = await visit(key)
    assert visitor.page.url.endswith("/console/overview")
    assert "operator: ada" in await visitor.text()
    (cookie,) = await visitor.context.cookies()
    assert (cookie["name"], cookie["path"]) == (COOKIE, "/console")
    assert cookie["httpOnly"]
    assert cookie["sameSite"] == "Strict"
    kept = await visitor.page.evaluate("JSON.stringify([localStorage, sessionStorage])")
    for seen in (await visitor.page.content(), kept, *visitor.frames):
        assert key not in seen
        assert cookie["value"] not in seen
    # NiceGUI's own storage is a folder of files where the server was started.
    assert not any(each.name == ".nicegui" for each in os.scandir())


@pytest.mark.parametrize("wrong", ["nothing like a key", "idk_aaaa_bbbb", "<b>bold</b>"])
async def test_a_key_that_does_not_hold_is_told_with_what_to_do(wrong: str, visit: Visit) -> None:
    visitor = await visit()
    await visitor.page.goto(f"{visitor.address}/console/login")
    await visitor.page.fill("#key", wrong)
    await visitor.page.click("button[type=submit]")
    said = await visitor.page.inner_text("[role=alert]")
    assert "incomplete or mistyped" in said
    assert "Copy the whole key" in said
    assert wrong not in await visitor.page.content()
    assert await visitor.context.cookies() == []
    assert await faults_of(visitor, "login refused") == []


async def test_after_the_login_one_is_where_one_wanted_to_be(
    console: Console, visit: Visit
) -> None:
    visitor = await visit()
    await visitor.page.goto(f"{visitor.address}/console/explore?q=wires&archived=1")
    assert "/console/login?next=" in visitor.page.url
    await visitor.page.fill("#key", await console.house.key())
    await visitor.page.click("button[type=submit]")
    await visitor.ready()
    assert visitor.page.url.endswith("/console/explore?q=wires&archived=1")


@pytest.mark.parametrize(
    "elsewhere", ["https://evil.test/", "//evil.test/", "/console//evil.test", "/v1/scope", ""]
)
async def test_the_login_leads_nowhere_else(console: Console, elsewhere: str) -> None:
    form = {"key": await console.house.key(), "next": elsewhere}
    headers = {"Origin": console.house.address}
    async with console.house.http() as http:
        answer = await http.post("/console/login", data=form, headers=headers)
    assert answer.status_code == 303
    assert answer.headers["location"] == "/console/"


async def test_logging_out_ends_it_everywhere(console: Console, visit: Visit) -> None:
    visitor = await visit(await console.house.key())
    kept = await visitor.context.cookies()
    await visitor.page.click("text=Log out")
    await visitor.page.wait_for_url("**/console/login")
    await visitor.context.add_cookies(kept)  # type: ignore[arg-type]
    await visitor.page.goto(f"{visitor.address}/console/overview")
    assert "/console/login" in visitor.page.url, "a kept cookie is worth nothing"


async def test_a_revoked_key_ends_with_the_next_page_and_the_next_action(
    console: Console, visit: Visit
) -> None:
    key = await console.house.key(Principal.operator("grace"))
    visitor = await visit(key)
    await visitor.go("/ask")
    listed = await console.house.db.keys.list("world_agent")
    mine = next(each.id for each in listed if each.principal.name == "grace")
    await console.house.db.keys.revoke(UUID(str(mine)))
    await visitor.page.fill("#question", "When do wires leave?")
    await visitor.page.click("main button[type=submit]")
    await visitor.page.wait_for_url("**/console/login")
    await visitor.page.goto(f"{visitor.address}/console/explore")
    assert "/console/login" in visitor.page.url
    await visitor.page.fill("#key", key)
    await visitor.page.click("button[type=submit]")
    assert "is not valid" in await visitor.page.inner_text("[role=alert]")


@pytest.mark.parametrize("path", ["/console/login", "/console/logout"])
@pytest.mark.parametrize("origin", ["https://evil.test", "null", None])
async def test_a_form_of_another_site_is_refused(
    console: Console, path: str, origin: str | None
) -> None:
    headers = {} if origin is None else {"Origin": origin}
    async with console.house.http() as http:
        answer = await http.post(path, data={"key": await console.house.key()}, headers=headers)
    assert answer.status_code == 403
    assert "set-cookie" not in answer.headers


async def opens(address: str, client: str, cookie: str, origin: str) -> bool:
    """Whether a socket to a page is let in."""
    where = address.replace("http://", "ws://")
    query = f"EIO=4&transport=websocket&client_id={client}"
    try:
        async with connect(
            f"{where}/console/_nicegui_ws/socket.io/?{query}",
            additional_headers={"Cookie": f"{COOKIE}={cookie}"},
            origin=origin,  # type: ignore[arg-type]
        ):
            return True
    except InvalidStatus:
        return False


async def test_a_socket_belongs_to_the_login_whose_page_opened_it(
    console: Console, visit: Visit
) -> None:
    mine = await visit(await console.house.key())
    theirs = await visit(await console.house.key(world=console.house.other))
    address = console.house.address
    (my_cookie,), (their_cookie,) = await mine.context.cookies(), await theirs.context.cookies()
    page = await mine.page.evaluate("window.clientId")
    assert await opens(address, page, my_cookie["value"], address), "the control: all is right"
    assert not await opens(address, page, their_cookie["value"], address)
    assert not await opens(address, page, "guessed", address)
    assert not await opens(address, "", my_cookie["value"], address), "a page without a name"
    assert not await opens(address, page, my_cookie["value"], "https://evil.test")
    async with httpx.AsyncClient(base_url=address, cookies={COOKIE: my_cookie["value"]}) as http:
        polled = await http.get("/console/_nicegui_ws/socket.io/?EIO=4&transport=polling")
    assert polled.status_code == 404


async def test_pages_may_not_be_framed_nor_reach_other_hosts(console: Console) -> None:
    async with console.house.http() as http:
        answer = await http.get("/console/login")
    policy = answer.headers["content-security-policy"]
    assert "frame-ancestors 'none'" in policy
    assert "default-src 'self'" in policy
    assert answer.headers["cache-control"] == "no-store"


async def test_the_api_keeps_its_door_beside_the_console(console: Console, visit: Visit) -> None:
    """A login is no key: the cookie opens nothing under /v1."""
    visitor = await visit(await console.house.key())
    (cookie,) = await visitor.context.cookies()
    async with console.house.http() as http:
        http.cookies.set(COOKIE, cookie["value"])
        assert (await http.get("/v1/scope")).status_code == 401
        assert (await http.get("/")).headers["location"] == "/console/"
    where = console.house.address.replace("http://", "ws://")
    with pytest.raises(InvalidStatus):
        async with connect(f"{where}/v1/scope"):
            pass


async def test_a_page_that_was_away_for_long_loads_itself_again(
    console: Console, visit: Visit
) -> None:
    """The server has forgotten it: its socket is let in, and told to begin anew."""
    visitor = await visit(await console.house.key())
    await visitor.go("/explore")
    before = await visitor.page.evaluate("window.clientId")
    gone = "window.socket.io.opts.query.client_id = crypto.randomUUID()"
    await visitor.page.evaluate(f"{gone}; window.socket.io.engine.close()")
    await visitor.page.wait_for_function(
        f"window.clientId && window.clientId !== {before!r} && window.did_handshake"
    )
    assert visitor.page.url.endswith("/console/explore")
