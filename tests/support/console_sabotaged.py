"""`idetic` whose console shows every page to everybody, for the control of a security test."""

from __future__ import annotations

import sys

from idetic.surfaces.cli.app import main
from idetic.surfaces.console.pages import ConsolePage

if __name__ == "__main__":
    ConsolePage.open_to = lambda self, context: True  # type: ignore[method-assign]
    sys.exit(main())
