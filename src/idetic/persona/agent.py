"""A small agent loop: do a task, learn from feedback, dream. Everything it does is an event."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from uuid import UUID

from anyio import to_thread

from idetic.errors import InputError
from idetic.persona.compactor import extract
from idetic.persona.conversation import (
    LOGGED_MAX,
    Ask,
    Llm,
    Message,
    ModelReply,
    Tool,
    call_tool,
    checked_tools,
    conversation,
    escaped,
)
from idetic.persona.events import EventKind, Persona, Progress, Visibility
from idetic.persona.identity import Identity, IdentityFile
from idetic.persona.learning import Learned, Lesson, Proposer, Rubric, small_and_grounded
from idetic.persona.loops import Dreamed, Loop
from idetic.persona.persona_errors import ModelMalformed, TooManyRounds
from idetic.persona.persona_memory import PersonaMemory
from idetic.persona.prompt import ActorPrompt, Recalled, build, note_part
from idetic.reason.endpoint import ToolCall
from idetic.recall.tokens import ConservativeCounter, TokenCounter

MAX_ROUNDS = 8
_CALLS_MAX = 16
_NOTES_MAX = 5
# A question of this length finds what a longer one would; models embed little more.
_QUERY_MAX = 1_000


@dataclass(frozen=True, slots=True)
class Done:
    """The result of a task: the answer, its loop, and its first prompt."""

    text: str = field(repr=False)
    loop_id: UUID
    rounds: int
    prompt: ActorPrompt = field(repr=False)


class PersonaAgent:
    """One agent with persona memory: the Actor does tasks, the Subconscious learns and dreams.

    `identity` is an identity, or the path of its file. Only a file keeps what the agent learns.
    """

    def __init__(
        self,
        identity: Identity | IdentityFile | str | Path,
        memory: PersonaMemory,
        *,
        tools: Mapping[str, Tool] | None = None,
        counter: TokenCounter | None = None,
        max_rounds: int = MAX_ROUNDS,
    ):
        if isinstance(identity, str | Path):
            identity = IdentityFile(identity)
        self.file = identity if isinstance(identity, IdentityFile) else None
        self.identity = identity.read() if isinstance(identity, IdentityFile) else identity
        if memory.actor.agent_id != self.identity.agent_id:
            raise InputError("The memory belongs to another agent than the identity.")
        if type(max_rounds) is not int or max_rounds < 1:
            raise InputError("max_rounds must be a whole number above 0.")
        self.memory = memory
        self._tools = checked_tools(tools)
        self._declared = [tool.declared(name) for name, tool in self._tools.items()]
        self._counter = counter or ConservativeCounter()
        self._max_rounds = max_rounds

    def __repr__(self) -> str:
        return f"PersonaAgent({self.identity.agent_id})"

    async def do(self, task: str, *, llm: Llm) -> Done:
        """Do one task in one loop: recall, ask the model, run its tools, answer.

        The loop always closes; if anything was raised, its last event says so.
        """
        if not isinstance(task, str) or not task.strip():
            raise InputError(
                "A task must be a text.", remedy="Say what to do; nothing was written."
            )
        task = escaped(task)
        async with self.memory.loop(task, Persona.ACTOR) as loop:
            await loop.append(EventKind.USER_INPUT, task)
            prompt = await self._prompt(task, loop.id)
            async with conversation(llm, self.identity.model) as ask:
                text, rounds = await self._talk(ask, prompt.messages(), loop)
            await loop.append(EventKind.ACTOR_OUTPUT, text)
            return Done(text, loop.id, rounds, prompt)

    async def learn(
        self,
        feedback: str,
        *,
        llm: Llm | None = None,
        propose: Proposer | None = None,
        rubric: Rubric | None = None,
    ) -> Learned:
        """Propose a small change to the instructions, and apply it if the rubric says better.

        Without `llm` and `propose` the feedback itself is the proposed line. Without `rubric` the
        shipped one decides, `idetic.persona.learning.small_and_grounded`. Pass only feedback from
        people who may instruct this agent, because it may become an instruction.
        """
        if not isinstance(feedback, str) or not feedback.strip():
            raise InputError(
                "Feedback must be a text.",
                remedy="Say what the agent did well or badly; nothing was written.",
            )
        judge = rubric or small_and_grounded
        lesson = Lesson(self.memory, self.identity, judge, self._apply, llm, propose)
        learned = await lesson.learn(escaped(feedback))
        self.identity = learned.identity
        return learned

    async def dream(self, progress: Progress | None = None) -> Dreamed:
        """Create missing long-term and short-term entries; returns the coverage."""
        return await self.memory.dream(progress)

    async def roll_back(self, to: int | None = None) -> Identity:
        """Restore the instructions of an earlier version, by default the previous one."""
        if self.file is None:
            raise InputError(
                "This identity has no file, so there is nothing to go back to.",
                remedy="Make the agent with the path of its identity file.",
            )
        async with self.memory.loop("roll back", Persona.SUBCONSCIOUS) as loop:
            self.identity = await to_thread.run_sync(self.file.roll_back, to)
            content = json.dumps({"rolled_back_to": to, "version": self.identity.version})
            await loop.append(EventKind.SYSTEM_EVENT, content, visibility=Visibility.INTERNAL)
        return self.identity

    async def _apply(self, old: Identity, new: Identity) -> Identity:
        """Put a new identity in force: in its file, if the agent has one."""
        if self.file is None:
            return new
        return await to_thread.run_sync(self.file.replace, old, new)

    async def _prompt(self, task: str, loop_id: UUID) -> ActorPrompt:
        """The Actor's prompt for a task, with the loops, entries and notes recalled for it."""
        view, heuristics = self.memory.actor, self.identity.actor
        query = extract(task, _QUERY_MAX)
        notes = await view.operational_notes(limit=_NOTES_MAX)
        recalled = Recalled(
            loops=await view.fuzzy_query(query, heuristics),
            entries=await view.rag_query(query, limit=heuristics.top_k),
            notes=[note_part(n.id, n.ts, n.text, view.agent_id, view.persona) for n in notes],
        )
        return build(
            self.identity, task, recalled, self._counter, tools=self._declared, loop_id=loop_id
        )

    async def _talk(self, ask: Ask, messages: list[Message], loop: Loop) -> tuple[str, int]:
        """The answer, and how many times the model was asked for it."""
        for rounds in range(1, self._max_rounds + 1):
            reply = await ask(list(messages), list(self._declared))
            if not reply.calls:
                return reply.text, rounds
            if len(reply.calls) > _CALLS_MAX:
                raise ModelMalformed(f"The model called more than {_CALLS_MAX} tools at once.")
            messages += [reply.message(), *await self._run(reply, loop)]
        raise TooManyRounds(f"The model called tools {self._max_rounds} times without an answer.")

    async def _run(self, reply: ModelReply, loop: Loop) -> list[Message]:
        """Run what the model called, each call and result an event; what the model is shown."""
        internal, results = Visibility.INTERNAL, []
        if reply.text.strip():
            await loop.append(EventKind.ACTOR_OUTPUT, reply.text, visibility=internal)
        for call in reply.calls:
            about: dict[str, Any] = {
                "tool": escaped(call.name[:64]),
                "call": escaped(call.id[:100]),
            }
            await loop.append(
                EventKind.TOOL_CALL, _call_text(call), visibility=internal, metadata=about
            )
            outcome = await call_tool(self._tools, call.name, call.arguments)
            about["failed"] = outcome.failed
            await loop.append(
                EventKind.TOOL_RESULT, outcome.content, visibility=internal, metadata=about
            )
            results.append({"role": "tool", "tool_call_id": call.id, "content": outcome.shown})
        return results


def _call_text(call: ToolCall) -> str:
    """A call as its event holds it."""
    try:
        arguments = json.loads(call.arguments or "{}")
    except (ValueError, RecursionError):
        arguments = call.arguments
    content = json.dumps({"tool": call.name, "arguments": arguments}, ensure_ascii=False)
    return escaped(content)[:LOGGED_MAX]
