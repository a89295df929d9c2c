"""Where the server is reached, and whether someone answers there."""

from __future__ import annotations

import os
import socket

from psycopg import pq
from psycopg.conninfo import make_conninfo

from idetic.errors import EmbeddedServerError

from .home import PORT, Home

# libpq fills what a connection string leaves out from the environment. PGHOSTADDR, meant for
# another server, would send us there; PGCHANNELBINDING=require cannot work without TLS. What
# is stated here is not looked up there.
_STATED: dict[str, str | int] = {
    "hostaddr": "",
    "port": PORT,
    "options": "",
    "sslmode": "disable",
    "gssencmode": "disable",
    "channel_binding": "disable",
    "target_session_attrs": "any",
}


def connection_string(home: Home, **parameters: str | int) -> str:
    """A libpq connection string for this home's server, whatever the environment says."""
    return make_conninfo("", host=str(home.socket_dir), **{**_STATED, **parameters})


def ping(home: Home) -> pq.Ping:
    """Ask the server how it is: a millisecond, without a password."""
    conninfo = connection_string(home, user="postgres", dbname="postgres", connect_timeout=2)
    state = pq.Ping(pq.PGconn.ping(os.fsencode(conninfo)))
    if state is pq.Ping.NO_ATTEMPT:
        suspects = ", ".join(sorted(name for name in os.environ if name.startswith("PG")))
        raise EmbeddedServerError(
            f"libpq does not even try to connect to {home.socket_dir}; it was told by the "
            f"environment: {suspects or 'nothing'}.",
            remedy="Unset PGSERVICE and other PG variables meant for another server.",
        )
    return state


def is_listening(home: Home) -> bool:
    """Whether the socket has a listener, even one too busy to answer."""
    with socket.socket(socket.AF_UNIX) as probe:
        probe.setblocking(False)
        try:
            probe.connect(str(home.socket_dir / f".s.PGSQL.{PORT}"))
        except BlockingIOError:
            return True
        except OSError:
            return False
    return True
