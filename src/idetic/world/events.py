"""What can happen in a story: each kind of event with its fields, and how it is made to happen."""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass

from idetic.errors import IdeticError, ShadowRefused, WritePolicyRefused
from idetic.evidence import ContradictionStatus, Outcome, SourceType
from idetic.ids import uuid7
from idetic.model import Receipt, Typology
from idetic.spec.primitives import SourceStrength
from idetic.world.looks import LOOKS
from idetic.world.performance import Performance
from idetic.world.session_event import Dispute
from idetic.world.story import Row, RuleText, Scene, SceneLine, StoryEvent, model_version


@dataclass(frozen=True)
class ReplayEvent(StoryEvent):
    """A client that lost the answer sends a write again, under the same idempotency key."""

    what: str

    async def happen(self, play: Performance) -> Scene:
        """Send it twice."""
        said = play.story.sayings[self.what].says
        rows: list[Row] = []
        async with play.cast.explorer.session() as session:
            for write in ("first", "again"):
                sent = await session.observe(said, idempotency_key=self.what)
                replayed = "yes" if sent.replayed else "no"
                rows.append({"write": write, "receipt": str(sent.id), "replayed": replayed})
        return self.scene(f"{self.what} is sent twice", sections={"receipts": rows})


@dataclass(frozen=True)
class RefuseEvent(StoryEvent):
    """Two writes that the spec forbids: a rule in other words, and a fact that nobody promoted."""

    restates: str
    asserts: str

    async def happen(self, play: Performance) -> Scene:
        """Try both."""
        async with play.cast.explorer.session() as session:
            asserted = play.cast.explorer.observe(self.asserts, typology=Typology.SEMANTIC)
            rows = [
                await _refused(session.observe(self.restates), self.restates),
                await _refused(asserted, self.asserts),
            ]
        return self.scene("Two writes are refused", sections={"refused": rows})


async def _refused(write: Awaitable[Receipt], note: str) -> Row:
    try:
        await write
    except (ShadowRefused, WritePolicyRefused) as error:
        what = {"note": note, "code": error.code}
        return what | {"error": error.message, "what to do": error.remedy}
    raise IdeticError("A write that the spec forbids was accepted.")


@dataclass(frozen=True)
class ConfirmEvent(StoryEvent):
    """A source that confirms an entry outside any session or, with `holds=False`, fails to."""

    what: str
    source: str
    kind: SourceType = SourceType.OPERATOR_INPUT
    holds: bool = True
    times: int = 1

    async def happen(self, play: Performance) -> Scene:
        """Corroborate, as often as it says; an inference is the agent's own."""
        entry_id = play.standing[self.what]
        inferred = self.kind is SourceType.AGENT_INFERENCE
        memory = play.cast.explorer if inferred else play.cast.operator
        known = (source for source, name in play.voices.items() if name == self.source)
        source = next(known, None) or uuid7()
        play.named(source, self.source)
        lines: list[SceneLine] = []
        for _ in range(self.times):
            receipt = await memory.corroborate(
                entry_id,
                self.kind,
                source,
                holds=self.holds,
                provenance={"world_model_version": model_version(self.day)},
            )
            lines += await play.since(entry_id, receipt.position)
        verb = "confirms" if self.holds else "does not confirm"
        kind = self.kind.replace("_", " ")
        return self.scene(f"{self.source} ({kind}) {verb} {self.what}", lines)


@dataclass(frozen=True)
class PreferEvent(StoryEvent):
    """The operator states how things are to be done."""

    what: str

    async def happen(self, play: Performance) -> Scene:
        """State it; what it supersedes is told too."""
        saying = play.story.sayings[self.what]
        receipt = await play.cast.operator.prefer(
            saying.says, claim=saying.claim, envelope=saying.envelope
        )
        if receipt.entry_id is not None:
            play.names[receipt.entry_id] = self.what
            play.standing[self.what] = receipt.entry_id
        lines = await play.about([receipt])
        if receipt.superseded is not None:
            lines += (await play.since(receipt.superseded, 1))[-1:]
        return self.scene(f"{play.cast.setting.operator} states how things are done", lines)


@dataclass(frozen=True)
class PublishEvent(StoryEvent):
    """A rule is published, new or in its next version, and memory is brought in line with it."""

    name: str
    says: str
    strength: SourceStrength = SourceStrength.CURATED

    async def happen(self, play: Performance) -> Scene:
        """Publish the rule, and scan memory for what it makes outdated."""
        ref = await play.rules.publish(self.name, RuleText(self.day, self.says, self.strength))
        scanned = await play.cast.keeper.rescan("rule", ref.id)
        lines = await play.about([*scanned.outdated, *scanned.shadows])
        return self.scene(f"The rule {self.name} is published, version {ref.version}", lines)


@dataclass(frozen=True)
class ContradictEvent(StoryEvent):
    """A standing entry speaks against a rule."""

    dispute: Dispute

    async def happen(self, play: Performance) -> Scene:
        """Raise the dispute."""
        dispute = self.dispute
        await dispute.raise_by(play, play.standing[dispute.what])
        line = SceneLine(dispute.what, "contradicted", dispute.why)
        return self.scene(f"{dispute.what} contradicts the rule {dispute.rule}", [line])


@dataclass(frozen=True)
class ResolveEvent(StoryEvent):
    """The operator moves contradictions on."""

    what: tuple[str, ...]
    status: ContradictionStatus
    notes: str

    async def happen(self, play: Performance) -> Scene:
        """Resolve those of the queue that are meant."""
        lines = []
        for row in await play.cast.operator.contradictions():
            what = await play.name(row.entry_id)
            if what in self.what:
                await play.cast.operator.resolve(row.id, self.status, notes=self.notes)
                lines.append(SceneLine(what, self.status.value, self.notes))
        verb = "takes up" if self.status is ContradictionStatus.SURFACED else "settles"
        title = f"{play.cast.setting.operator} {verb} {' and '.join(self.what)}"
        return self.scene(title, lines)


@dataclass(frozen=True)
class RecoverEvent(StoryEvent):
    """The sweeper closes what nobody closed."""

    async def happen(self, play: Performance) -> Scene:
        """Recover every scope whose lease ran out."""
        lines: list[SceneLine] = []
        for closed in await play.cast.keeper.recover():
            lines += await play.close(closed)
        return self.scene("The sweeper closes a session whose lease ran out", lines)


@dataclass(frozen=True)
class UndoEvent(StoryEvent):
    """The operator takes the last decision of a kind about an entry back."""

    what: str
    decision: str
    why: str

    async def happen(self, play: Performance) -> Scene:
        """Undo it; every entry that this restores is told."""
        receipt = play.decided[self.what, self.decision]
        undone = await play.cast.operator.undo(receipt, reason=self.why)
        lines = []
        for what, entry_id in play.standing.items():
            found = await play.since(entry_id, undone.position)
            lines += [line for line in found if line.did == "undone" and line.what == what]
        title = f"{play.cast.setting.operator} takes back what made {self.what} a fact"
        return self.scene(title, lines)


@dataclass(frozen=True)
class ArchiveEvent(StoryEvent):
    """The operator archives an entry."""

    what: str
    why: str

    async def happen(self, play: Performance) -> Scene:
        """Archive it."""
        receipt = await play.cast.operator.archive(play.standing[self.what], reason=self.why)
        lines = await play.about([receipt])
        return self.scene(f"{play.cast.setting.operator} archives it", lines)


@dataclass(frozen=True)
class TombstoneEvent(StoryEvent):
    """The operator marks an entry as deleted; its grace begins."""

    what: str
    why: str

    async def happen(self, play: Performance) -> Scene:
        """Delete it."""
        receipt = await play.cast.operator.tombstone(play.standing[self.what], reason=self.why)
        lines = await play.about([receipt])
        return self.scene(f"{play.cast.setting.operator} deletes {self.what}", lines)


@dataclass(frozen=True)
class ReviewVerdict:
    """One bulk decision of a review."""

    outcome: Outcome
    what: tuple[str, ...]
    why: str


@dataclass(frozen=True)
class ReviewEvent(StoryEvent):
    """The operator goes through the disposition queue; what is not decided stays in it."""

    verdicts: tuple[ReviewVerdict, ...]

    async def happen(self, play: Performance) -> Scene:
        """Read the queue, then decide."""
        await play.cast.keeper.mark_due()
        queue = await play.cast.operator.disposition()
        lines: list[SceneLine] = []
        for due in queue:
            why = f"{due.cause.replace('_', ' ')} on day {play.clock.day_of(due.due_at)}"
            what = await play.name(due.entry.id)
            lines.append(SceneLine(what, "due", f"{why}, pressure {due.pressure:.2f}"))
        for verdict in self.verdicts:
            ids = [play.standing[what] for what in verdict.what]
            await play.cast.operator.dispose(ids, verdict.outcome, reason=verdict.why)
            lines += [SceneLine(what, verdict.outcome.value, verdict.why) for what in verdict.what]
        left = len(queue) - sum(len(verdict.what) for verdict in self.verdicts)
        return self.scene(f"Review: {len(queue)} entries are due, {left} left for later", lines)


@dataclass(frozen=True)
class ActEvent(StoryEvent):
    """The operator acts on standing entries, which can then never be removed."""

    name: str
    kind: str
    what: tuple[str, ...]
    why: str

    async def happen(self, play: Performance) -> Scene:
        """Link the action to what it rests on."""
        rests_on = [play.standing[what] for what in self.what]
        action_id = play.action(self.name)
        await play.cast.operator.link_action(action_id, self.kind, rests_on, reason=self.why)
        lines = [SceneLine(what, "action_linked", self.why) for what in self.what]
        return self.scene(f"{play.cast.setting.operator} decides: {self.name}", lines)


@dataclass(frozen=True)
class AskEvent(StoryEvent):
    """Somebody asks memory, which records what it gave them to read."""

    question: str
    customer: bool = False

    async def happen(self, play: Performance) -> Scene:
        """Ask, as an operator or a customer."""
        asker = play.cast.customer if self.customer else play.cast.operator
        answered = await asker.ask(play.story.questions[self.question])
        play.counts.update(questions=1, answered=int(answered.known))
        said = f"{len(answered.evidence)} entries" if answered.known else "I don't know."
        who = play.cast.setting.customer if self.customer else play.cast.setting.operator
        return self.scene(f"{who} asks {self.question}: {said}")


@dataclass(frozen=True)
class QuarantineEvent(StoryEvent):
    """The operator takes all that came through one agent out of recall."""

    by: str
    why: str

    async def happen(self, play: Performance) -> Scene:
        """Quarantine the agent as a source."""
        source = play.cast.agent(self.by).scope.principal
        done = await play.cast.operator.quarantine(created_by=source, reason=self.why)
        play.counts.update(quarantined=len(done.entries), withdrawn=len(done.withdrawn))
        lines = await play.lines("quarantined", done.entries, self.why)
        lines += await play.lines("demoted", done.demoted, self.why)
        return self.scene(f"{play.cast.setting.operator} quarantines {self.by}", lines)


@dataclass(frozen=True)
class EraseEvent(StoryEvent):
    """Somebody has asked to be forgotten; `subject` is everything that names them."""

    subject: tuple[str, ...]
    why: str

    async def happen(self, play: Performance) -> Scene:
        """Erase the subject. It is not told whom: the terminal would keep the name for good."""
        done = await play.cast.operator.erase(self.subject, reason=self.why)
        play.emptied.update(done.entries)
        lines = await play.lines("erased", done.entries, self.why)
        return self.scene(f"{play.cast.setting.operator} erases a person: {self.why}", lines)


@dataclass(frozen=True)
class UpkeepEvent(StoryEvent):
    """What the worker does at night: promote, consolidate, mark what is due."""

    async def happen(self, play: Performance) -> Scene:
        """Do all three."""
        promoted = await play.cast.keeper.promote()
        merged = await play.cast.keeper.consolidate()
        await play.cast.keeper.mark_due()
        lines = await play.about(one.receipt for one in (*promoted, *merged.decided))
        return self.scene("The worker's night round", lines)


@dataclass(frozen=True)
class LookEvent(StoryEvent):
    """A part of memory, read back and shown under a name; `looks.LOOKS` has the parts."""

    name: str
    at: str = "memory"
    what: str = ""

    async def happen(self, play: Performance) -> Scene:
        """Read it."""
        play.looks[self.name] = await LOOKS[self.at](play, self.what)
        return self.scene(self.name, sections=play.looks[self.name])
