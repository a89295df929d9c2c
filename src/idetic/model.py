"""The nouns, in the documents' words. All of them are frozen."""

from __future__ import annotations

import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, is_dataclass
from datetime import datetime
from enum import Enum, StrEnum
from types import MappingProxyType
from typing import Any, Self
from uuid import UUID

from idetic.errors import InputError


class Tier(StrEnum):
    """Durability: how long an entry lives."""

    INTERACTION = "interaction"
    SESSION = "session"
    PERSISTENT = "persistent"


class Typology(StrEnum):
    """Behaviour: what kind of memory an entry is."""

    EPISODIC = "episodic"
    SEMANTIC = "semantic"
    PROCEDURAL = "procedural"


class Origin(StrEnum):
    """Where an entry's content came from, strongest first."""

    OPERATOR = "operator"
    CANONICAL = "canonical"
    AGENT = "agent"
    TOOL = "tool"
    USER = "user"
    EXTERNAL = "external"


class Decision(StrEnum):
    """The gateway's decision about a write."""

    ADD = "ADD"
    UPDATE = "UPDATE"
    DELETE = "DELETE"
    NOOP = "NOOP"
    REJECT = "REJECT"


class Capability(StrEnum):
    """What a principal may do; the spec's `visibility` grants them."""

    OBSERVE = "observe"
    PREFER = "prefer"
    CORROBORATE = "corroborate"
    CONTRADICT = "contradict"
    LINK_ACTION = "link_action"
    ARCHIVE = "archive"
    EXEMPT = "exempt"
    PROMOTE = "promote"
    RESOLVE = "resolve"
    UNDO = "undo"
    TOMBSTONE = "tombstone"
    ERASE = "erase"
    READ = "read"
    READ_ACROSS = "read_across"
    AUDIT = "audit"
    MAINTAIN = "maintain"
    EXPORT = "export"
    IMPORT = "import"


class PrincipalKind(StrEnum):
    """Who may stand behind a scope."""

    AGENT = "agent"
    OPERATOR = "operator"
    CUSTOMER = "customer"
    AUDITOR = "auditor"
    MAINTENANCE = "maintenance"


class EntryState(StrEnum):
    """The state of an entry, derived from its state columns and never stored."""

    CURRENT = "current"
    ARCHIVED = "archived"
    SUPERSEDED = "superseded"
    INVALIDATED = "invalidated"
    DELETED = "deleted"


# Stands behind the name of whoever looked at what another would be shown, in the record of reads.
PREVIEW = " (preview)"


@dataclass(frozen=True, slots=True)
class Principal:
    """Who acts. Bound once into a scope; origin and trust follow from it."""

    kind: PrincipalKind
    name: str

    def __post_init__(self) -> None:
        try:
            object.__setattr__(self, "kind", PrincipalKind(self.kind))
        except (TypeError, ValueError):
            kinds = ", ".join(PrincipalKind)
            raise InputError(f"A principal's kind must be one of {kinds}.") from None
        if not isinstance(self.name, str) or not self.name.strip() or len(self.name) > 200:
            raise InputError(
                "A principal needs a name of 1 to 200 characters.",
                remedy='For example `Principal.agent("explorer")`.',
            )
        if "\x00" in self.name or any("\ud800" <= c <= "\udfff" for c in self.name):
            raise InputError("A principal's name may not hold NUL or lone surrogates.")
        if self.name.rstrip().endswith(PREVIEW.strip()):
            raise InputError(
                f"A principal's name may not end with {PREVIEW.strip()!r}.",
                remedy="Idetic records previews under such names; choose another name.",
            )

    @classmethod
    def agent(cls, name: str) -> Self:
        """An agent at work."""
        return cls(PrincipalKind.AGENT, name)

    @classmethod
    def operator(cls, name: str) -> Self:
        """A person who operates the agent."""
        return cls(PrincipalKind.OPERATOR, name)

    @classmethod
    def customer(cls, name: str) -> Self:
        """A customer, reading their own anchor."""
        return cls(PrincipalKind.CUSTOMER, name)

    @classmethod
    def auditor(cls, name: str) -> Self:
        """Someone who reads everything in the tenant and writes nothing."""
        return cls(PrincipalKind.AUDITOR, name)

    @classmethod
    def maintenance(cls, name: str) -> Self:
        """A background job of Idetic itself."""
        return cls(PrincipalKind.MAINTENANCE, name)

    @property
    def origin(self) -> Origin:
        """The origin class of what this principal states; never taken from a payload."""
        return _ORIGIN_OF[self.kind]


_ORIGIN_OF = {
    PrincipalKind.AGENT: Origin.AGENT,
    PrincipalKind.OPERATOR: Origin.OPERATOR,
    PrincipalKind.CUSTOMER: Origin.USER,
    PrincipalKind.AUDITOR: Origin.EXTERNAL,
    PrincipalKind.MAINTENANCE: Origin.AGENT,
}


@dataclass(frozen=True, slots=True)
class Claim:
    """What an entry asserts, in a form that can be compared: subject, attribute, value."""

    subject: str
    attribute: str
    value: str

    def as_dict(self) -> dict[str, str]:
        """The claim in the form in which an envelope contains it."""
        return {"subject": self.subject, "attribute": self.attribute, "value": self.value}

    def normalised(self) -> Claim:
        """The claim as it is compared: case, width and spacing make no difference."""
        parts = (self.subject, self.attribute, self.value)
        return Claim(
            *(" ".join(unicodedata.normalize("NFKC", p).casefold().split()) for p in parts)
        )

    @property
    def key(self) -> tuple[str, str]:
        """What the claim is about, (subject, attribute), as it is compared."""
        same = self.normalised()
        return same.subject, same.attribute


@dataclass(frozen=True, slots=True)
class Ref:
    """A reference to a canonical row: its noun in the spec, its id, optionally a version pin."""

    noun: str
    id: UUID
    version: int | None = None


def Rule(id: UUID, version: int | None = None) -> Ref:  # noqa: N802, A002 - reads as a noun
    """A reference to a canonical rule. Without a version, the current one is pinned."""
    return Ref("rule", id, version)


@dataclass(frozen=True, slots=True)
class Observation:
    """Something to observe, for `observe_many`; `observe` takes the same as arguments.

    `speaker` is the name of whoever said it. `heard_from` may name a weaker origin than the
    principal's own (an agent relaying a tool); a stronger one is refused. With `verbatim` a text
    that a gate would change is refused, instead of stored with the change.
    """

    text: str
    envelope: Mapping[str, Any] | None = None
    refs: tuple[Ref, ...] = ()
    claim: Claim | None = None
    provenance: Mapping[str, str] | None = None
    valid_at: datetime | None = None
    heard_from: Origin | None = None
    speaker: str | None = None
    idempotency_key: str | None = None
    verbatim: bool = False


@dataclass(frozen=True, slots=True)
class Place:
    """Where in the tiers a write lands: a session, perhaps an interaction, or neither."""

    session_id: UUID | None = None
    interaction_id: UUID | None = None

    @property
    def tier(self) -> Tier:
        """The tier this place belongs to."""
        if self.interaction_id is not None:
            return Tier.INTERACTION
        return Tier.PERSISTENT if self.session_id is None else Tier.SESSION


@dataclass(frozen=True, slots=True)
class Scope:
    """Anchor values and a principal, bound once and immutable. Nothing runs without one.

    `capabilities` are some of those that the spec grants the principal; None means all of them.
    """

    agent: str
    anchor: Mapping[str, Any]
    principal: Principal
    capabilities: frozenset[Capability] | None = None

    def __post_init__(self) -> None:
        object.__setattr__(self, "anchor", MappingProxyType(dict(self.anchor)))

    def __str__(self) -> str:
        """The agent, the anchor and who asks, in one line."""
        anchor = ", ".join(f"{key}={value}" for key, value in self.anchor.items())
        return f"{self.agent}, {anchor}, as {self.principal.kind}:{self.principal.name}"

    @property
    def tenant(self) -> Any:
        """The first anchor key's value."""
        return next(iter(self.anchor.values()))

    def narrowed(self, to: frozenset[Capability]) -> Scope:
        """The same scope with at most these capabilities; it gains none."""
        left = to if self.capabilities is None else to & self.capabilities
        return Scope(self.agent, self.anchor, self.principal, left)


@dataclass(frozen=True, slots=True)
class Entry:
    """One memory row: a bounded note, a structured envelope, references, and its state."""

    id: UUID
    anchor: Mapping[str, Any]
    tier: Tier
    typology: Typology
    body_text: str
    envelope: Mapping[str, Any]
    origin: Origin
    trust: int
    created_at: datetime
    created_by: str
    spec_version: int
    session_id: UUID | None = None
    interaction_id: UUID | None = None
    valid_at: datetime | None = None
    invalid_at: datetime | None = None
    archived_at: datetime | None = None
    superseded_at: datetime | None = None
    superseded_by: UUID | None = None
    invalidated_at: datetime | None = None
    deleted_at: datetime | None = None
    exempt_at: datetime | None = None
    candidate: bool = False
    meta_at: datetime | None = None
    core_at: datetime | None = None
    provenance: Mapping[str, Any] = field(default_factory=dict)
    refs: tuple[Ref, ...] = ()

    @property
    def claim(self) -> Claim | None:
        """The comparable assertion, if the entry makes one."""
        claim = self.envelope.get("claim")
        return Claim(**claim) if claim else None

    @property
    def speaker(self) -> str | None:
        """The name of whoever said it, if it is known."""
        return self.envelope.get("speaker")

    @property
    def state(self) -> EntryState:
        """The entry's state, from its state columns."""
        if self.deleted_at:
            return EntryState.DELETED
        if self.superseded_at:
            return EntryState.SUPERSEDED
        if self.invalidated_at:
            return EntryState.INVALIDATED
        if self.archived_at:
            return EntryState.ARCHIVED
        return EntryState.CURRENT


class Standing(StrEnum):
    """What an entry is to whoever reads it: words, or what follows from them and how surely."""

    SAID = "said"
    UNCONFIRMED = "unconfirmed"
    FACT = "fact"
    PREFERENCE = "preference"
    NOTE = "note"


def standing(entry: Entry) -> Standing:
    """What an entry is to its reader. A message of a log was said; other episodes are notes."""
    if entry.candidate:
        return Standing.UNCONFIRMED
    if entry.typology is Typology.SEMANTIC:
        return Standing.FACT
    if entry.typology is Typology.PROCEDURAL:
        return Standing.PREFERENCE
    return Standing.SAID if entry.provenance.get("derivation") else Standing.NOTE


@dataclass(frozen=True, slots=True)
class Overdue:
    """An entry with its pressure: 0 is fresh, and close to 1 it waits for a disposition."""

    entry: Entry
    pressure: float


@dataclass(frozen=True, slots=True)
class Receipt:
    """The durable answer to a write: what was decided, why, and where the ledger says so.

    `replayed` is True when an idempotency key found an earlier write; everything else is then
    exactly as that write returned it. `lifetime` says how long the current spec keeps the new
    entry.
    """

    id: UUID
    decision: Decision
    reason: str
    position: int
    at: datetime
    entry_id: UUID | None = None
    superseded: UUID | None = None
    detail: Mapping[str, Any] = field(default_factory=dict, repr=False)
    replayed: bool = field(default=False, compare=False)
    lifetime: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True)
class LedgerRecord:
    """One link of an anchor's chain: who did what to which entry, when and why."""

    position: int
    at: datetime
    transition: str
    entry_id: UUID | None
    actor_kind: PrincipalKind
    actor: str
    decision: Decision
    reason: str
    state_from: str | None
    state_to: str | None
    detail: Mapping[str, Any]
    receipt_id: UUID
    prev_hash: bytes
    hash: bytes
    # The position of the link by which all before it was taken in from an export.
    imported_at: int | None = None


# --- nouns as plain data: values of JSON's own types --------------------------------------------


class PlainData:
    """A dataclass that can be told as plain data: its fields, always with the same keys."""

    __slots__ = ()

    def as_data(self) -> dict[str, Any]:
        """Plain data for JSON."""
        data: dict[str, Any] = plain(self)
        return data


def plain(value: Any) -> Any:  # noqa: PLR0911 - one line for each kind of value
    """A value in JSON's own types; hashes as hexadecimal, times as ISO 8601."""
    match value:
        case Enum():
            return value.value
        case None | bool() | int() | float():
            return value
        case Mapping():
            return {str(key): plain(each) for key, each in value.items()}
        case list() | tuple():
            return [plain(each) for each in value]
        case datetime():
            return value.isoformat()
        case bytes():
            return value.hex()
        case _ if is_dataclass(value):
            return {each.name: plain(getattr(value, each.name)) for each in fields(value)}
    return str(value)
