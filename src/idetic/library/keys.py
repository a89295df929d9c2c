"""`db.keys`: API keys, each bound to a scope that it can never leave."""

from __future__ import annotations

import getpass
from collections.abc import Iterable, Mapping
from datetime import datetime, timedelta
from typing import TYPE_CHECKING, Any
from uuid import UUID

from idetic.errors import CapabilityRefused, InputError, KeyRefused, SpecNotFound
from idetic.ids import uuid7
from idetic.keys import ApiKey, CreatedKey, hash_of, key_id_of, new_key
from idetic.library.handles import Agent, Memory
from idetic.model import Capability, Principal
from idetic.spec.loader import load
from idetic.spec.memory_spec import MemorySpec
from idetic.store.key_store import KeyStore
from idetic.verbs.arguments import check_moment, check_uuid
from idetic.verbs.authorization import bind

if TYPE_CHECKING:
    from idetic.library.idetic import Idetic

DEFAULT_GRACE = timedelta(days=1)
MAX_GRACE = timedelta(days=90)


class Keys:
    """Keys of one database. All but `authenticate` need the admin login."""

    def __init__(self, db: Idetic):
        self._db = db
        self._agents: dict[str, Agent] = {}

    def __repr__(self) -> str:
        return f"Keys({self._db!r})"

    async def create(
        self,
        *,
        agent: str,
        principal: Principal,
        anchor: Mapping[str, Any],
        capabilities: Iterable[Capability] | None = None,
        expires_at: datetime | None = None,
    ) -> CreatedKey:
        """Create a key for one anchor and one principal of an agent; it is shown only once.

        `capabilities` limits the key to some of the principal's capabilities. The anchor is a
        mapping, because an anchor key may have the name of an argument.
        """
        if not isinstance(anchor, Mapping):
            raise InputError("anchor must be a mapping of anchor keys to values.")
        spec = (await self._newest(agent)).spec
        only = None if capabilities is None else _narrowed(spec, principal, capabilities)
        scope = bind(spec, anchor, principal, only)
        now = self._db.clock.now()
        made = new_key(uuid7())
        await self._store.create(
            made, scope, at=now, by=getpass.getuser(), expires_at=_later(expires_at, now)
        )
        return made

    async def list(self, agent: str | None = None) -> list[ApiKey]:
        """List the keys without their secrets, oldest first, including invalid ones."""
        return await self._store.list(agent=agent)

    async def rotate(
        self,
        key_id: UUID,
        *,
        grace: timedelta = DEFAULT_GRACE,
        expires_at: datetime | None = None,
    ) -> CreatedKey:
        """Create a successor with the same scope; the old key is valid until the grace period ends.

        The successor expires when the old key would have, unless you give `expires_at`.
        """
        key_id = check_uuid(key_id, "key_id")
        if not isinstance(grace, timedelta) or not timedelta(0) <= grace <= MAX_GRACE:
            raise InputError(f"grace must be a timedelta from 0 to {MAX_GRACE.days} days.")
        now = self._db.clock.now()
        made = new_key(uuid7())
        await self._store.rotate(
            key_id,
            made,
            at=now,
            by=getpass.getuser(),
            until=now + grace,
            expires_at=_later(expires_at, now),
        )
        return made

    async def revoke(self, key_id: UUID) -> None:
        """Revoke a key at once; a second call changes nothing."""
        await self._store.revoke(check_uuid(key_id, "key_id"), self._db.clock.now())

    async def authenticate(self, key: str) -> Memory:
        """Open the memory that a key stands for; an invalid key raises KeyRefused."""
        key_id = key_id_of(key)
        proven = await self._store.proven(key_id, hash_of(key), self._db.clock.now())
        if proven is None:
            raise KeyRefused
        agent = self._agents.get(proven.agent)
        if agent is None or agent.version != proven.version:
            agent = await self._newest(proven.agent)
            self._agents[proven.agent] = agent
        scope = bind(agent.spec, proven.anchor, proven.principal, proven.capabilities)
        return agent.within(scope)

    async def _newest(self, name: str) -> Agent:
        """An agent as the database holds it; a key must not apply a spec."""
        stored = await self._db.spec_versions(name) if isinstance(name, str) else []
        if not stored:
            raise SpecNotFound(
                "This database holds no such agent.",
                remedy="`idetic spec list` shows what it holds; `idetic spec apply` adds one.",
            )
        return await self._db.agent(load(stored[-1].spec))

    @property
    def _store(self) -> KeyStore:
        """The keys' table, as the application and as the admin reach it."""
        return KeyStore(self._db.database, self._db.administration)


def _narrowed(
    spec: MemorySpec, principal: Principal, capabilities: Iterable[Capability]
) -> frozenset[Capability]:
    """Some of the capabilities that the spec grants; more than that is refused."""
    try:
        # A text is a list of letters, none of which is a capability.
        only = frozenset(Capability(each) for each in capabilities)
    except (TypeError, ValueError):
        raise InputError(f"capabilities must be a list of: {', '.join(Capability)}.") from None
    if not only:
        raise InputError(
            "The list of capabilities is empty.",
            remedy="Name at least one, or leave the list out to give the key all of them.",
        )
    kind = principal.kind if isinstance(principal, Principal) else None
    more = sorted(each for each in only if kind is None or not spec.may(kind, each))
    if more:
        raise CapabilityRefused(
            f"The spec of {spec.agent} does not grant this to the principal: {', '.join(more)}.",
            remedy="A key has at most the capabilities that the spec grants; leave the others out.",
        )
    return only


def _later(moment: datetime | None, now: datetime) -> datetime | None:
    """The moment a key expires, if any, which must be still to come."""
    check_moment(moment, "expires_at")
    if moment is not None and moment <= now:
        raise InputError("expires_at is not in the future.", remedy="Name a later moment.")
    return moment
