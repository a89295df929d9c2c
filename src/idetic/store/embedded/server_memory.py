"""The memory of the embedded server: sized from the machine, bounded, and measured."""

from __future__ import annotations

import re
from collections import Counter
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import psutil

CONNECTIONS = 100
VACUUMS = 3
MB = 1 << 20
# Where a container's limit stands: the newer form of control groups, then the older.
_LIMITS = ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes")
_SIZE = re.compile(r"^(\w+) = '(\d+)MB'$", re.MULTILINE)


def machine_memory() -> int:
    """What this process may use: the machine's memory, or its container's limit."""
    total: int = psutil.virtual_memory().total
    for path in map(Path, _LIMITS):
        with suppress(OSError, ValueError):
            total = min(total, int(path.read_text("utf-8")))
    return total


def memory_settings(total: int) -> dict[str, str]:
    """The settings that say how much memory the server takes, for a machine of this size.

    It shares the machine with the program it serves and with the model: at most half is its own,
    even if every connection sorts and every vacuum runs at once.
    """

    def share(part: int, least: int, most: int) -> str:
        """One part of the memory, within bounds in megabytes."""
        return f"{max(least, min(most, total // part // MB))}MB"

    return {
        "shared_buffers": share(16, 32, 1024),
        "effective_cache_size": share(3, 128, 16_384),
        "maintenance_work_mem": share(16, 32, 256),
        "autovacuum_work_mem": share(64, 16, 64),
        "work_mem": share(4 * CONNECTIONS, 1, 16),
        "autovacuum_max_workers": str(VACUUMS),
        "max_connections": str(CONNECTIONS),
    }


@dataclass(frozen=True, slots=True)
class ServerMemory:
    """The memory of a running server, in bytes."""

    used: int
    """What its processes have now; pages that they share count once."""
    shared_buffers: int
    bound: int
    """What it may take for its work, with every connection at work at once."""


def server_memory(pid: int, settings: str) -> ServerMemory:
    """The memory of a server that runs with these settings, as they stand in its file."""
    sizes = Counter({name: MB * int(size) for name, size in _SIZE.findall(settings)})
    each = CONNECTIONS * sizes["work_mem"] + VACUUMS * sizes["autovacuum_work_mem"]
    bound = sizes["shared_buffers"] + sizes["maintenance_work_mem"] + each
    return ServerMemory(_used(pid), sizes["shared_buffers"], bound)


def _used(pid: int) -> int:
    """What a server's processes have for themselves, and what they share."""
    own = shared = 0
    with suppress(psutil.Error):
        server = psutil.Process(pid)
        for process in (server, *server.children()):
            with suppress(psutil.Error):
                found = process.memory_info()
                # Only Linux tells how much of it is shared.
                common = getattr(found, "shared", 0)
                own, shared = own + found.rss - common, max(shared, common)
    return own + shared
