"""How the server is set up: durable, quiet, and modest enough for a small machine."""

from __future__ import annotations

import os
import platform
import re
import sys

from .durable import write_durably
from .home import Home

_SETTINGS = {
    # Durability is a promise, not a default that someone may have changed.
    "fsync": "on",
    "full_page_writes": "on",
    "synchronous_commit": "on",
    # Two cores and a few gigabytes.
    "shared_buffers": "256MB",
    "effective_cache_size": "1GB",
    "maintenance_work_mem": "256MB",
    "work_mem": "16MB",
    "max_connections": "100",
    # One family of tables per agent, with indexes per cell: wide transactions.
    "max_locks_per_transaction": "256",
    "wal_compression": "lz4",
    # Queries here take milliseconds; compiling them takes longer than running them.
    "jit": "off",
    "timezone": "UTC",
    "log_timezone": "UTC",
    "password_encryption": "scram-sha-256",
    "unix_socket_permissions": "0700",
    "cluster_name": "idetic",
    # The log tells about the server, never about what it holds: a refused statement, its
    # DETAIL (the failing row) and its text would all carry memory bodies. The client is
    # told; LOG ranks above ERROR here, so that start, stop and crashes are still logged.
    "log_min_messages": "log",
    "log_min_error_statement": "panic",
    "log_error_verbosity": "terse",
    "log_checkpoints": "off",
    "log_autovacuum_min_duration": "-1",
}
_ENOUGH_SHARED_MEMORY = 1 << 30


def write_settings(home: Home) -> None:
    """Write the settings file; `ALTER SYSTEM` still overrides it."""
    settings = {
        **_SETTINGS,
        "dynamic_shared_memory_type": _shared_memory_type(),
        "recovery_init_sync_method": _recovery_sync(),
    }
    lines = [f"{name} = '{value}'" for name, value in settings.items()]
    header = "# Written by Idetic at every start. Use ALTER SYSTEM for your own settings."
    write_durably(home.settings, "\n".join([header, *lines, ""]), 0o644)


def _recovery_sync() -> str:
    """After a crash, one call per file system instead of one per file: 0.2 s, not 4.5 s.

    Linux reports the errors of that call since 5.8; durability comes first.
    """
    version = re.match(r"(\d+)\.(\d+)", platform.release())
    modern = version is not None and (int(version[1]), int(version[2])) >= (5, 8)
    return "syncfs" if sys.platform == "linux" and modern else "fsync"


def _shared_memory_type() -> str:
    """Docker gives /dev/shm 64 MB, which a parallel index build overruns."""
    try:
        shm = os.statvfs("/dev/shm")  # noqa: S108 - only measured
    except OSError:
        return "mmap"
    return "posix" if shm.f_blocks * shm.f_frsize >= _ENOUGH_SHARED_MEMORY else "mmap"
