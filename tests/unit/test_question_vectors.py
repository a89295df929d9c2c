"""Questions that arrive together are embedded together; a lone one does not wait for company."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from idetic.embed.port import EmbedderHangs
from idetic.model import Principal, Scope
from idetic.recall.question_vectors import KEPT, LANES, TOGETHER, QuestionVectors, Vector

pytestmark = pytest.mark.anyio
SCOPE = Scope("assistant_agent", {"tenant_id": "t", "user_id": "ada"}, Principal.agent("a"))


class Runs:
    """An embedder that waits until it is let go, and knows what it was asked together."""

    def __init__(self) -> None:
        self.texts: list[list[str]] = []
        self.bad: dict[str, Exception] = {}
        self.go = asyncio.Event()
        self.questions = QuestionVectors(self.embed)

    async def embed(self, texts: list[str], patience: float) -> list[Vector | None]:
        self.texts.append(texts)
        await self.go.wait()
        for text in texts:
            if text in self.bad:
                raise self.bad[text]
        return [[float(text)] for text in texts]

    def ask(self, texts: Sequence[str]) -> list[asyncio.Task[Vector | None]]:
        return [asyncio.create_task(self.questions.vector(SCOPE, text, 1.0)) for text in texts]


async def settled() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def test_a_question_alone_is_sent_at_once() -> None:
    runs = Runs()
    (asked,) = runs.ask("7")
    await settled()
    assert runs.texts == [["7"]]
    runs.go.set()
    assert await asked == [7.0]


async def test_what_arrives_meanwhile_goes_together_and_each_gets_its_own() -> None:
    runs = Runs()
    asked = []
    for n in range(20):
        asked += runs.ask([str(n)])
        await settled()
    assert runs.texts == [[str(n)] for n in range(LANES)], "no more runs at a time than lanes"
    runs.go.set()
    assert await asyncio.gather(*asked) == [[float(n)] for n in range(20)]
    together = [len(texts) for texts in runs.texts[LANES:]]
    assert sum(together) == 20 - LANES
    assert max(together) == TOGETHER


async def test_the_same_question_is_embedded_once_however_many_wait_for_it() -> None:
    runs = Runs()
    asked = runs.ask(["7"] * 5)
    await settled()
    runs.go.set()
    assert await asyncio.gather(*asked) == [[7.0]] * 5
    assert runs.texts == [["7"]]


async def test_one_that_fails_fails_alone() -> None:
    runs = Runs()
    runs.bad["13"] = ValueError("no")
    asked = runs.ask([str(n) for n in range(10, 16)])
    await settled()
    runs.go.set()
    made = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(one) for one in made] == [list, list, list, ValueError, list, list]
    assert await runs.questions.vector(SCOPE, "12", 1.0) == [12.0]
    with pytest.raises(ValueError, match="no"):
        await runs.questions.vector(SCOPE, "13", 1.0)


async def test_an_embedder_that_hangs_is_not_asked_again_for_each() -> None:
    runs = Runs()
    runs.bad["3"] = EmbedderHangs()
    asked = runs.ask([str(n) for n in range(1, 7)])
    await settled()
    runs.go.set()
    made = await asyncio.gather(*asked, return_exceptions=True)
    assert [type(one) for one in made] == [EmbedderHangs] * TOGETHER + [list, list]
    assert runs.texts == [["1", "2", "3", "4"], ["5", "6"]]


async def test_whoever_goes_away_takes_nobody_along() -> None:
    runs = Runs()
    gone, other, third = runs.ask(["7", "7", "8"])
    await settled()
    gone.cancel()
    runs.go.set()
    assert [await other, await third] == [[7.0], [8.0]]
    assert gone.cancelled()


async def test_recent_ones_are_kept_and_only_so_many() -> None:
    runs = Runs()
    runs.go.set()
    for n in (*range(KEPT), 0):
        await runs.questions.vector(SCOPE, str(n), 1.0)
    assert len(runs.texts) == KEPT, "the first one was kept"
    await runs.questions.vector(SCOPE, "1000", 1.0)
    await runs.questions.vector(SCOPE, "0", 1.0)
    assert len(runs.texts) == KEPT + 1, "it was asked for lately, so it stayed"
    await runs.questions.vector(SCOPE, "1", 1.0)
    assert len(runs.texts) == KEPT + 2, "it was asked for longest ago, so it went"
