"""`python -m idetic`: the command line."""

import sys

from idetic.surfaces.cli.app import main

if __name__ == "__main__":
    sys.exit(main())
