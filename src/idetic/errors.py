"""One root for every error a user can meet.

An error's docstring is its default message, its `remedy` says what to do next, and its
HTTP status and exit code are stated here and nowhere else. SQLSTATEs are translated in
`idetic.store.sqlstate`, the only module that sees the driver's exceptions.
"""

from __future__ import annotations

from typing import Any, ClassVar


class IdeticError(Exception):
    """Idetic could not do that."""

    code: ClassVar[str] = "idetic_error"
    remedy: str = (
        "Try again; if it happens again, report it with the message above and the server's log."
    )
    http_status: ClassVar[int] = 500
    exit_code: ClassVar[int] = 1

    def __init__(self, message: str | None = None, *, remedy: str | None = None, **detail: Any):
        self.message = message or (type(self).__doc__ or "").strip().splitlines()[0]
        self.remedy = remedy or type(self).remedy
        self.detail = detail
        super().__init__(self.message)

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}"


# --- the caller's input -------------------------------------------------------------------


class InputError(IdeticError):
    """The input is not something memory can hold."""

    code = "bad_input"
    remedy = "Correct the named argument and call again; nothing was written."
    http_status = 422
    exit_code = 2


class TextRefused(InputError):
    """The text cannot be stored as it is."""

    code = "text_refused"


class EnvelopeRefused(InputError):
    """The envelope does not fit what the spec declares."""

    code = "envelope_refused"


class AnchorRefused(InputError):
    """The anchor values do not fit the agent's anchor."""

    code = "anchor_refused"


class ExportRefused(InputError):
    """This file is not an export that can be taken in."""

    code = "export_refused"
    remedy = "Export it again and take that file as it is; nothing was written."


class NotFound(IdeticError):
    """There is no such thing in this scope."""

    code = "not_found"
    remedy = "Check the id; an id from another anchor is never found."
    http_status = 404
    exit_code = 4


class EntryNotFound(NotFound):
    """There is no such entry in this scope."""

    code = "entry_not_found"


class ReferenceNotFound(NotFound):
    """A canonical reference names something that does not exist."""

    code = "reference_not_found"
    remedy = "Create the canonical row first, or drop the reference; nothing was written."
    http_status = 422


class AnchorNotFound(NotFound):
    """The anchor's root does not exist in the canonical context."""

    code = "anchor_not_found"
    remedy = "Register the anchor in its canonical context first, then bind again."
    http_status = 422


# --- refusals -----------------------------------------------------------------------------


class Refused(IdeticError):
    """The spec does not allow this."""

    code = "refused"
    remedy = "See `idetic spec render` for what this agent's memory allows."
    http_status = 403
    exit_code = 3


class WritePolicyRefused(Refused):
    """The write policy of this typology does not allow a direct write."""

    code = "write_policy"


class CapabilityRefused(Refused):
    """This principal does not hold the capability."""

    code = "capability"
    remedy = "Bind with a principal that holds it, or grant it under `visibility` in the spec."


class KeyRefused(Refused):
    """This API key does not hold."""

    # Unknown, wrong, expired and revoked are told alike: the difference would help only a thief.
    code = "key_refused"
    remedy = "Ask whoever gave it to you for a new one."
    http_status = 401


class TransitionRefused(Refused):
    """The entry is not in a state that allows this transition."""

    code = "transition"
    remedy = "Read the entry's history to see what became of it."
    http_status = 409


class ShadowRefused(Refused):
    """The note restates canonical content; memory carries references, never copies."""

    code = "shadow"
    remedy = "Reference the canonical row and write only what you concluded about it."
    http_status = 422


class RetriesSpent(ShadowRefused):
    """This scope was refused too often over the same canonical row."""

    code = "shadow_retries"
    remedy = (
        "Reference the canonical row and leave its words; this session takes no further note "
        "that comes near them."
    )
    http_status = 429


class RecordRefused(Refused):
    """The note is a record written out, not a conclusion about one."""

    code = "record"
    remedy = "Reference the record, and write only what you concluded about it."
    http_status = 422


class GateRefused(Refused):
    """The gate at this boundary leaves nothing of it that could be kept."""

    code = "gate"
    remedy = "Say what was concluded, without the personal data or secrets; nothing was written."
    http_status = 422


class ScopeClosed(Refused):
    """This scope is closed."""

    code = "scope_closed"
    remedy = "Open a new session or interaction and write there; nothing was written."
    http_status = 409


class AnchorTaken(Refused):
    """This anchor has memory already."""

    code = "anchor_taken"
    remedy = "Import into a database where the anchor has none yet; nothing was written."
    http_status = 409


class IdempotencyConflict(Refused):
    """This idempotency key was already used with another body."""

    code = "idempotency_conflict"
    remedy = "Use a new key for a new write; repeat a key only with the identical body."
    http_status = 409


# --- the spec -----------------------------------------------------------------------------


class SpecError(IdeticError):
    """The memory spec is not usable."""

    code = "spec"
    remedy = "Run `idetic spec check FILE` and follow the remedies."
    http_status = 422
    exit_code = 5


class SpecNotFound(SpecError):
    """There is no spec of that name."""

    code = "spec_not_found"
    http_status = 404


class SpecChanged(SpecError):
    """The spec differs from the version this database holds."""

    code = "spec_changed"
    remedy = "Look at `idetic spec plan`, then run `idetic spec apply`."
    http_status = 409


class PlanRefused(SpecError):
    """The change cannot be applied without losing data."""

    code = "plan_refused"
    http_status = 409


# --- the database -------------------------------------------------------------------------


class DatabaseError(IdeticError):
    """The database did not do its part."""

    code = "database"
    http_status = 503
    exit_code = 6


class DatabaseUnavailable(DatabaseError):
    """The database does not answer."""

    code = "database_unavailable"
    remedy = "Check that the server runs and the DSN is right, then try again."


class DatabaseUnsupported(DatabaseError):
    """This database lacks something Idetic needs."""

    code = "database_unsupported"
    remedy = "Install what is named above, or use the embedded database: `Idetic.open()`."


class UpgradeNeeded(DatabaseUnsupported):
    """This database is of an older release of Idetic."""

    code = "upgrade_needed"
    remedy = (
        "Back it up, then run `idetic upgrade` with an admin login; `idetic upgrade --plan` shows "
        "what it would do. Nothing was changed."
    )


class UpgradeStopped(DatabaseError):
    """A migration of this upgrade stopped."""

    code = "upgrade_stopped"
    remedy = (
        "Nothing of it stands, and all before it does. Mend what it names, then run `idetic "
        "upgrade` again: it goes on here. Or go back to the backup and the older release."
    )


class DistributionRefused(DatabaseError):
    """These tables cannot be distributed as they are."""

    code = "distribution_refused"
    remedy = "Look at `idetic distribute AGENT --plan` and follow the remedies."
    http_status = 409


class DatabaseClosed(DatabaseError):
    """This database handle is closed."""

    code = "database_closed"
    remedy = "Open it again with `Idetic.open()`."


class EmbeddedServerError(DatabaseError):
    """The embedded PostgreSQL server could not be run."""

    code = "embedded_server"
    remedy = "Read the server's log named above, or give a DSN: `Idetic.open('postgresql://…')`."


class Busy(DatabaseError):
    """The database was too busy to finish; nothing was written."""

    code = "busy"
    remedy = "Try again; with an idempotency key a repeat is safe."


# --- audit --------------------------------------------------------------------------------


class ChainBroken(IdeticError):
    """The chain, or what it witnesses, is not as it was written."""

    code = "chain_broken"
    remedy = "Keep the database as it is, and compare it with a backup at the positions named."
    http_status = 409
    exit_code = 9
