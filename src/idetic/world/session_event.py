"""A session of a story: what is said in its threads, and what is done about it at once."""

from __future__ import annotations

from dataclasses import dataclass
from uuid import UUID

from idetic.library.handles import Interaction, Session
from idetic.model import Decision, Observation, Receipt
from idetic.world.looks import note_rows
from idetic.world.performance import Performance
from idetic.world.story import ASK, COPY, Scene, StoryEvent, model_version


@dataclass(frozen=True)
class Dispute:
    """An entry that speaks against a rule."""

    what: str
    rule: str
    why: str

    async def raise_by(self, play: Performance, entry_id: UUID) -> None:
        """Let the agent contradict the rule with an entry."""
        rule = play.rules.refs[self.rule]
        await play.cast.explorer.contradict(entry_id, rule, reason=self.why)


@dataclass(frozen=True)
class SessionEvent(StoryEvent):
    """One session and its threads; `notes` are made at the session's own tier.

    An action may rest on something said in it, something in it may dispute a rule, every write
    may be sent `twice` under its key, and the process may die before it closes anything. `by` is
    another agent than the usual one.
    """

    name: str
    threads: tuple[str, ...]
    notes: str = ""
    acts_on: str | None = None
    disputes: Dispute | None = None
    twice: bool = False
    dies: bool = False
    by: str | None = None

    @property
    def labels(self) -> list[str]:
        """Everything that is said and asked in it, in order."""
        return [label for said in (*self.threads, self.notes) for label in said.split()]

    async def happen(self, play: Performance) -> Scene:
        """Hold the session, thread by thread. One that dies leaves everything open."""
        play.counts["sessions"] += 1
        number = f"s{play.counts['sessions']:02}"
        session = await play.cast.agent(self.by).session().open()
        play.named(session.id, number)
        for count, said in enumerate(self.threads, start=1):
            turn = await session.interaction().open()
            play.named(turn.id, f"{number}/{count}")
            await self._say(play, turn, said)
            play.clock.go_on()
            if not self.dies:
                await play.close(await turn.close())
        await self._say(play, session, self.notes)
        shown = {"notes": note_rows(play, await session.list())} if self.about else {}
        lines = [] if self.dies else await play.close(await session.close())
        return self.scene(f"{number} {self.name}: {self._counted()}", lines, shown)

    def _counted(self) -> str:
        notes = sum(not label.startswith(ASK) for label in self.labels)
        threads = len(self.threads)
        said = f"{threads} thread{'s' * (threads > 1)}, {notes} note{'s' * (notes > 1)}"
        more = {
            f", by {self.by}": self.by,
            ", each sent twice": self.twice,
            f"; an action rests on {self.acts_on}": self.acts_on,
            f"; {self.disputes and self.disputes.what} speaks against a rule": self.disputes,
            "; the process dies": self.dies,
        }
        return said + "".join(text for text, holds in more.items() if holds)

    async def _say(self, play: Performance, place: Session | Interaction, said: str) -> None:
        """Write everything down in one go, up to a question, which is put when its turn comes."""
        labels: list[str] = []
        for label in [*said.split(), ASK]:
            if not label.startswith(ASK):
                labels.append(label)
                continue
            if labels:
                await self._write(play, place, labels)
            labels = []
            if question := label.removeprefix(ASK):
                found = await place.context(play.story.questions[question])
                play.counts.update(questions=1, answered=int(bool(found.included)))

    async def _write(
        self, play: Performance, place: Session | Interaction, labels: list[str]
    ) -> None:
        turn = place.place.interaction_id
        seen = [self._observation(play, label, turn) for label in labels]
        for _ in range(2 if self.twice else 1):
            receipts = await place.observe_many(seen)
        for label, receipt in zip(labels, receipts, strict=True):
            await self._noted(play, label.removesuffix("~"), receipt)

    async def _noted(self, play: Performance, what: str, receipt: Receipt) -> None:
        """What became of a note; an action rests on it or a dispute is about it at once."""
        play.counts["observations"] += 1
        if receipt.decision is not Decision.ADD:
            refused = receipt.decision is Decision.REJECT
            play.counts["refused" if refused else "echoes"] += 1
            return
        entry_id = play.saw(receipt, what)
        if what == self.acts_on:
            action_id = play.action(f"{self.name}/{what}")
            await play.cast.explorer.link_action(action_id, "published_decision", [entry_id])
        if self.disputes is not None and what == self.disputes.what:
            await self.disputes.raise_by(play, entry_id)

    def _observation(self, play: Performance, label: str, turn: UUID | None) -> Observation:
        provenance = {"world_model_version": model_version(self.day)}
        if label.startswith(COPY):
            restated = play.rules.texts[label.removeprefix(COPY)].says
            return Observation(f"Noted: {restated}", provenance=provenance)
        saying = play.story.sayings[label.removesuffix("~")]
        return Observation(
            (saying.again if label.endswith("~") else None) or saying.says,
            envelope=saying.envelope,
            refs=tuple(play.rules.refs[name] for name in saying.rules),
            claim=saying.claim,
            provenance=provenance,
            heard_from=saying.heard_from,
            idempotency_key=f"{turn}:{label}" if self.twice else None,
        )
