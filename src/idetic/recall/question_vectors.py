"""The vectors of questions: what arrives together is embedded together, what is recent is kept."""

from __future__ import annotations

import asyncio
import hashlib
import os
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field

from idetic.embed.port import EmbedderHangs
from idetic.model import Scope

Vector = list[float]
Embed = Callable[[list[str], float], Awaitable[list[Vector | None]]]
# Runs at a time: while one waits for the interpreter, the other computes.
LANES = 2
# A larger run keeps all of its questions waiting for the last one, and the database idle meanwhile.
TOGETHER = 4
# How many questions of one asker are kept, and of how many askers.
KEPT, ASKERS = 64, 256


@dataclass(slots=True)
class _Asked:
    """A question that waits for its vector, and everybody who waits with it."""

    place: str
    key: bytes
    text: str
    patience: float
    vector: asyncio.Future[Vector | None] = field(default_factory=asyncio.Future)


class QuestionVectors:
    """Embeds questions for a whole `Idetic`.

    A question that arrives alone is sent at once. While all lanes are busy, others wait, and the
    next run takes some of them together; one that the embedder fails on fails alone.

    Recent vectors are kept for whoever asked, by a keyed hash of the question. An answer
    that comes early tells that the question was asked before, so nobody else may share it.
    """

    def __init__(self, embed: Embed):
        self._embed = embed
        self._waiting: deque[_Asked] = deque()
        self._flying: dict[tuple[str, bytes], _Asked] = {}
        self._lanes: set[asyncio.Task[None]] = set()
        self._kept: OrderedDict[str, OrderedDict[bytes, Vector]] = OrderedDict()
        self._secret = os.urandom(32)

    async def vector(self, scope: Scope, text: str, patience: float) -> Vector | None:
        """The question's vector; None where what the embedder returned is none.

        Raises what the embedder raised, or that it hangs.
        """
        place = place_of(scope)
        key = hashlib.blake2b(text.encode("utf-8", "surrogatepass"), key=self._secret).digest()
        if (known := self._recent(place, key)) is not None:
            return known
        asked = self._flying.get((place, key))
        if asked is None:
            asked = _Asked(place, key, text, patience)
            self._flying[place, key] = asked
            self._waiting.append(asked)
            if len(self._lanes) < LANES:
                # A task of its own: whoever asked may go away, others wait for the same run.
                lane = asyncio.create_task(self._run())
                self._lanes.add(lane)
                lane.add_done_callback(self._lanes.discard)
        return await asyncio.shield(asked.vector)

    async def _run(self) -> None:
        """Embed what waits, a few at a time, until nothing does."""
        while self._waiting:
            count = min(TOGETHER, len(self._waiting))
            together = [self._waiting.popleft() for _ in range(count)]
            try:
                await self._answer(together)
            finally:
                for asked in together:
                    self._flying.pop((asked.place, asked.key), None)
                    # Only if this run was cancelled has nobody answered.
                    asked.vector.cancel()

    async def _answer(self, together: list[_Asked]) -> None:
        """Embed questions in one call; if that fails, each alone."""
        try:
            texts, patience = [one.text for one in together], max(one.patience for one in together)
            made = await self._embed(texts, patience)
        except Exception as error:  # noqa: BLE001 - an embedder is anybody's code
            if len(together) == 1 or isinstance(error, EmbedderHangs):
                for asked in together:
                    asked.vector.set_exception(error)
                    # Nobody may wait any more; then it is no error that nobody looked.
                    asked.vector.exception()
                return
            for asked in together:
                await self._answer([asked])
        else:
            for asked, vector in zip(together, made, strict=True):
                asked.vector.set_result(vector)
                if vector is not None:
                    self._keep(asked, vector)

    def _recent(self, place: str, key: bytes) -> Vector | None:
        """The vector that is kept for a question of this asker."""
        kept = self._kept.get(place)
        if kept is None or key not in kept:
            return None
        self._kept.move_to_end(place)
        kept.move_to_end(key)
        return kept[key]

    def _keep(self, asked: _Asked, vector: Vector) -> None:
        """Keep a vector; the one that nobody asked for longest goes."""
        kept = self._kept.setdefault(asked.place, OrderedDict())
        self._kept.move_to_end(asked.place)
        kept[asked.key] = vector
        if len(kept) > KEPT:
            kept.popitem(last=False)
        if len(self._kept) > ASKERS:
            self._kept.popitem(last=False)


def place_of(scope: Scope) -> str:
    """Whose questions are kept together: one principal's within one anchor.

    An Actor and its Subconscious stand at the same anchor, and are two principals.
    """
    who = scope.principal
    return repr((scope.agent, who.kind.value, who.name, *scope.anchor.items()))
