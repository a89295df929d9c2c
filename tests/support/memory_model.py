"""What memory promises, as plain Python: the model that the real one is compared with.

One `ModelTenant` stands for one anchor. Each verb returns what the real verb must return: an
`Expected` receipt, or the type of the error it must raise. The rules come from the documents,
not from the code: nothing is imported from Idetic but its nouns and errors.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from uuid import UUID

from idetic import Claim, Decision, EntryState, IdeticError, Receipt, Tier, Typology, errors
from idetic.model import PrincipalKind

Refusal = type[IdeticError]


@dataclass(eq=False)
class Noted:
    """One entry. Its id is learnt from the receipt: ids are the system's to choose."""

    text: str
    tier: Tier
    typology: Typology
    session: UUID | None
    interaction: UUID | None
    claim: Claim | None
    history: list[str]
    id: UUID | None = None
    state: EntryState = EntryState.CURRENT
    exempt: bool = False
    actions: set[UUID] = field(default_factory=set)


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
    open: bool = True


class ModelTenant:
    """One anchor: its entries, scopes, idempotency keys and the length of its ledger."""

    def __init__(self) -> None:
        self.entries: list[Noted] = []
        self.scopes: dict[UUID, Scoped] = {}
        self.keys: dict[str, tuple[Hashable, Receipt, Refusal | None]] = {}
        self.position = 0

    def current(self, session: UUID | None = None, interaction: UUID | None = None) -> list[Noted]:
        """What `list` shows: newest first, only what is current, only of this place."""
        return [
            noted
            for noted in reversed(self.entries)
            if noted.state is EntryState.CURRENT
            and (session is None or noted.session == session)
            and (interaction is None or noted.interaction == interaction)
        ]

    def find(self, entry_id: UUID) -> Noted | None:
        return next((noted for noted in self.entries if noted.id == entry_id), None)

    # --- verbs --------------------------------------------------------------------------

    def observe(
        self,
        kind: PrincipalKind,
        place: Scoped,
        text: str,
        *,
        restates: bool,
        key: str | None,
    ) -> Outcome:
        if not self._is_open(place):
            return errors.ScopeClosed
        tier = Tier.SESSION if place.id == place.session else Tier.INTERACTION
        body = ("observe", text, tier, kind)
        return self._replay(key, body) or self._admit(
            Noted(
                text, tier, Typology.EPISODIC, place.session,
                place.id if tier is Tier.INTERACTION else None, None, ["observed"],
            ),
            restates, key, body,
        )  # fmt: skip

    def prefer(
        self,
        kind: PrincipalKind,
        place: Scoped | None,
        text: str,
        claim: Claim | None,
        *,
        restates: bool,
        key: str | None,
    ) -> Outcome:
        if kind is not PrincipalKind.OPERATOR:
            return errors.CapabilityRefused
        if place is not None and not self._is_open(place):
            return errors.ScopeClosed
        body = ("prefer", text, claim)
        if replay := self._replay(key, body):
            return replay
        prior = self._prior(text, claim)
        if prior and (claim is None or prior.claim == claim):
            prior.history.append("preferred")
            return self._expect(Decision.NOOP, 1, entry=prior, key=key, body=body)
        session = place.session if place else None
        noted = Noted(
            text, Tier.PERSISTENT, Typology.PROCEDURAL, session, None, claim, ["preferred"]
        )
        return self._admit(noted, restates, key, body, supersedes=prior)

    def archive(self, kind: PrincipalKind, entry: UUID, reason: str, key: str | None) -> Outcome:
        return self._turn("archived", kind, entry, reason, key)

    def exempt(self, kind: PrincipalKind, entry: UUID, reason: str, key: str | None) -> Outcome:
        return self._turn("exempted", kind, entry, reason, key)

    def link_action(
        self, action: UUID, kind: str, entries: Sequence[UUID], key: str | None
    ) -> Outcome:
        body = ("link", action, kind, tuple(sorted(set(entries))))
        if replay := self._replay(key, body):
            return replay
        found = [self.find(entry) for entry in set(entries)]
        if None in found:
            return errors.EntryNotFound
        new = [noted for noted in found if noted and action not in noted.actions]
        for noted in new:
            noted.actions.add(action)
            noted.history.append("action_linked")
        decision = Decision.ADD if new else Decision.NOOP
        return self._expect(decision, len(new) + 1, key=key, body=body)

    def open(self, scope: UUID, session: UUID) -> Refusal | None:
        """Opening what is already there, open or closed, changes nothing but the ledger."""
        if scope != session and not self.scopes[session].open:
            return errors.ScopeClosed
        self.scopes.setdefault(scope, Scoped(scope, session))
        self.position += 1
        return None

    def close(self, scope: UUID) -> None:
        """Closing a session closes its interactions; closing twice is fine."""
        for scoped in self.scopes.values():
            if scope in (scoped.id, scoped.session):
                scoped.open = False
        self.position += 1

    # --- how they decide ----------------------------------------------------------------

    def _is_open(self, place: Scoped) -> bool:
        return place.open and self.scopes[place.session].open

    def _replay(self, key: str | None, body: Hashable) -> Outcome | None:
        if key is None or key not in self.keys:
            return None
        known, receipt, refusal = self.keys[key]
        if known != body:
            return errors.IdempotencyConflict
        return Expected(receipt.decision, receipt.position, raises=refusal, replay_of=receipt)

    def _prior(self, text: str, claim: Claim | None) -> Noted | None:
        for noted in self.current():
            if noted.typology is not Typology.PROCEDURAL:
                continue
            if claim is None and noted.claim is None and noted.text == text:
                return noted
            if claim and noted.claim and _key(noted.claim) == _key(claim):
                return noted
        return None

    def _admit(
        self,
        noted: Noted,
        restates: bool,
        key: str | None,
        body: Hashable,
        supersedes: Noted | None = None,
    ) -> Outcome:
        if restates:
            refused = errors.ShadowRefused
            return self._expect(Decision.REJECT, 1, raises=refused, key=key, body=body)
        self.entries.append(noted)
        if supersedes is None:
            return self._expect(Decision.ADD, 1, entry=noted, key=key, body=body)
        supersedes.state = EntryState.SUPERSEDED
        supersedes.history.append("superseded")
        return self._expect(
            Decision.UPDATE, 2, entry=noted, superseded=supersedes, key=key, body=body
        )

    def _turn(
        self, name: str, kind: PrincipalKind, entry: UUID, reason: str, key: str | None
    ) -> Outcome:
        if kind is not PrincipalKind.OPERATOR:
            return errors.CapabilityRefused
        body = (name, entry, reason)
        if replay := self._replay(key, body):
            return replay
        noted = self.find(entry)
        if noted is None:
            return errors.EntryNotFound
        archiving = name == "archived"
        done = noted.state is EntryState.ARCHIVED if archiving else noted.exempt
        if not done and noted.state is not EntryState.CURRENT:
            return errors.TransitionRefused
        if archiving:
            noted.state = EntryState.ARCHIVED
        else:
            noted.exempt = True
        noted.history.append(name)
        decision = Decision.NOOP if done else Decision.UPDATE
        return self._expect(decision, 1, entry=noted, key=key, body=body)

    def _expect(
        self,
        decision: Decision,
        links: int,
        *,
        entry: Noted | None = None,
        superseded: Noted | None = None,
        raises: Refusal | None = None,
        key: str | None,
        body: Hashable,
    ) -> Expected:
        self.position += links
        return Expected(decision, self.position, entry, superseded, raises, key=key, body=body)

    def learn(self, expected: Expected, receipt: Receipt) -> None:
        """Take in what only the system knows: the entry's id, and the receipt a key stands for."""
        if expected.entry is not None and expected.entry.id is None:
            expected.entry.id = receipt.entry_id
        if expected.key is not None and expected.replay_of is None:
            self.keys[expected.key] = (expected.body, receipt, expected.raises)


def _key(claim: Claim) -> tuple[str, str]:
    return claim.subject, claim.attribute
