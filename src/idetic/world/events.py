"""What can happen in a story: a function for each kind of event.

Its name is the word for the event in a story file, its parameters are what a story says about it.
A session is a dataclass, because much is said about one.
"""

from __future__ import annotations

from collections.abc import Awaitable
from dataclasses import dataclass
from uuid import UUID

from idetic.errors import IdeticError, ShadowRefused, WritePolicyRefused
from idetic.evidence import ContradictionStatus, Outcome
from idetic.library.handles import Interaction, Session
from idetic.model import Decision, Observation, Receipt, Typology
from idetic.spec.primitives import SourceStrength
from idetic.world.looks import LOOKS, note_rows
from idetic.world.performance import Performance
from idetic.world.story import ASK, COPY, Row, RuleText, Scene, SceneLine, event, model_version


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


@event
@dataclass(frozen=True)
class ScriptedSession:
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
        count = play.counts["sessions"]
        number, by = f"s{count:02}", self.by or play.cast.on_duty(count)
        session = await play.cast.agent(by).session().open()
        play.named(session.id, number)
        for thread, said in enumerate(self.threads, start=1):
            turn = await session.interaction().open()
            play.named(turn.id, f"{number}/{thread}")
            await self._say(play, turn, said)
            play.clock.go_on()
            if not self.dies:
                await play.close(await turn.close())
        await self._say(play, session, self.notes)
        shown = {"notes": note_rows(play, await session.list())} if play.explains else {}
        lines = [] if self.dies else await play.close(await session.close())
        return play.scene(f"{number} {self.name}: {self._counted()}", lines, shown)

    def _counted(self) -> str:
        """What happens in the session, counted in words for the title of its scene."""
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
        """Write the notes of these labels, twice if the story says so, and note what came of it."""
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
        """The observation that a label stands for: a rule restated, or a saying."""
        provenance = {"world_model_version": model_version(play.day)}
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
            # What is sent twice has a key, so that it is written once.
            idempotency_key=f"{turn}:{label}" if self.twice else None,
        )


@event
async def replay(play: Performance, what: str) -> Scene:
    """A client that lost the answer sends a write again, under the same idempotency key."""
    said = play.story.sayings[what].says
    rows: list[Row] = []
    async with play.cast.explorer.session() as session:
        for write in ("first", "again"):
            sent = await session.observe(said, idempotency_key=what)
            replayed = "yes" if sent.replayed else "no"
            rows.append({"write": write, "receipt": str(sent.id), "replayed": replayed})
    return play.scene(f"{what} is sent twice", sections={"receipts": rows})


@event
async def refuse(play: Performance, restates: str, asserts: str) -> Scene:
    """Two writes that the spec forbids: a rule in other words, and a fact that nobody promoted."""
    async with play.cast.explorer.session() as session:
        asserted = play.cast.explorer.observe(asserts, typology=Typology.SEMANTIC)
        rows = [
            await _refused(session.observe(restates), restates),
            await _refused(asserted, asserts),
        ]
    return play.scene("Two writes are refused", sections={"refused": rows})


async def _refused(write: Awaitable[Receipt], note: str) -> Row:
    """The refusal that a forbidden write must meet, as a row; if it is accepted, an error."""
    try:
        await write
    except (ShadowRefused, WritePolicyRefused) as error:
        what = {"note": note, "code": error.code}
        return what | {"error": error.message, "what to do": error.remedy}
    raise IdeticError("A write that the spec forbids was accepted.")


@event
async def confirm(
    play: Performance,
    what: str,
    source: str,
    inferred: bool = False,
    holds: bool = True,
    times: int = 1,
) -> Scene:
    """An operator who confirms an entry or, with `holds=False`, says otherwise.

    What is `inferred` is an agent's conclusion, which counts for nothing.
    """
    entry_id = play.standing[what]
    memory = play.cast.agent(source) if inferred else play.cast.operator_named(source)
    lines: list[SceneLine] = []
    for _ in range(times):
        receipt = await memory.corroborate(entry_id, holds=holds)
        lines += await play.since(entry_id, receipt.position)
    verb = "confirms" if holds else "does not confirm"
    return play.scene(f"{source} {'infers' if inferred else verb} {what}", lines)


@event
async def prefer(play: Performance, what: str) -> Scene:
    """The operator states how things are to be done."""
    saying = play.story.sayings[what]
    receipt = await play.cast.operator.prefer(
        saying.says, claim=saying.claim, envelope=saying.envelope
    )
    if receipt.entry_id is not None:
        play.names[receipt.entry_id] = what
        play.standing[what] = receipt.entry_id
    lines = await play.about([receipt])
    if receipt.superseded is not None:
        lines += (await play.since(receipt.superseded, 1))[-1:]
    return play.scene(f"{play.cast.setting.operator} states how things are done", lines)


@event
async def publish(
    play: Performance, name: str, says: str, strength: SourceStrength = SourceStrength.CURATED
) -> Scene:
    """A rule is published, new or in its next version, and memory is brought in line with it."""
    ref = await play.rules.publish(name, RuleText(play.day, says, strength))
    scanned = await play.cast.keeper.rescan("rule", ref.id)
    lines = await play.about([*scanned.outdated, *scanned.shadows])
    return play.scene(f"The rule {name} is published, version {ref.version}", lines)


@event
async def contradict(play: Performance, dispute: Dispute) -> Scene:
    """A standing entry speaks against a rule."""
    await dispute.raise_by(play, play.standing[dispute.what])
    line = SceneLine(dispute.what, "contradicted", dispute.why)
    return play.scene(f"{dispute.what} contradicts the rule {dispute.rule}", [line])


@event
async def resolve(
    play: Performance, what: tuple[str, ...], status: ContradictionStatus, notes: str
) -> Scene:
    """The operator moves contradictions on."""
    lines = []
    for row in await play.cast.operator.contradictions():
        name = await play.name(row.entry_id)
        if name in what:
            await play.cast.operator.resolve(row.id, status, notes=notes)
            lines.append(SceneLine(name, status.value, notes))
    verb = "takes up" if status is ContradictionStatus.SURFACED else "settles"
    title = f"{play.cast.setting.operator} {verb} {' and '.join(what)}"
    return play.scene(title, lines)


@event
async def recover(play: Performance) -> Scene:
    """The sweeper closes what nobody closed."""
    lines: list[SceneLine] = []
    for closed in await play.cast.keeper.recover():
        lines += await play.close(closed)
    return play.scene("The sweeper closes a session whose lease ran out", lines)


@event
async def undo(play: Performance, what: str, decision: str, why: str) -> Scene:
    """The operator takes the last decision of a kind about an entry back."""
    receipt = play.decided[what, decision]
    undone = await play.cast.operator.undo(receipt, reason=why)
    lines = []
    for name, entry_id in play.standing.items():
        found = await play.since(entry_id, undone.position)
        lines += [line for line in found if line.did == "undone" and line.what == name]
    title = f"{play.cast.setting.operator} takes back what made {what} a fact"
    return play.scene(title, lines)


@event
async def archive(play: Performance, what: str, why: str) -> Scene:
    """The operator archives an entry."""
    receipt = await play.cast.operator.archive(play.standing[what], reason=why)
    lines = await play.about([receipt])
    return play.scene(f"{play.cast.setting.operator} archives it", lines)


@event
async def tombstone(play: Performance, what: str, why: str) -> Scene:
    """The operator marks an entry as deleted; its grace begins."""
    receipt = await play.cast.operator.tombstone(play.standing[what], reason=why)
    lines = await play.about([receipt])
    return play.scene(f"{play.cast.setting.operator} deletes {what}", lines)


@dataclass(frozen=True)
class ReviewVerdict:
    """One bulk decision of a review."""

    outcome: Outcome
    what: tuple[str, ...]
    why: str


@event
async def review(play: Performance, verdicts: tuple[ReviewVerdict, ...]) -> Scene:
    """The operator goes through the disposition queue; what is not decided stays in it."""
    await play.cast.keeper.mark_due()
    queue = await play.cast.operator.disposition()
    lines: list[SceneLine] = []
    for due in queue:
        why = f"{due.cause.replace('_', ' ')} on day {play.clock.day_of(due.due_at)}"
        what = await play.name(due.entry.id)
        lines.append(SceneLine(what, "due", f"{why}, pressure {due.pressure:.2f}"))
    for verdict in verdicts:
        ids = [play.standing[what] for what in verdict.what]
        await play.cast.operator.dispose(ids, verdict.outcome, reason=verdict.why)
        lines += [SceneLine(what, verdict.outcome.value, verdict.why) for what in verdict.what]
    left = len(queue) - sum(len(verdict.what) for verdict in verdicts)
    return play.scene(f"Review: {len(queue)} entries are due, {left} left for later", lines)


@event
async def act(play: Performance, name: str, kind: str, what: tuple[str, ...], why: str) -> Scene:
    """The operator acts on standing entries, which can then never be removed."""
    rests_on = [play.standing[what] for what in what]
    action_id = play.action(name)
    await play.cast.operator.link_action(action_id, kind, rests_on, reason=why)
    lines = [SceneLine(what, "action_linked", why) for what in what]
    return play.scene(f"{play.cast.setting.operator} decides: {name}", lines)


@event
async def ask(play: Performance, question: str, customer: bool = False) -> Scene:
    """Somebody asks memory, which records what it gave them to read."""
    asker = play.cast.customer if customer else play.cast.operator
    answered = await asker.ask(play.story.questions[question])
    play.counts.update(questions=1, answered=int(answered.known))
    said = f"{len(answered.evidence)} entries" if answered.known else "I don't know."
    who = play.cast.setting.customer if customer else play.cast.setting.operator
    return play.scene(f"{who} asks {question}: {said}")


@event
async def quarantine(play: Performance, by: str, why: str) -> Scene:
    """The operator takes all that came through one agent out of recall."""
    source = play.cast.agent(by).scope.principal
    done = await play.cast.operator.quarantine(created_by=source, reason=why)
    play.counts.update(quarantined=len(done.entries), withdrawn=len(done.withdrawn))
    lines = await play.lines("quarantined", done.entries, why)
    lines += await play.lines("demoted", done.demoted, why)
    return play.scene(f"{play.cast.setting.operator} quarantines {by}", lines)


@event
async def erase(play: Performance, subject: tuple[str, ...], why: str) -> Scene:
    """Somebody has asked to be forgotten; `subject` is everything that names them."""
    done = await play.cast.operator.erase(subject, reason=why)
    play.emptied.update(done.entries)
    lines = await play.lines("erased", done.entries, why)
    return play.scene(f"{play.cast.setting.operator} erases a person: {why}", lines)


@event
async def upkeep(play: Performance) -> Scene:
    """What the worker does at night: promote, consolidate, mark what is due."""
    promoted = await play.cast.keeper.promote()
    merged = await play.cast.keeper.consolidate()
    await play.cast.keeper.mark_due()
    lines = await play.about(one.receipt for one in (*promoted, *merged.decided))
    return play.scene("The worker's night round", lines)


@event
async def look(play: Performance, name: str, at: str = "memory", what: str = "") -> Scene:
    """A part of memory, read back and shown under a name; `looks.LOOKS` has the parts."""
    play.looks[name] = await LOOKS[at](play, what)
    return play.scene(name, sections=play.looks[name])
