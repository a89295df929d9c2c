"""What only a caller over HTTP can meet. Nothing here needs the server's packages."""

from __future__ import annotations

from idetic.errors import IdeticError, InputError, NotFound, Refused


class RouteNotFound(NotFound):
    """There is nothing at this address."""

    code = "route_not_found"
    remedy = "See /openapi.json for the addresses."


class MethodRefused(InputError):
    """This address does not accept this method."""

    code = "method_refused"
    remedy = "Use one of those in the Allow header."
    http_status = 405


class BodyTooLarge(InputError):
    """The body of the request is too large."""

    code = "body_too_large"
    remedy = "Send less at once: split a batch, and reference long texts instead of copying them."
    http_status = 413


class BodyTooSlow(InputError):
    """The body of the request did not arrive in time."""

    code = "body_too_slow"
    remedy = "Send it again, less at once or over a better connection; nothing was written."
    http_status = 408


class RateLimited(Refused):
    """This key has made too many requests."""

    code = "rate_limited"
    remedy = "Wait for as long as the Retry-After header says, then go on."
    http_status = 429


class ServerPackagesMissing(IdeticError):
    """The packages of the HTTP server are not installed."""

    code = "server_packages_missing"
    remedy = "Run `pip install 'idetic[server]'`."
