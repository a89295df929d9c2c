"""Schemathesis against a running server: every operation of the OpenAPI, every check it has.

With IDETIC_FAULTS set: every phase, many more examples, and every principal that may do something
of its own. What the schema cannot know (an agent's declared envelope keys, nouns and action kinds)
is refused with 422, so that is an acceptable answer to data that fits the schema.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path

import anyio
import httpx
import pytest

from idetic import Principal
from idetic.model import PrincipalKind
from tests.support.http_house import House

pytestmark = pytest.mark.anyio
LONG = bool(os.environ.get("IDETIC_FAULTS"))
# Between them they may do everything; the operator may do the most.
ALL = (PrincipalKind.OPERATOR, PrincipalKind.MAINTENANCE, PrincipalKind.AUDITOR)
KINDS = ALL if LONG else ALL[:1]
PHASES = ("--max-examples", "50") if LONG else ("--phases", "fuzzing", "--max-examples", "3")
CONFIG = """
[checks]
positive_data_acceptance.expected-statuses = [200, 204, 401, 403, 404, 409, 422, 503]
"""
# One of each form: a write, a page, a path; in the long form also a question, a queue with two
# methods, and long work.
SOME = ("observe", "list", "history", *(("recall", "dispose", "verify") if LONG else ()))


async def schemathesis(house: House, place: Path, kind: PrincipalKind, *options: str) -> str:
    """Run it as a process, as its users do; what it reported."""
    key = await house.key(Principal(kind, "fuzz"))
    # The first request makes the schema, and schemathesis waits ten seconds for it, however busy
    # the machine is.
    async with httpx.AsyncClient(base_url=house.address, timeout=300) as http:
        assert (await http.get("/openapi.json")).is_success
    config = place / "schemathesis.toml"
    config.write_text(CONFIG, "utf-8")
    ran = await anyio.run_process(
        [
            str(Path(sys.executable).parent / "schemathesis"),
            "--config-file", str(config),
            "run", f"{house.address}/openapi.json",
            "--checks", "all",
            "--header", f"Authorization: Bearer {key}",
            "--seed", "7",
            "--request-timeout", "60",
            # How long an answer takes says how busy the machine is.
            "--max-response-time", "60",
            *options,
        ],
        check=False, stderr=subprocess.STDOUT, cwd=place,
    )  # fmt: skip
    said = ran.stdout.decode()
    assert ran.returncode == 0, said[-12_000:]
    assert "Server error" not in said
    return said


@pytest.mark.parametrize("kind", KINDS)
async def test_every_operation_keeps_to_the_schema(
    house: House, tmp_path: Path, kind: PrincipalKind
) -> None:
    said = await schemathesis(house, tmp_path, kind, *PHASES)
    tested = re.search(r"Tested: (\d+)", said)
    assert tested, said[-3_000:]
    assert int(tested[1]) >= 50


async def test_the_edges_of_some_are_told_alike(house: House, tmp_path: Path) -> None:
    only = [option for name in SOME for option in ("--include-operation-id", name)]
    await schemathesis(house, tmp_path, PrincipalKind.OPERATOR, "--phases", "coverage", *only)
