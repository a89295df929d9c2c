"""One root for every error a user can meet.

An error's docstring is its default message, its `remedy` says what to do next, and its code, HTTP
status and exit code are stated with its class and nowhere else. SQLSTATEs are translated in
`idetic.store.driver`, the only module that sees the driver's exceptions.
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

    def __init_subclass__(
        cls, *, code: str = "", http_status: int = 0, exit_code: int = 0, **more: Any
    ) -> None:
        super().__init_subclass__(**more)
        cls.code = code or cls.code
        cls.http_status = http_status or cls.http_status
        cls.exit_code = exit_code or cls.exit_code

    def __init__(self, message: str | None = None, *, remedy: str | None = None, **detail: Any):
        self.message = message or (type(self).__doc__ or "").strip().splitlines()[0]
        self.remedy = remedy or type(self).remedy
        self.detail = detail
        super().__init__(self.message)

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}"


# --- the caller's input -------------------------------------------------------------------


class InputError(IdeticError, code="bad_input", http_status=422, exit_code=2):
    """The input cannot be stored in memory."""

    remedy = "Correct the named argument and call again; nothing was written."


class TextRefused(InputError, code="text_refused"):
    """The text cannot be stored as it is."""


class EnvelopeRefused(InputError, code="envelope_refused"):
    """The envelope does not fit what the spec declares."""


class AnchorRefused(InputError, code="anchor_refused"):
    """The anchor values do not fit the agent's anchor."""


class ExportRefused(InputError, code="export_refused"):
    """This file is not an export that can be imported."""

    remedy = "Export again and import the unchanged file; nothing was written."


class NotFound(IdeticError, code="not_found", http_status=404, exit_code=4):
    """There is no such thing in this scope."""

    remedy = "Check the id; an id from another anchor is never found."


class EntryNotFound(NotFound, code="entry_not_found"):
    """There is no such entry in this scope."""


class ReferenceNotFound(NotFound, code="reference_not_found", http_status=422):
    """A canonical reference names something that does not exist."""

    remedy = "Create the canonical row first, or drop the reference; nothing was written."


class AnchorNotFound(NotFound, code="anchor_not_found", http_status=422):
    """The anchor's root does not exist in the canonical context."""

    remedy = "Register the anchor in its canonical context first, then bind again."


# --- refusals -----------------------------------------------------------------------------


class Refused(IdeticError, code="refused", http_status=403, exit_code=3):
    """The spec does not allow this."""

    remedy = "See `idetic spec render` for what this agent's memory allows."


class WritePolicyRefused(Refused, code="write_policy"):
    """The write policy of this typology does not allow a direct write."""


class CapabilityRefused(Refused, code="capability"):
    """This principal does not have the capability."""

    remedy = "Bind with a principal that has it, or grant it under `visibility` in the spec."


class KeyRefused(Refused, code="key_refused", http_status=401):
    """This API key is not valid."""

    # Unknown, wrong, expired and revoked are told alike: the difference would help only a thief.
    remedy = "Ask the person who gave you the key for a new one."


class TransitionRefused(Refused, code="transition", http_status=409):
    """The entry is not in a state that allows this transition."""

    remedy = "Read the entry's history to see which decision changed its state."


class SourceRefused(Refused, code="source", http_status=422):
    """The given source does not support the entry."""

    remedy = (
        "Name a current entry of this anchor that says the same, or observe it first. Without a "
        "source, only an operator's word counts."
    )


class ShadowRefused(Refused, code="shadow", http_status=422):
    """The note restates canonical content; memory stores references, never copies."""

    remedy = "Reference the canonical row and write only what you concluded about it."


class RetriesSpent(ShadowRefused, code="shadow_retries", http_status=429):
    """Too many notes of this scope restated the same canonical row."""

    remedy = (
        "Refer to the canonical row instead of repeating it. This session refuses every further "
        "note that repeats it."
    )


class RecordRefused(Refused, code="record", http_status=422):
    """The note copies a record instead of stating a conclusion about it."""

    remedy = "Reference the record, and write only what you concluded about it."


class GateRefused(Refused, code="gate", http_status=422):
    """The gate at this boundary removed all of the text; nothing is left to store."""

    remedy = "Write the conclusion without personal data and secrets; nothing was written."


class ScopeClosed(Refused, code="scope_closed", http_status=409):
    """This scope is closed."""

    remedy = "Open a new session or interaction and write there; nothing was written."


class AnchorTaken(Refused, code="anchor_taken", http_status=409):
    """This anchor has memory already."""

    remedy = "Import into a database where the anchor has none yet; nothing was written."


class MemoryMoved(Refused, code="memory_moved", http_status=409):
    """A running `idetic spec migrate` is moving this memory to other tables."""

    remedy = (
        "You can read it meanwhile. Write again when the migration is done: open the agent by its "
        "name, and restart programs that use the older spec. Nothing was written."
    )


class IdempotencyConflict(Refused, code="idempotency_conflict", http_status=409):
    """This idempotency key was already used with another body."""

    remedy = "Use a new key for a new write; repeat a key only with the identical body."


# --- the spec -----------------------------------------------------------------------------


class SpecError(IdeticError, code="spec", http_status=422, exit_code=5):
    """The memory spec is not usable."""

    remedy = "Run `idetic spec check FILE` and follow the remedies."


class SpecNotFound(SpecError, code="spec_not_found", http_status=404):
    """There is no spec of that name."""

    remedy = "Run `idetic spec list` to see the names, or give the path of a YAML file."


class SpecChanged(SpecError, code="spec_changed", http_status=409):
    """The spec differs from the version in this database."""

    remedy = "Look at `idetic spec plan`, then run `idetic spec apply`."


class PlanRefused(SpecError, code="plan_refused", http_status=409):
    """The change cannot be applied without losing data."""

    remedy = "See the reasons in `idetic spec plan`; `idetic spec migrate` can move the memory."


# --- the database -------------------------------------------------------------------------


class DatabaseError(IdeticError, code="database", http_status=503, exit_code=6):
    """The database could not do this."""


class DatabaseUnavailable(DatabaseError, code="database_unavailable"):
    """The database does not answer."""

    remedy = "Check that the server runs and the DSN is right, then try again."


class DatabaseUnsupported(DatabaseError, code="database_unsupported"):
    """This database lacks something Idetic needs."""

    remedy = "Install what is named above, or use the embedded database: `Idetic.open()`."


class UpgradeNeeded(DatabaseUnsupported, code="upgrade_needed"):
    """This database was made by an older release of Idetic."""

    remedy = (
        "Back it up, then run `idetic upgrade` with an admin login; `idetic upgrade --plan` shows "
        "what it would do. Nothing was changed."
    )


class UpgradeStopped(DatabaseError, code="upgrade_stopped"):
    """A migration of this upgrade stopped."""

    remedy = (
        "This migration was rolled back; those before it are done. Correct what it names, then run "
        "`idetic upgrade` again, which continues here. Or restore the backup and the older release."
    )


class DistributionRefused(DatabaseError, code="distribution_refused", http_status=409):
    """These tables cannot be distributed as they are."""

    remedy = "Look at `idetic distribute AGENT --plan` and follow the remedies."


class DatabaseClosed(DatabaseError, code="database_closed"):
    """This database handle is closed."""

    remedy = "Open it again with `Idetic.open()`."


class EmbeddedServerError(DatabaseError, code="embedded_server"):
    """The embedded PostgreSQL server could not be run."""

    remedy = "Read the server's log named above, or give a DSN: `Idetic.open('postgresql://…')`."


class Busy(DatabaseError, code="busy"):
    """The database was too busy to finish; nothing was written."""

    remedy = "Try again; with an idempotency key a repeat is safe."


class ClockRefused(DatabaseError, code="clock"):
    """The clock of this machine differs too much from the database server's."""

    remedy = (
        "Set the clocks of this machine and of the server right (NTP), then try again; nothing was "
        "written. If a clock shows another time on purpose, set `simulated = True` on it."
    )


# --- audit --------------------------------------------------------------------------------


class ChainBroken(IdeticError, code="chain_broken", http_status=409, exit_code=9):
    """The chain, or an entry that it covers, was changed after it was written."""

    remedy = "Keep the database as it is, and compare it with a backup at the positions named."
