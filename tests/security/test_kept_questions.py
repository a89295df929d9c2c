"""A question that another has asked is answered as late as any: nobody's vectors are shared.

Whether a vector was kept shows in the time of an answer. Counted here are runs of the model, which
is what takes that time.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from idetic import Idetic, Principal
from idetic.recall import question_vectors
from tests.conftest import TestDatabase
from tests.support.fake_embedder import FakeEmbedder

pytestmark = pytest.mark.anyio
QUESTION = "Who is the lawyer?"


class Counted(FakeEmbedder):
    """Knows how often it was asked for a question's vector."""

    runs = 0

    def embed(self, texts: Sequence[str], *, query: bool = False) -> Any:
        self.runs += query
        return super().embed(texts, query=query)


async def runs_of(database: TestDatabase, second: tuple[str, str, str]) -> list[int]:
    """Runs of the model for one asker's question, asked twice, and for another's same one."""
    model, counts = Counted(), []
    async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn, embedder=model) as db:
        agent = await db.agent("assistant_agent")
        for tenant, user, name in (("acme", "ada", "a"), ("acme", "ada", "a"), second):
            memory = agent.bind(tenant_id=tenant, user_id=user, principal=Principal.agent(name))
            before = model.runs
            await memory.recall(QUESTION)
            counts.append(model.runs - before)
    return counts


@pytest.mark.parametrize(
    "second",
    [("other", "ada", "a"), ("acme", "ben", "a"), ("acme", "ada", "b")],
    ids=["another tenant", "another user", "another principal"],
)
async def test_nobody_learns_what_another_asked(
    database: TestDatabase, second: tuple[str, str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert await runs_of(database, second) == [1, 0, 1]
    monkeypatch.setattr(question_vectors, "place_of", lambda scope: "")
    control = await runs_of(database, second)
    assert control == [1, 0, 0], "control: kept for all, the answer comes early and tells"
