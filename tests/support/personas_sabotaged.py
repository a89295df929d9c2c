"""`idetic` that takes an Actor's key for anybody's, for the control of a security test."""

from __future__ import annotations

import sys

from idetic.library import persona
from idetic.surfaces.cli.app import main
from idetic.surfaces.console import page_context

if __name__ == "__main__":
    for module in (persona, page_context):
        vars(module)["is_actor"] = lambda _spec, _scope: False
    sys.exit(main())
