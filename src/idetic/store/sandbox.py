"""The sandbox: a spec applied and tried within one transaction, which is always rolled back.

Nothing of it is ever committed. So nothing is left even of one whose process was killed: the server
rolls back what its client left.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import datetime

import anyio

from idetic.errors import DatabaseUnsupported
from idetic.model import Scope
from idetic.spec.loader import load
from idetic.spec.memory_spec import MemorySpec
from idetic.store import scope as scoping
from idetic.store.database import Connection, Database, Transaction, fetch
from idetic.store.driver import translated
from idetic.store.plan import FILE, Plan
from idetic.store.registry import Registry, apply_spec
from idetic.store.templates import BoundStatement

NAME = "idetic_sandbox"
# Tables that the spec refers to take no writes meanwhile, and nobody applies a spec.
_LIMITS = {"lock": "3s", "each": "20s", "idle": "60s"}


class Savepoint(Transaction):
    """A transaction within the one that is rolled back: nothing in it commits."""

    def end_with_next(self) -> None:
        """Leave the end to the savepoint's own: a commit would end the whole trial."""


class SandboxDatabase(Database):
    """The way into one connection that is in a transaction: each of ours is a savepoint of it."""

    def __init__(self, connection: Connection):
        super().__init__(connection.info.dsn)
        self._connection = connection
        self._free = anyio.Lock()
        # Nothing is prepared: a pooler's server may know our names already, and what fails here
        # cannot be begun again.
        self._surprises = sys.maxsize

    @asynccontextmanager
    async def _borrowed(self) -> AsyncIterator[Connection]:
        async with self._free:
            with translated():
                async with self._connection.transaction():
                    yield self._connection

    @asynccontextmanager
    async def _within(
        self, scope: Scope | None, begin: BoundStatement
    ) -> AsyncIterator[Transaction]:
        del begin
        entering = scoping.entering(scoping.settings(scope), self.role, citus=False)
        async with self._borrowed() as connection:
            yield Savepoint(self, connection, entering)

    def _is_told(self, begin: BoundStatement) -> bool:
        # The savepoint is there already: nothing is begun, and nothing committed.
        return False

    async def _roll_back(self, connection: Connection) -> None:
        # The savepoint's own end does it.
        return


def renamed(spec: MemorySpec) -> MemorySpec:
    """The same spec as a family of its own, beside the one that it may have already."""
    data = spec.as_data()
    own = {"schema": NAME, "family": NAME}
    return load({**data, "agent": NAME, "backend": {**data["backend"], **own}})


@asynccontextmanager
async def sandboxed(
    registry: Registry, spec: MemorySpec, *, by: str, at: datetime
) -> AsyncIterator[tuple[Plan, SandboxDatabase]]:
    """Apply a spec as a family of its own, lend it for one block, and take all of it back."""
    if registry.database.citus:
        raise DatabaseUnsupported(
            "A spec cannot be tried on a Citus cluster.",
            remedy="Try it on a database of one node, such as the embedded one.",
        )
    async with (
        registry.administration.connection() as connection,
        connection.transaction(force_rollback=True),
    ):
        await fetch(connection, FILE, "limits", **_LIMITS)
        plan = await apply_spec(connection, renamed(spec), registry.contexts, by=by, at=at)
        yield plan, SandboxDatabase(connection)
