"""The HTTP reference is what the OpenAPI says: every operation, parameter and member of a body."""

from __future__ import annotations

from typing import Any

import pytest

from idetic import Idetic
from idetic.library.handles import Memory, Session
from idetic.surfaces.http.app import create_api
from tests.support.docs import DOCS, table_rows
from tests.support.openapi_page import body_rows, operation_rows

PAGE = DOCS / "reference" / "http.md"


@pytest.fixture(scope="module")
def api() -> dict[str, Any]:
    return create_api(Idetic.open("host=nowhere")).openapi()


def test_every_operation_is_on_the_page_as_it_is(api: dict[str, Any]) -> None:
    tags = {tag for path in api["paths"].values() for one in path.values() for tag in one["tags"]}
    wanted = [row for tag in sorted(tags) for row in operation_rows(api, tag)]
    assert len(wanted) >= 50
    assert sorted(table_rows(PAGE, "address")) == sorted(wanted)


def test_every_body_is_on_the_page_with_its_members(api: dict[str, Any]) -> None:
    assert table_rows(PAGE, "body") == list(body_rows(api))


def test_every_operation_has_a_verb_of_the_client(api: dict[str, Any]) -> None:
    names = {one["operationId"] for path in api["paths"].values() for one in path.values()}
    elsewhere = {
        **{f"{verb}_{place}": verb for verb in ("open", "renew", "close")
           for place in ("session", "interaction")},
    }  # fmt: skip
    # Pages and probes are for people and for load balancers.
    for name in names - {"spec_page", "healthz", "readyz"}:
        verb = elsewhere.get(name, name)
        assert hasattr(Memory, verb) or hasattr(Session, verb), name
