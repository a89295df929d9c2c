"""The embedded PostgreSQL server: started on first use, shared, stopped by clear rules.

The rules are in `EmbeddedServer`'s docstring. The modules, from the ground up: `files` (durable
files and locks), `home` (where everything lies), `account` (who runs the programs),
`server_memory` (how much it may take), `installation` (the programs and the data directory),
`server` (the process), `lease` (sharing it).
"""

from .home import default_home
from .lease import EmbeddedServer, ServerStatus, keep, memory, status, stop

__all__ = ["EmbeddedServer", "ServerStatus", "default_home", "keep", "memory", "status", "stop"]
