"""`idetic` with the application's own predicate forgotten, for the control of a security test."""

from __future__ import annotations

import sys

from idetic.surfaces.cli.app import main
from tests.support.forgetful import forget

if __name__ == "__main__":
    forget(setattr)
    sys.exit(main())
