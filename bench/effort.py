"""Processor time of a run: unlike the clock, it hardly feels what else a machine does."""

from __future__ import annotations

import os
from pathlib import Path


def processor_seconds(home: Path | None = None) -> float:
    """What this process, those it has ended, and the server of a home have computed."""
    spent = sum(os.times()[:4])
    if home is None or (server := _postmaster(home)) is None:
        return spent
    ticks = _ticks(server, ended=True) + sum(_ticks(each) for each in _children(server))
    return spent + ticks / os.sysconf("SC_CLK_TCK")


def _postmaster(home: Path) -> int | None:
    found = next(iter(home.glob("**/postmaster.pid")), None)
    # Only Linux tells what another process computed.
    if found is None or not Path("/proc/self/stat").exists():
        return None
    return int(found.read_text(encoding="utf-8").partition("\n")[0])


def _ticks(process: int, *, ended: bool = False) -> int:
    """What a process has computed, and with `ended` its children that are no more."""
    told = _stat(process)
    return sum(map(int, told[11 : 15 if ended else 13])) if told else 0


def _children(process: int) -> list[int]:
    every = (int(path.name) for path in Path("/proc").iterdir() if path.name.isdecimal())
    return [one for one in every if (told := _stat(one)) and int(told[1]) == process]


def _stat(process: int) -> list[str]:
    """What the system tells of a process, from its state on; nothing of one that is gone."""
    try:
        told = Path(f"/proc/{process}/stat").read_text(encoding="utf-8")
    except OSError:
        return []
    return told.rpartition(")")[2].split()
