"""Spec workshop: write a spec anew, see its problems and its plan, and try it in a sandbox.

The checker, the plan and the differences are the library's; the page shows what they answer.
"""

from __future__ import annotations

import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import anyio
import yaml
from anyio import to_thread
from nicegui import events, ui

from idetic.errors import Busy, IdeticError, InputError
from idetic.evidence import Closed
from idetic.ids import uuid7
from idetic.library.handles import Agent, Memory, Session
from idetic.model import Principal, PrincipalKind
from idetic.recall.hits import Hit
from idetic.spec.cautions import notes_of, warnings_of
from idetic.spec.differences import differences
from idetic.spec.loader import load, parse, shipped, shipped_text
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import KeyType
from idetic.spec.problems import SpecInvalid, SpecProblem
from idetic.store.registry import SpecVersion
from idetic.surfaces.console import elements as el
from idetic.surfaces.console.addresses import parsed
from idetic.surfaces.console.markup import part, show
from idetic.surfaces.console.page_context import PageContext
from idetic.surfaces.console.wording import minute

# A trial is to show how a spec behaves, and holds up others while it runs.
_MOST_SENTENCES = 20
_MOST_SECONDS = 30.0
_HITS = 5
# Sends the form whenever nobody has typed for a moment; `console.js` tells when.
_SEND_SETTLED = "(event) => emit(Object.fromEntries(new FormData(event.currentTarget)))"
# Who answers for a spec; a trial takes the time of everybody who writes here.
_EDITORS = (PrincipalKind.OPERATOR, PrincipalKind.MAINTENANCE)


@dataclass(frozen=True, slots=True)
class CheckedSpec:
    """What the checker says of a text: the spec if it is one, and everything to look at."""

    spec: MemorySpec | None
    problems: tuple[SpecProblem, ...]

    @classmethod
    def of(cls, text: str) -> CheckedSpec:
        """Check a text; an invalid one has its problems, a valid one warnings and notes."""
        try:
            spec = parse(text.replace("\r\n", "\n"))
        except SpecInvalid as invalid:
            return cls(None, invalid.problems)
        return cls(spec, (*warnings_of(spec), *notes_of(spec)))

    @property
    def beside(self) -> dict[int, list[SpecProblem]]:
        """The problems that have a line, by it."""
        found: dict[int, list[SpecProblem]] = {}
        for one in self.problems:
            if one.line is not None:
                found.setdefault(one.line, []).append(one)
        return found


@dataclass(slots=True)
class Trial:
    """What a sandbox answered: each sentence with its receipt, the close, and the question.

    A sentence that was refused has the refusal in place of a decision.
    """

    written: list[tuple[str, str, str]] = field(default_factory=list)
    before: Sequence[Hit] = ()
    closed: Closed | None = None
    after: Sequence[Hit] = ()


def open_to(context: PageContext) -> bool:
    """Whether a login has the workshop: operators and maintenance, whose key was not narrowed."""
    scope = context.scope
    return scope.principal.kind in _EDITORS and scope.capabilities is None and not context.actor


async def build(context: PageContext) -> None:
    """Build the workshop: the text of a version to begin with, and what is made of it."""
    await context.memory()
    stored = {str(one.version): one for one in await context.db.spec_versions(context.spec.agent)}
    chosen = context.asked("version") or str(context.version)
    if chosen not in stored:
        raise InputError("There is no such version.", remedy="Choose one from the list.")
    show(
        "workshop.html",
        versions={n: f"version {n}, {minute(each.applied_at)}" for n, each in stored.items()},
        chosen=chosen,
    )
    _Workshop(context, stored[chosen], list(stored.values())[-1])


class _Workshop:
    """The editor of one page, with the places where answers appear."""

    def __init__(self, context: PageContext, begun: SpecVersion, newest: SpecVersion):
        self._context = context
        self._newest = newest
        text = text_of(begun)
        with el.card("The spec"):
            self._said = el.text("p", cls="quiet", role="status")
            with el.text("form", cls="workshop", autocomplete="off") as form:
                with el.text("div", cls="editor"):
                    show("editor.html", text=text)
                    self._problems = el.text("div", cls="problems")
                with el.row():
                    el.socket_button("Show the plan", self._plan, "primary")
                    el.socket_button("Save as a file", self._save)
                with el.text("details", cls="aside full"):
                    el.text("summary", "Try it in a sandbox")
                    show("trial_form.html")
                    el.socket_button("Try it", self._try, "primary")
            form.on("settled", self._settled, js_handler=_SEND_SETTLED)
            form.on("submit", js_handler="(event) => event.preventDefault()")
        self._answer = el.text("div", cls="page", aria_live="polite")
        self._show(CheckedSpec.of(text))

    def _show(self, checked: CheckedSpec) -> None:
        """Show the problems beside their lines, and what differs from the newest version."""
        self._said.set_text(_summary(checked))
        self._problems.clear()
        with self._problems:
            show("problems.html", checked=checked)

    async def _checked(self, event: events.GenericEventArguments) -> CheckedSpec:
        """Check what the form holds, beside the loop: a long text takes a moment."""
        checked = await to_thread.run_sync(CheckedSpec.of, event.args["spec"])
        self._show(checked)
        return checked

    async def _settled(self, event: events.GenericEventArguments) -> None:
        """Check the text again: somebody wrote, and stopped for a moment."""
        await self._context.memory()
        await self._checked(event)

    async def _valid(self, event: events.GenericEventArguments) -> MemorySpec:
        """Return the spec of the form; raises InputError while it has problems."""
        await self._context.memory()
        el.clear_notices()
        self._answer.clear()
        checked = await self._checked(event)
        if checked.spec is None:
            raise InputError(_summary(checked), remedy="Correct the problems beside the text.")
        return checked.spec

    async def _plan(self, event: events.GenericEventArguments) -> None:
        """Show what applying the spec would change, and changes nothing."""
        spec = await self._valid(event)
        plan = await self._context.db.plan(spec)
        found = differences(load(self._newest.spec), spec)
        with self._answer:
            show("plan.html", plan=plan, differences=found, newest=self._newest.version)

    async def _save(self, event: events.GenericEventArguments) -> None:
        """Have the browser save the text."""
        spec = await self._valid(event)
        ui.download.content(event.args["spec"], f"{spec.agent}.yaml", "text/yaml")
        el.tell("Saved.", f"To apply it: idetic spec apply {spec.agent}.yaml")

    async def _try(self, event: events.GenericEventArguments) -> None:
        """Apply the spec in a sandbox, say the sentences, close, ask, and take it all back."""
        spec, given = await self._valid(event), event.args
        check_reach(spec, load(self._newest.spec))
        with self._answer:
            part("notice", "Trying it…", "It takes a few seconds.", "warn")
        try:
            with anyio.fail_after(_MOST_SECONDS):
                async with self._context.db.sandbox(spec) as agent:
                    memory = agent.bind(
                        principal=Principal.agent("sandbox"), **_anchor(agent, self._context)
                    )
                    found = await _tried(memory, given)
        except TimeoutError:
            raise Busy("The trial took too long and was rolled back.") from None
        finally:
            self._answer.clear()
        with self._answer:
            show("trial.html", trial=found, question=given["question"].strip())


def check_reach(spec: MemorySpec, newest: MemorySpec) -> None:
    """Refuse to try a spec that reads more than the newest version does.

    A login has one anchor, and applying a spec takes the administration login: without a scope, the
    guard told an operator of one domain what the rules of another say.
    """
    here, there = spec.anchor, newest.anchor
    others = [
        one.noun for one in spec.references.canonical if one not in newest.references.canonical
    ]
    if others or (here.keys, here.root) != (there.keys, there.root):
        what = f"the canonical noun {others[0]}" if others else "the anchor"
        raise InputError(
            f"A trial here cannot change {what}: that decides whose content it reads.",
            remedy="Leave it as it is, or try the spec with `db.sandbox(spec)` as administrator.",
        )


def _summary(checked: CheckedSpec) -> str:
    """Say in a sentence how a text stands."""
    count = len(checked.problems)
    if checked.spec is None:
        return f"The spec has {count} problem{'' if count == 1 else 's'}."
    more = f", with {count} remark{'' if count == 1 else 's'}" if count else ""
    return f"The spec of {checked.spec.agent} is valid{more}. Digest {checked.spec.digest[:12]}."


def text_of(stored: SpecVersion) -> str:
    """Write a stored version as YAML: the shipped text, comments and all, if it is that one."""
    name = stored.agent
    if name in shipped() and load(name).digest == stored.digest:
        return shipped_text(name)
    text: str = yaml.safe_dump(stored.spec, sort_keys=False, allow_unicode=True, width=96)
    return text


def _anchor(agent: Agent, context: PageContext) -> dict[str, Any]:
    """Return an anchor for the trial: this page's values, and new ones for other keys."""
    # A login for several anchors leaves keys open: nobody has these.
    made = {KeyType.UUID: uuid7(), KeyType.BIGINT: secrets.randbits(62)}
    here = context.scope.anchor
    return {
        key.name: here.get(key.name) or made.get(key.type, f"sandbox {uuid7()}")
        for key in agent.spec.anchor.keys
    }


async def _tried(memory: Memory, given: Mapping[str, str]) -> Trial:
    """Say each sentence, ask, close, and ask again."""
    sentences = [line.strip() for line in given["sentences"].splitlines() if line.strip()]
    if not 0 < len(sentences) <= _MOST_SENTENCES:
        raise InputError(f"A trial takes 1 to {_MOST_SENTENCES} sentences, each on a line.")
    wrong = ("The envelope is not a JSON object.", 'Write it as {"topic": "payments"}.')
    envelope = parsed(given["envelope"].strip() or "{}", json.loads, *wrong)
    if not isinstance(envelope, dict):
        raise InputError(wrong[0], remedy=wrong[1])
    question, trial = given["question"].strip(), Trial()
    if memory.agent.spec.backend.conversation:
        receipts = await memory.add([{"role": "user", "content": each} for each in sentences])
        said = [f"log position {one.position}" for one in receipts]
        trial.written = [(each, "ADD", at) for each, at in zip(sentences, said, strict=True)]
        trial.before = await _asked(memory, question)
        await memory.extract()
    else:
        async with memory.session() as session:
            for each in sentences:
                trial.written.append((each, *await _said(session, each, envelope)))
            trial.before = await _asked(session, question)
            trial.closed = await session.close()
    trial.after = await _asked(memory, question)
    return trial


async def _said(session: Session, sentence: str, envelope: Mapping[str, Any]) -> tuple[str, str]:
    """Observe a sentence: what was decided and why, or the refusal with its remedy."""
    try:
        receipt = await session.observe(sentence, envelope=envelope or None)
    except IdeticError as error:
        if error.http_status >= 500:
            raise
        return "refused", str(error)
    return receipt.decision.value, receipt.lifetime or receipt.reason


async def _asked(place: Memory | Session, question: str) -> Sequence[Hit]:
    """Return the best hits for a question, candidates too; none without a question."""
    if not question:
        return ()
    return (await place.recall(question, limit=_HITS, include_candidates=True)).hits
