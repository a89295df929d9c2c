"""What memory promises, as plain Python: the model that the real one is compared with.

One `ModelTenant` stands for one anchor. Each verb returns what the real verb must return: an
`Expected` receipt, or the type of the error it must raise; and it writes down every link that the
ledger must show. The rules come from the documents, not from the code: nothing is imported from
Idetic but its nouns and errors. What matures is in `tests/property/maturing_model.py`.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID

from idetic import (
    Claim,
    Decision,
    EntryState,
    IdeticError,
    Origin,
    Principal,
    Receipt,
    Tier,
    Typology,
    errors,
)
from idetic.evidence import ContradictionStatus, Relation, SourceType
from idetic.model import PrincipalKind
from tests.support.clock import SettableClock

Refusal = type[IdeticError]
Source = tuple[SourceType, UUID | str]
Standing = tuple[ContradictionStatus, object | None]

TRUST = {Origin.OPERATOR: 90, Origin.AGENT: 60, Origin.TOOL: 40, Origin.EXTERNAL: 20}
OWN = {PrincipalKind.OPERATOR: Origin.OPERATOR, PrincipalKind.AGENT: Origin.AGENT}


@dataclass(frozen=True)
class Said:
    """Something to say; `restates` marks what the shadow guard must refuse."""

    text: str
    claim: Claim | None = None
    referring: bool = False
    heard_from: Origin | None = None
    restates: bool = False


def actor(who: Principal) -> str:
    """A principal as rows name it."""
    return f"{who.kind}:{who.name}"


@dataclass(eq=False)
class Voice:
    """A source that spoke: who stands behind it, where it stood, how far it is trusted.

    `ref` names a thread; an operator's word has none, for it is he who counts, and once.
    """

    kind: SourceType
    ref: UUID | None
    by: str
    trust: int
    session: UUID | None = None
    withdrawn: bool = False

    @property
    def source(self) -> Source:
        return self.kind, self.ref or self.by

    @property
    def context(self) -> UUID | str:
        """Where it stood: a session, or outside of any, whoever speaks."""
        return self.session or self.by


@dataclass(eq=False)
class Dispute:
    """A contradiction with canonical content.

    `by` is the resolution it stands by, none while it is open: each is another, and an undo brings
    the same one back. `previous` is what stood before the last move.
    """

    ref: UUID
    id: UUID | None = None
    status: ContradictionStatus = ContradictionStatus.OPEN
    by: object | None = None
    previous: Standing | None = None

    @property
    def standing(self) -> Standing:
        return self.status, self.by

    def move(self, to: Standing) -> None:
        self.previous = self.standing
        self.status, self.by = to


@dataclass(eq=False)
class Noted:
    """One entry. Its id is learnt from the ledger: ids are the system's to choose."""

    text: str
    tier: Tier
    typology: Typology
    session: UUID | None
    interaction: UUID | None
    claim: Claim | None
    trust: int
    created: datetime
    by: str
    referring: bool = False
    id: UUID | None = None
    # Which one of its anchor it is: ids are in the order of making.
    number: int = 0
    gone: bool = False
    # The state columns that may be set, each to the moment that set it: never the same twice.
    columns: dict[str, Any] = field(default_factory=dict)
    history: list[str] = field(default_factory=list)
    actions: set[UUID] = field(default_factory=set)
    disputes: list[Dispute] = field(default_factory=list)
    voices: list[Voice] = field(default_factory=list)
    # The sources that spoke against it, and who stands behind each.
    failed: dict[Source, str] = field(default_factory=dict)
    # What it was made of or confirmed by; and the persistent entries of which that is said of it.
    lineage: dict[Noted, Relation] = field(default_factory=dict)
    bears: list[Noted] = field(default_factory=list)

    @property
    def candidate(self) -> bool:
        return bool(self.columns.get("candidate"))

    @property
    def state(self) -> EntryState:
        for column, state in (
            ("superseded_at", EntryState.SUPERSEDED),
            ("invalidated_at", EntryState.INVALIDATED),
            ("archived_at", EntryState.ARCHIVED),
        ):
            if self.columns.get(column):
                return state
        return EntryState.CURRENT

    @property
    def live(self) -> bool:
        return self.state is EntryState.CURRENT and not self.gone

    @property
    def standing(self) -> str:
        """Its state in the ledger's words: a candidate is not yet current."""
        return "candidate" if self.live and self.candidate else self.state.value

    @property
    def rests(self) -> bool:
        """Whether an action or a dispute is about it, so that it outlives its scope as it is."""
        return bool(self.actions or self.disputes)

    @property
    def place(self) -> UUID:
        """What counts as one source: the thread it was said in, the session, or itself."""
        found = self.interaction or self.session or self.id
        assert found is not None, "a source was written before it is asked for"
        return found

    def known(self) -> set[Source]:
        """The sources that spoke for it, also those that were withdrawn."""
        return {voice.source for voice in self.voices}

    def came_of(self, sources: Iterable[Noted], relation: Relation) -> None:
        """More entries that went into it; how each first did stays."""
        for one in sources:
            if one not in self.lineage and self.tier is Tier.PERSISTENT:
                one.bears.append(self)
            self.lineage.setdefault(one, relation)


@dataclass(eq=False)
class Link:
    """A link that the ledger must show; those of one decision share a deed."""

    position: int
    deed: int
    transition: str
    decision: Decision
    entry: Noted | None = None
    state_to: str | None = None
    was: dict[str, Any] | None = None
    put: dict[str, Any] = field(default_factory=dict)
    voice: Voice | None = None
    # A contradiction that it moved, from where and to where.
    dispute: Dispute | None = None
    moved: tuple[Standing, Standing] | None = None


@dataclass
class Expected:
    """A receipt to come. With `replay_of`, exactly that one must come back."""

    decision: Decision
    position: int
    entry: Noted | None = None
    superseded: Noted | None = None
    raises: Refusal | None = None
    replay_of: Receipt | None = None
    key: str | None = None
    body: Hashable = None


Outcome = Expected | Refusal


@dataclass
class Scoped:
    """A session or an interaction, as the database knows it."""

    id: UUID
    session: UUID
    by: str
    opened: datetime
    renewed: datetime
    open: bool = True

    @property
    def tier(self) -> Tier:
        return Tier.SESSION if self.id == self.session else Tier.INTERACTION


class ModelTenant:
    """One anchor: its entries, scopes, idempotency keys and the links of its ledger."""

    def __init__(self, clock: SettableClock) -> None:
        self.clock = clock
        self.entries: list[Noted] = []
        self.scopes: dict[UUID, Scoped] = {}
        self.keys: dict[str, tuple[Hashable, Receipt, Refusal | None]] = {}
        self.links: list[Link] = []
        self.deeds = 0

    def current(self, session: UUID | None = None, interaction: UUID | None = None) -> list[Noted]:
        """What `list` shows: newest first, only what is current, only of this place."""
        return [
            noted
            for noted in reversed(self.entries)
            if noted.live
            and (session is None or noted.session == session)
            and (interaction is None or noted.interaction == interaction)
        ]

    def persistent(self) -> Iterator[Noted]:
        """The live persistent entries, oldest first."""
        return (n for n in self.entries if n.live and n.tier is Tier.PERSISTENT)

    def find(self, entry_id: UUID | None) -> Noted | None:
        """An entry that is still there, whatever became of it."""
        return next((n for n in self.entries if n.id == entry_id and not n.gone), None)

    # --- verbs --------------------------------------------------------------------------

    def observe(self, who: Principal, place: Scoped, said: Said, key: str | None) -> Outcome:
        if not self.is_open(place):
            return errors.ScopeClosed
        origin = said.heard_from or OWN[who.kind]
        body = ("observe", said.text, said.claim, said.referring, place.tier, origin)
        if replay := self.replay(key, body):
            return replay
        if said.restates:
            return self._refuse(key, body)
        noted = Noted(
            said.text, place.tier, Typology.EPISODIC, place.session,
            place.id if place.tier is Tier.INTERACTION else None, said.claim, TRUST[origin],
            self.clock.now(), actor(who), said.referring,
        )  # fmt: skip
        return self.answer(self.enter(noted, "observed"), key, body)

    def prefer(self, who: Principal, place: Scoped | None, said: Said, key: str | None) -> Outcome:
        if who.kind is not PrincipalKind.OPERATOR:
            return errors.CapabilityRefused
        if place is not None and not self.is_open(place):
            return errors.ScopeClosed
        body = ("prefer", said.text, said.claim)
        if replay := self.replay(key, body):
            return replay
        prior = self._prior(said)
        if prior and (said.claim is None or prior.claim == said.claim):
            return self.answer(self.link("preferred", Decision.NOOP, prior), key, body)
        if said.restates:
            return self._refuse(key, body)
        noted = Noted(
            said.text, Tier.PERSISTENT, Typology.PROCEDURAL, place.session if place else None, None,
            said.claim, TRUST[Origin.OPERATOR], self.clock.now(), actor(who),
        )  # fmt: skip
        return self._state(noted, prior, key, body)

    def _state(self, noted: Noted, prior: Noted | None, key: str | None, body: Hashable) -> Outcome:
        deed, decision = self.deed(), Decision.UPDATE if prior else Decision.ADD
        if prior:
            replaced = {"superseded_at": object(), "superseded_by": noted}
            self.turn(prior, "superseded", replaced, deed)
        link = self.enter(noted, "preferred", deed=deed, decision=decision)
        return self.answer(link, key, body, superseded=prior)

    def archive(self, who: Principal, entry: UUID, reason: str, key: str | None) -> Outcome:
        return self._turned("archived", "archived_at", who, entry, reason, key)

    def exempt(self, who: Principal, entry: UUID, reason: str, key: str | None) -> Outcome:
        return self._turned("exempted", "exempt_at", who, entry, reason, key)

    def link_action(
        self, action: UUID, kind: str, entries: Sequence[UUID], key: str | None
    ) -> Outcome:
        wanted = sorted(set(entries), key=str)
        body = ("link", action, kind, tuple(wanted))
        if replay := self.replay(key, body):
            return replay
        found = [self.find(entry) for entry in wanted]
        if None in found:
            return errors.EntryNotFound
        new = [noted for noted in found if noted and action not in noted.actions]
        deed = self.deed()
        for noted in new:
            noted.actions.add(action)
            link = self.link("action_linked", Decision.ADD, noted, deed=deed)
            link.state_to = None
        decision = Decision.ADD if new else Decision.NOOP
        return self.answer(self.link("action_recorded", decision, deed=deed), key, body)

    def open(self, scope: UUID, session: UUID, who: Principal) -> Refusal | None:
        """Opening what is there renews it if it is open; what is closed stays closed."""
        if scope != session and not self.scopes[session].open:
            return errors.ScopeClosed
        known, now = scope in self.scopes, self.clock.now()
        scoped = self.scopes.setdefault(scope, Scoped(scope, session, actor(who), now, now))
        scoped.renewed = now if scoped.open else scoped.renewed
        self.link(f"{scoped.tier.value}_opened", Decision.NOOP if known else Decision.ADD)
        return None

    def is_open(self, place: Scoped) -> bool:
        return place.open and self.scopes[place.session].open

    # --- what the verbs are made of ------------------------------------------------------

    def deed(self) -> int:
        self.deeds += 1
        return self.deeds

    def link(
        self,
        transition: str,
        decision: Decision,
        entry: Noted | None = None,
        *,
        deed: int | None = None,
        voice: Voice | None = None,
    ) -> Link:
        """One more link; it names the state that its entry is in by now."""
        deed = self.deed() if deed is None else deed
        state = None if entry is None else "dropped" if entry.gone else entry.standing
        link = Link(len(self.links) + 1, deed, transition, decision, entry, state, voice=voice)
        self.links.append(link)
        if entry is not None:
            entry.history.append(transition)
        return link

    def enter(
        self,
        noted: Noted,
        transition: str,
        *,
        deed: int | None = None,
        decision: Decision = Decision.ADD,
    ) -> Link:
        """A new entry."""
        noted.number = len(self.entries)
        self.entries.append(noted)
        return self.link(transition, decision, noted, deed=deed)

    def turn(
        self, noted: Noted, transition: str, changes: dict[str, Any], deed: int | None = None
    ) -> Link:
        """Set state columns; the link keeps what they were."""
        was = {column: noted.columns.get(column) for column in changes}
        noted.columns.update(changes)
        link = self.link(transition, Decision.UPDATE, noted, deed=deed)
        link.was, link.put = was, dict(changes)
        return link

    def answer(
        self,
        link: Link,
        key: str | None,
        body: Hashable,
        *,
        superseded: Noted | None = None,
        raises: Refusal | None = None,
    ) -> Expected:
        return Expected(
            link.decision, link.position, link.entry, superseded, raises, key=key, body=body
        )

    def replay(self, key: str | None, body: Hashable) -> Outcome | None:
        if key is None or key not in self.keys:
            return None
        known, receipt, refusal = self.keys[key]
        if known != body:
            return errors.IdempotencyConflict
        return Expected(receipt.decision, receipt.position, raises=refusal, replay_of=receipt)

    def learn(self, expected: Expected, receipt: Receipt) -> None:
        """Take in what only the system knows: the receipt that a key stands for."""
        if expected.key is not None and expected.replay_of is None:
            self.keys[expected.key] = (expected.body, receipt, expected.raises)

    def _refuse(self, key: str | None, body: Hashable) -> Expected:
        link = self.link("refused", Decision.REJECT)
        return self.answer(link, key, body, raises=errors.ShadowRefused)

    def _prior(self, said: Said) -> Noted | None:
        """The preference that an operator's word meets; a pattern that waits is none."""
        for noted in self.current():
            if noted.typology is not Typology.PROCEDURAL or noted.candidate:
                continue
            if said.claim is None and noted.claim is None and noted.text == said.text:
                return noted
            if said.claim and noted.claim and noted.claim.key == said.claim.key:
                return noted
        return None

    def _turned(
        self, name: str, column: str, who: Principal, entry: UUID, reason: str, key: str | None
    ) -> Outcome:
        if who.kind is not PrincipalKind.OPERATOR:
            return errors.CapabilityRefused
        body = (name, entry, reason)
        if replay := self.replay(key, body):
            return replay
        noted = self.find(entry)
        if noted is None:
            return errors.EntryNotFound
        archiving = name == "archived"
        if noted.state is EntryState.ARCHIVED if archiving else noted.columns.get(column):
            return self.answer(self.link(name, Decision.NOOP, noted), key, body)
        if not noted.live:
            return errors.TransitionRefused
        return self.answer(self.turn(noted, name, {column: object()}), key, body)
