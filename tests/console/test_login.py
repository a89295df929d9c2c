"""Logging in: only with a key that holds, for as long as it holds, and from a page of ours."""

from __future__ import annotations

import httpx
import pytest

from idetic import Principal
from idetic.keys import key_id_of
from tests.console.conftest import Console, Visit

pytestmark = pytest.mark.anyio
COOKIE = "idetic_console"


async def test_a_key_logs_in_and_the_cookie_is_for_the_server_alone(
    console: Console, visit: Visit
) -> None:
    key = await console.house.key()
    visitor = await visit(key)
    assert visitor.page.url.endswith("/console/overview")
    assert "operator: ada" in await visitor.text()
    (cookie,) = await visitor.context.cookies()
    assert (cookie["name"], cookie["path"]) == (COOKIE, "/console")
    assert cookie["httpOnly"]
    assert cookie["sameSite"] == "Strict"
    assert key not in await visitor.page.content()
    assert not any(key in frame for frame in visitor.frames)
