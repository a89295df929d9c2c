"""What requests hold: plain data, strictly typed. What it may say is for the library to judge."""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, StrictBool, StrictInt, StrictStr

from idetic.evidence import ContradictionStatus, Outcome, SourceType
from idetic.model import Claim, Observation, Origin, Ref, Tier, Typology


def _only_text(value: object) -> object:
    """Moments and ids come as texts: pydantic would also take numbers for times."""
    if not isinstance(value, str):
        raise ValueError("it is a text")  # noqa: TRY004 - what pydantic turns into its own
    return value


def _moment(value: object) -> object:
    if isinstance(value, str) and len(value) > 10 and value[10] in "Tt ":
        return value
    raise ValueError("it is a moment such as 2026-01-31T12:00:00Z")


Id = Annotated[UUID, BeforeValidator(_only_text)]
Moment = Annotated[datetime, BeforeValidator(_moment)]
Position = Annotated[StrictInt, Field(ge=1, lt=2**63)]


class Body(BaseModel):
    """What every body shares: a key that nobody reads is a mistake, and told."""

    model_config = ConfigDict(extra="forbid")


class RefBody(Body):
    """A reference to a canonical row."""

    noun: StrictStr
    id: Id
    version: StrictInt | None = None

    def ref(self) -> Ref:
        """As the library takes it."""
        return Ref(self.noun, self.id, self.version)


class ClaimBody(Body):
    """A comparable assertion."""

    subject: StrictStr
    attribute: StrictStr
    value: StrictStr

    def claim(self) -> Claim:
        """As the library takes it."""
        return Claim(self.subject, self.attribute, self.value)


class PlaceBody(Body):
    """Where in the tiers: a session, an interaction within it, or neither."""

    session_id: Id | None = None
    interaction_id: Id | None = None


class StatedBody(Body):
    """What a preference and an observation share."""

    text: StrictStr
    envelope: dict[str, Any] | None = None
    refs: list[RefBody] = []
    claim: ClaimBody | None = None
    provenance: dict[str, StrictStr] | None = None

    def stated(self) -> dict[str, Any]:
        """As the library's verbs take it, without the text."""
        return {
            "envelope": self.envelope,
            "refs": tuple(each.ref() for each in self.refs),
            "claim": self.claim and self.claim.claim(),
            "provenance": self.provenance,
        }


class SeenBody(StatedBody):
    """One observation."""

    valid_at: Moment | None = None
    heard_from: Origin | None = None

    def seen(self) -> dict[str, Any]:
        """As `observe` takes it, without the text."""
        return {**self.stated(), "valid_at": self.valid_at, "heard_from": self.heard_from}


class ObserveBody(SeenBody, PlaceBody):
    """One observation, where it happened, and what kind of memory it is."""

    typology: Typology = Typology.EPISODIC


class BatchedBody(SeenBody):
    """One observation of many. `verbatim` refuses what a gate would change."""

    idempotency_key: StrictStr | None = None
    verbatim: StrictBool = False

    def observation(self, key: str | None) -> Observation:
        """As `observe_many` takes it."""
        chosen = key if self.idempotency_key is None else self.idempotency_key
        return Observation(self.text, **self.seen(), idempotency_key=chosen, verbatim=self.verbatim)


class BatchBody(PlaceBody):
    """Many observations, written in one transaction."""

    observations: list[BatchedBody]
    typology: Typology = Typology.EPISODIC


class PreferBody(StatedBody, PlaceBody):
    """How to do things."""


class PreferencesBody(PlaceBody):
    """Many preferences, stated in one transaction."""

    preferences: list[BatchedBody]


class QuestionBody(PlaceBody):
    """A question to memory."""

    query: StrictStr
    envelope: dict[str, Any] | None = None


class RecallBody(QuestionBody):
    """A recall, with its filters."""

    limit: StrictInt = 10
    tiers: list[Tier] = list(Tier)
    typologies: list[Typology] = []
    origins: list[Origin] = []
    min_trust: StrictInt = 0
    as_of: Moment | None = None
    include_archived: StrictBool = False
    include_candidates: StrictBool = False
    where: dict[str, Any] | None = None


class ContextBody(QuestionBody):
    """A prompt block, within a budget of tokens; `preview` leaves its session as it is."""

    budget: StrictInt | None = None
    limit: StrictInt = 20
    preview: StrictBool = False


class AskBody(Body):
    """A question from outside: an operator's or a customer's."""

    question: StrictStr


class OpenBody(Body):
    """The id of a scope: name it yourself and a repeated request opens it once."""

    id: Id | None = None


class CloseBody(Body):
    """Why a scope ends."""

    reason: StrictStr = "closed"


class ReasonBody(Body):
    """Why something is done; the ledger keeps it for good."""

    reason: StrictStr


class CorroborateBody(Body):
    """A source that confirms an entry, or fails to."""

    source_type: SourceType
    source_ref: Id
    holds: StrictBool = True
    notes: StrictStr | None = None
    provenance: dict[str, StrictStr] | None = None


class ContradictBody(ReasonBody):
    """Canonical content that an entry speaks against."""

    ref: RefBody
    provenance: dict[str, StrictStr] | None = None


class ResolveBody(Body):
    """Where a contradiction goes next."""

    status: ContradictionStatus
    notes: StrictStr


class DisposeBody(ReasonBody):
    """A decision about entries: all of them or none."""

    entries: list[Id]
    outcome: Outcome


class EntriesBody(Body):
    """Entries, by their ids."""

    entries: list[Id]


class SubjectsBody(Body):
    """What claims are about."""

    subjects: list[StrictStr]


class TallyBody(Body):
    """A key of the envelope, and which entries to look at."""

    key: StrictStr
    where: dict[str, Any] | None = None


class AdoptBody(Body):
    """What another store exported, as data: the name of a file would be one of the server's."""

    source: StrictStr
    data: dict[str, Any] | list[Any]
    dry_run: StrictBool = False


class PatternsBody(ReasonBody):
    """Entries whose pattern is to leave this anchor without whose it is."""

    entries: list[Id]


class UndoBody(ReasonBody):
    """A decision to take back, by its position in the ledger."""

    position: Position


class ActionBody(Body):
    """An action and the entries it rested on."""

    action_id: Id
    kind: StrictStr
    entries: list[Id]
    reason: StrictStr = "the action rested on these entries"


class EraseBody(ReasonBody):
    """Somebody, by every text that names them."""

    identifiers: list[StrictStr]


class QuarantineBody(ReasonBody):
    """A source, by one or more of its marks."""

    origin: Origin | None = None
    created_by: StrictStr | None = None
    session_id: Id | None = None
    since: Moment | None = None


class HeadBody(Body):
    """A chain's head that was kept, as `GET /v1/chain/head` gave it."""

    agent: StrictStr
    anchor: dict[str, Any]
    position: Annotated[StrictInt, Field(ge=0)]
    hash: Annotated[StrictStr, Field(pattern="^[0-9a-f]{64}$")]
    at: StrictStr | None


class VerifyBody(Body):
    """What to compare a chain with, if anything was kept."""

    head: HeadBody | None = None


class RescanBody(Body):
    """Which canonical content changed; without either, all of it."""

    noun: StrictStr | None = None
    ref_id: Id | None = None
