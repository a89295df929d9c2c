"""A webhook: the receiver of the outbox behind an HTTP address, with signed messages."""

from __future__ import annotations

import hashlib
import hmac
import time
from http.client import HTTPConnection, HTTPException, HTTPSConnection
from urllib.parse import urlsplit

from anyio import to_thread
from pydantic import SecretStr

from idetic import wire
from idetic.errors import InputError
from idetic.evidence import OutboxMessage
from idetic.library.reasoner_settings import SettingsPart

SECONDS = 10.0
_SHORTEST_SECRET = 16


class WebhookSettings(SettingsPart):
    """Where the outbox goes, and the secret that signs its messages; without a URL, nowhere."""

    url: str | None = None
    secret: SecretStr | None = None

    def receiver(self) -> Webhook | None:
        """What workers hand messages to."""
        if self.url is None:
            return None
        return Webhook(self.url, self.secret.get_secret_value() if self.secret else "")


class Webhook:
    """Posts each message to one address. It counts as taken with a status from 200 to 299.

    Anything else raises an OSError, and the worker's job comes again later. A redirect is not
    followed: the message goes where it was sent, or nowhere.
    """

    def __init__(self, url: str, secret: str):
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or "@" in parts.netloc:
            raise InputError(
                "webhook.url is not an address.",
                remedy="Give it whole and without credentials: `https://rules.example/outbox`.",
            )
        if len(secret) < _SHORTEST_SECRET:
            raise InputError(
                f"webhook.secret has fewer than {_SHORTEST_SECRET} characters.",
                remedy="Set IDETIC_WEBHOOK_SECRET to a random text that the receiver knows too.",
            )
        self._parts, self._secret = parts, secret

    async def receive(self, message: OutboxMessage) -> None:
        """Post one message, signed with the moment it is sent at."""
        status = await to_thread.run_sync(self._post, wire.as_json(message))
        if not 200 <= status < 300:
            raise OSError(f"The webhook answered {status}.")

    def _post(self, body: bytes) -> int:
        """The status that the address answers with."""
        kind = HTTPSConnection if self._parts.scheme == "https" else HTTPConnection
        connection = kind(self._parts.hostname or "", self._parts.port, timeout=SECONDS)
        query = f"?{self._parts.query}" if self._parts.query else ""
        headers = {
            "Content-Type": "application/json",
            "Idetic-Signature": signature(self._secret, int(time.time()), body),
        }
        try:
            connection.request("POST", f"{self._parts.path or '/'}{query}", body, headers)
            return connection.getresponse().status
        except HTTPException as error:
            raise OSError("The webhook did not answer as HTTP.") from error
        finally:
            connection.close()


def signature(secret: str, moment: int, body: bytes) -> str:
    """What a message's `Idetic-Signature` says: the moment, and an HMAC over it and the body.

    A receiver computes it anew from the moment that the header names, and compares the two.
    """
    signed = hmac.new(secret.encode(), f"{moment}.".encode() + body, hashlib.sha256)
    return f"t={moment},v1={signed.hexdigest()}"
