"""`idetic` with the application's own predicate forgotten, for the control of a security test."""

from __future__ import annotations

import sys

from psycopg import sql

from idetic import Scope
from idetic.store import scope as scoping
from idetic.surfaces.cli.app import main


def _forgotten(_scope: Scope, _alias: str) -> sql.SQL:
    return sql.SQL("TRUE")


if __name__ == "__main__":
    for name in ("predicate", "tenant_predicate"):
        if hasattr(scoping, name):
            setattr(scoping, name, _forgotten)
    sys.exit(main())
