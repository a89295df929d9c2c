"""The tools: made from the verbs that declare one, and `explain`, which is several verbs in one.

Which there are, and what they take, follows from the spec: memory of conversations has six of its
own, and no tool has an argument that the spec could not use.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from mcp.types import ToolAnnotations
from pydantic import BaseModel, ValidationError

from idetic.errors import InputError
from idetic.model import Capability, PrincipalKind, Scope
from idetic.recall.evidence import visible
from idetic.spec.memory_spec import MemorySpec
from idetic.surfaces.mcp import calls
from idetic.surfaces.mcp.calls import PRESENTERS, presenter_of
from idetic.surfaces.mcp.conversation import CONVERSATION
from idetic.surfaces.mcp.presenter import (
    CURSOR,
    Arguments,
    CallContext,
    Present,
    Presenter,
    extra,
)
from idetic.surfaces.request_forms import arguments_of, body_model
from idetic.verbs.authorization import allows
from idetic.verbs.declaration import (
    INSIDERS,
    KEY,
    VERBS,
    McpTool,
    Parameter,
    Verb,
)

__all__ = ["CallContext", "OfferedTool", "tools"]

_SHOWN = 3
_LONGEST = 60


@dataclass(frozen=True, slots=True)
class OfferedTool:
    """One tool. Who lacks the capability, or is not of these kinds, does not even see it listed."""

    name: str
    title: str
    description: str
    needs: tuple[Capability, ...]
    form: type[BaseModel]
    parameters: tuple[Parameter, ...]
    hints: ToolAnnotations
    run: Present
    kinds: frozenset[PrincipalKind] = INSIDERS

    def offered(self, spec: MemorySpec, scope: Scope) -> bool:
        """Whether a scope could use it; the verb checks this again when it is called."""
        able = any(allows(spec, scope, one) for one in self.needs)
        return able and scope.principal.kind in self.kinds

    def read(self, arguments: Mapping[str, Any] | None) -> Arguments:
        """The arguments, or an error that names each wrong one and repeats no value."""
        try:
            form = self.form.model_validate(dict(arguments or {}))
        except ValidationError as error:
            wrong = error.errors(include_url=False, include_context=False, include_input=False)
        else:
            sent = {name: getattr(form, name) for name in self.form.model_fields}
            for one in self.parameters:
                # A filter that lets nothing through is a mistake, and would answer as "nothing".
                if sent[one.wire_name] == [] and one.default not in ((), []):
                    raise InputError(f"{one.wire_name} is empty.", remedy="Leave it out, for all.")
            return arguments_of(self.parameters, sent)
        named = "; ".join(f"{_place(one['loc'])}: {one['msg']}" for one in wrong[:_SHOWN])
        more = f"; and {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
        raise InputError(
            f"These arguments do not fit. {named}{more}.",
            remedy=f"The arguments are: {', '.join(self.form.model_fields)}. The connection "
            "decides whose memory this is. Nothing was written.",
        )


def tools(spec: MemorySpec) -> list[OfferedTool]:
    """Every tool that a connection to memory of this spec may offer."""
    made = [
        _tool(verb, verb.tool, presenter, spec)
        for verb in VERBS.values()
        if verb.tool is not None and (presenter := _presenter(verb, spec)) is not None
    ]
    several = [] if spec.backend.conversation else [_explain()]
    return sorted([*made, *several], key=lambda tool: tool.name)


def _presenter(verb: Verb[..., Any], spec: MemorySpec) -> Presenter | None:
    """How memory of this spec shows a verb; None where it does not."""
    if spec.backend.conversation:
        return CONVERSATION.get(verb.name)
    only_there = verb.name in CONVERSATION and verb.name not in PRESENTERS
    return None if only_there else presenter_of(verb)


def _unusable(spec: MemorySpec) -> set[str]:
    """The arguments of which a spec declares nothing that they could hold."""
    declared = {
        "envelope": spec.retrieval.envelope,
        "refs": spec.references.canonical,
        "provenance": spec.anchor.provenance,
    }
    return {name for name, values in declared.items() if not values}


def _tool(
    verb: Verb[..., Any], declared: McpTool, presenter: Presenter, spec: MemorySpec
) -> OfferedTool:
    """The tool that a verb declares, with what its presenter takes besides."""
    name = (declared.name or verb.name).format(agent=spec.agent)
    hidden = {*declared.hidden, *_unusable(spec)}
    parameters = [
        one
        for one in verb.parameters.values()
        if (one.travels or one.name == KEY)
        and one.name not in hidden
        and (presenter.only is None or one.name in presenter.only)
    ]
    parameters += presenter.more
    return OfferedTool(
        name,
        declared.title,
        declared.description,
        verb.capabilities or (Capability.READ,),
        body_model(f"{name}_arguments", parameters),
        tuple(parameters),
        _hints(verb.writes, declared.destructive, declared.idempotent),
        presenter.present,
        declared.kinds,
    )


def _explain() -> OfferedTool:
    """The tool `explain`: it calls several verbs, so none of them can declare it."""
    entry = extra("entry_id", UUID | None, "An entry's UUID.")
    query = extra("query", str | None, "With entry_id: how each signal ranked it for this.")
    action = extra("action_id", UUID | None, "Instead of entry_id: what this action rested on.")
    parameters = (entry, query, action, CURSOR)
    return OfferedTool(
        "explain",
        "Ask where an entry or an action comes from",
        "With entry_id: the whole entry and its history, and with query also how each signal "
        "ranked it. With action_id (for principals who may audit): what the action rested on.",
        (Capability.READ,),
        body_model("explain_arguments", parameters),
        parameters,
        _hints(writes=False, destructive=False, idempotent=True),
        calls.explain,
    )


def _hints(writes: bool, destructive: bool, idempotent: bool | None) -> ToolAnnotations:
    """A tool's effects as the protocol's hints; reading can be repeated without harm."""
    return ToolAnnotations(
        read_only_hint=not writes,
        destructive_hint=destructive,
        idempotent_hint=not writes if idempotent is None else idempotent,
        open_world_hint=False,
    )


def _place(parts: tuple[int | str, ...]) -> str:
    """Where an argument is wrong, as a short path that is safe to show."""
    return visible(".".join(map(str, parts)))[:_LONGEST]
