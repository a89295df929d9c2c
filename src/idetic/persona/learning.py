"""Learning from feedback: propose, judge, apply or leave; and every step is an event."""

from __future__ import annotations

import inspect
import json
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace
from typing import Any, TypeAlias
from uuid import UUID

from idetic.persona.compactor import extract
from idetic.persona.errors import IdentityInvalid, ModelMalformed, NotTunable
from idetic.persona.events import EventKind, Persona, Visibility
from idetic.persona.identity import Identity, refuse_untunable
from idetic.persona.model import Llm, conversation
from idetic.persona.ports import OpenLoop, PersonaMemory
from idetic.persona.proposal import Evidence, guideline, question, read_change
from idetic.persona.rubric import Rubric, Verdict

Proposer: TypeAlias = Callable[[Identity, Evidence], Identity | Awaitable[Identity]]
Apply: TypeAlias = Callable[[Identity, Identity], Awaitable[Identity]]

_REMEMBERED = 3
_QUERY_MAX = 1_000


@dataclass(frozen=True, slots=True)
class Learned:
    """What came of a piece of feedback; `identity` is the one that holds from now on."""

    loop_id: UUID
    applied: bool
    verdict: Verdict
    identity: Identity


@dataclass(frozen=True, slots=True)
class Lesson:
    """One piece of feedback, and who proposes, who judges, who applies."""

    memory: PersonaMemory
    identity: Identity
    rubric: Rubric
    apply: Apply
    llm: Llm | None = None
    propose: Proposer | None = None

    async def learn(self, feedback: str) -> Learned:
        """Record the feedback, propose a change, and apply it only if it is judged better."""
        async with self.memory.loop("learn", Persona.SUBCONSCIOUS) as loop:
            # As it passed the ingest gate: no secret of a feedback gets into an identity.
            told = await loop.append(EventKind.FEEDBACK, feedback)
            evidence = await self._evidence(told.content)
            try:
                proposed = await self._proposed(evidence, loop)
                refuse_untunable(self.identity, proposed)
                verdict = await self._verdict(proposed, evidence)
            except (NotTunable, IdentityInvalid, ModelMalformed) as error:
                # A proposal that cannot be is an answer too: it is on record, and refused.
                proposed, verdict = self.identity, Verdict(False, error.message)
            await _note(loop, "verdict", _as_data(verdict))
            if verdict.better:
                proposed = await self.apply(self.identity, proposed)
            held = proposed if verdict.better else self.identity
            await _note(loop, "outcome", {"applied": verdict.better, "version": held.version})
            return Learned(loop.id, verdict.better, verdict, held)

    async def _evidence(self, feedback: str) -> Evidence:
        """The feedback, and the Actor's own loops it may be about.

        What is proposed here ends up in the Actor's prompt. Whoever proposes it is therefore
        shown nothing that the Subconscious alone remembers, and cannot pass it on.
        """
        query = extract(feedback, _QUERY_MAX)
        found = await self.memory.actor.fuzzy_query(query, self.identity.subconscious)
        return Evidence(feedback, tuple(one.entry.summary for one in found[:_REMEMBERED]))

    async def _proposed(self, evidence: Evidence, loop: OpenLoop) -> Identity:
        asked = question(self.identity, evidence)
        await _log(loop, EventKind.SUBCONSCIOUS_PROMPT, "proposal", asked[-1]["content"])
        if self.propose is not None:
            proposed = self.propose(self.identity, evidence)
            proposed = await proposed if inspect.isawaitable(proposed) else proposed
        elif self.llm is not None:
            async with conversation(self.llm, self.identity.model) as ask:
                proposed = read_change((await ask(asked, [])).text).to(self.identity)
        else:
            proposed = guideline(self.identity, evidence).to(self.identity)
        if not isinstance(proposed, Identity):
            raise ModelMalformed(f"The proposal is a {type(proposed).__name__}, not an identity.")
        await _log(loop, EventKind.SUBCONSCIOUS_OUTPUT, "proposal", proposed.instructions)
        return replace(proposed, version=self.identity.version + 1)

    async def _verdict(self, proposed: Identity, evidence: Evidence) -> Verdict:
        said = self.rubric(self.identity, proposed, evidence)
        verdict = await said if inspect.isawaitable(said) else said
        if not isinstance(verdict, Verdict):
            raise ModelMalformed(f"The rubric said a {type(verdict).__name__}, not a `Verdict`.")
        return verdict


async def _note(loop: OpenLoop, step: str, data: dict[str, Any]) -> None:
    await _log(loop, EventKind.SYSTEM_EVENT, step, json.dumps({step: data}, ensure_ascii=False))


async def _log(loop: OpenLoop, kind: EventKind, step: str, content: str) -> None:
    await loop.append(kind, content, visibility=Visibility.INTERNAL, metadata={"step": step})


def _as_data(verdict: Verdict) -> dict[str, Any]:
    return {
        "better": verdict.better,
        "why": verdict.why,
        "before": verdict.before,
        "after": verdict.after,
    }
