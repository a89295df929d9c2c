"""A user's file over the sync API passes `mypy --strict`, and a mistake in it is found."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from tests.support.docs import ROOT

RIGHT = """
from uuid import UUID

from idetic import Claim, Entry, Principal, Receipt, SourceType, open_sync
from idetic.client import connect_sync


def remember(org: UUID, domain: UUID) -> list[Entry]:
    with open_sync() as db:
        memory = db.agent("world_agent").bind(
            principal=Principal.operator("ada"), org_id=org, domain_id=domain
        )
        with memory.session() as session, session.interaction() as turn:
            receipt: Receipt = turn.observe("It rained.", claim=Claim("rain", "was", "heavy"))
        if receipt.entry_id is not None:
            memory.corroborate(receipt.entry_id, holds=True)
        texts: list[str] = [hit.entry.body_text for hit in memory.recall("rain", limit=3)]
        print(texts, memory.scope.agent, db.keys.list("world_agent"))
        return memory.list(limit=10)


def over_http(url: str, key: str) -> str:
    with connect_sync(url, key) as memory:
        return memory.ask("Did it rain?").text
"""
WRONG = """
from idetic import open_sync

with open_sync() as db:
    memory = db.agent("world_agent").within("nobody")
    memory.recall(5)
    memory.observ("It rained.")
    number: int = memory.overview().entries
"""


def checked(file: Path) -> subprocess.CompletedProcess[str]:
    """With the project's own settings and cache, so that only this file is looked at anew."""
    command = [sys.executable, "-m", "mypy", "--strict", str(file)]
    return subprocess.run(
        command, check=False, cwd=ROOT, capture_output=True, text=True, timeout=600
    )


def test_a_file_that_uses_it_passes(tmp_path: Path) -> None:
    file = tmp_path / "right.py"
    file.write_text(RIGHT)
    found = checked(file)
    assert found.returncode == 0, found.stdout


def test_control_each_mistake_is_found(tmp_path: Path) -> None:
    file = tmp_path / "wrong.py"
    file.write_text(WRONG)
    found = checked(file)
    assert found.returncode == 1
    for told in (
        'Argument 1 has incompatible type "str"; expected "Scope"',
        'Argument 1 has incompatible type "int"; expected "str"',
        '"SyncMemory" has no attribute "observ"',
    ):
        assert told in found.stdout, found.stdout
