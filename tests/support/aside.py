"""Coroutines for fixtures that have no loop of their own."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import anyio


def run(work: Any, *arguments: Any) -> Any:
    """Run a coroutine in a thread of its own: in this one a fixture's loop may be running."""
    with ThreadPoolExecutor(1) as aside:
        return aside.submit(anyio.run, work, *arguments).result()
