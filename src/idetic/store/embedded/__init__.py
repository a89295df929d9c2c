"""The embedded PostgreSQL server: started on first use, shared, stopped by clear rules.

The rules are in `EmbeddedServer`'s docstring. Rooms, from the ground up: `home` (where
things lie), `account` (who runs it), `locks`, `claim` (the right to work on it),
`installation` (the programs), `cluster` (the data), `postmaster` (the process), `server`
(making it run), `lease` (sharing it), `control`.
"""

from .control import ServerStatus, keep, status, stop
from .home import default_home
from .lease import EmbeddedServer

__all__ = ["EmbeddedServer", "ServerStatus", "default_home", "keep", "status", "stop"]
