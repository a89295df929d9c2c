"""Generated passwords, in one file that only the owner of the home can read."""

from __future__ import annotations

import json
import secrets

from idetic.errors import EmbeddedServerError

from .durable import write_durably
from .home import Home

SUPERUSER = "postgres"


def password_of(home: Home, role: str) -> str | None:
    """The password of a role, if one was ever generated here."""
    return _load(home).get(role)


def ensure_password(home: Home, role: str) -> str:
    """The password of a role, generated and saved first if need be; under the start lock.

    Saved before the server hears of it: a password the server does not know yet can be
    set again, one that was lost cannot be found again.
    """
    known = _load(home)
    if role not in known:
        known[role] = secrets.token_urlsafe(32)
        write_durably(home.credentials, json.dumps(known, indent=1, sort_keys=True), 0o600)
    return known[role]


def _load(home: Home) -> dict[str, str]:
    try:
        stored = json.loads(home.credentials.read_text(encoding="utf-8"))
        return {str(role): str(password) for role, password in stored.items()}
    except FileNotFoundError:
        return {}
    except (ValueError, AttributeError) as error:
        raise EmbeddedServerError(
            f"The passwords of the embedded database in {home.credentials} are not readable.",
            remedy="Delete that file and stop the server; the next start sets new passwords.",
        ) from error
