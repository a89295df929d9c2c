"""Where the console is, and how a page's address is written."""

from __future__ import annotations

from typing import Any
from urllib.parse import urlencode

BASE = "/console"
LOGIN = f"{BASE}/login"


def at(path: str, **query: Any) -> str:
    """The address of a page: `at("/explore", q="wires")`. What is None or empty is left out."""
    given = [(name, value) for name, value in query.items() if value not in (None, "", [], ())]
    return f"{BASE}{path}" + (f"?{urlencode(given, doseq=True)}" if given else "")


def inside(address: str | None) -> str:
    """An address to go to after the login: one of ours, or the first page."""
    # `//host` and `/\host` are other hosts to a browser; a page of ours has neither.
    ours = address is not None and address.startswith(f"{BASE}/")
    return address if ours and address and "\\" not in address and "//" not in address else at("/")
