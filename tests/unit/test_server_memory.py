"""The embedded server's memory is sized from the machine, and bounded by half of it."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from idetic.store.embedded import server_memory as room
from idetic.store.embedded.server_memory import MB, machine_memory, memory_settings, server_memory

GB = 1024 * MB


def file_of(settings: dict[str, str]) -> str:
    return "\n".join(f"{name} = '{value}'" for name, value in settings.items())


@pytest.mark.parametrize(
    ("total", "buffers", "work"),
    [(GB, "64MB", "2MB"), (4 * GB, "256MB", "10MB"), (16 * GB, "1024MB", "16MB")],
)
def test_a_larger_machine_gives_it_more(total: int, buffers: str, work: str) -> None:
    settings = memory_settings(total)
    assert (settings["shared_buffers"], settings["work_mem"]) == (buffers, work)


@pytest.mark.parametrize("total", [GB // 2, GB, 2 * GB, 4 * GB, 16 * GB, 1024 * GB])
def test_all_of_it_together_is_at_most_half_of_the_machine(total: int) -> None:
    found = server_memory(os.getpid(), file_of(memory_settings(total)))
    assert 0 < found.shared_buffers < found.bound <= total // 2
    assert found.bound < 4 * GB, "however large the machine is"


def test_a_container_s_limit_counts_as_the_machine(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    limit, unlimited = tmp_path / "limit", tmp_path / "unlimited"
    limit.write_text(f"{GB}\n", "ascii")
    unlimited.write_text("max\n", "ascii")
    monkeypatch.setattr(room, "_LIMITS", (str(tmp_path / "missing"), str(unlimited)))
    whole = machine_memory()
    assert whole > GB, "control: what is no limit changes nothing"
    monkeypatch.setattr(room, "_LIMITS", (str(limit),))
    assert machine_memory() == GB
