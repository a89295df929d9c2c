"""What is wrong with an identity, said so that its author can put it right."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from idetic.persona.errors import IdentityInvalid
from idetic.spec.problems import Finding, SpecProblem, Steps, path_of
from idetic.spec.shape import nearest

if TYPE_CHECKING:
    from idetic.spec.document import YamlDocument

KEYS = (
    "agent_id",
    "name",
    "instructions",
    "actor",
    "subconscious",
    "model",
    "prompt_tokens",
    "version",
)
"""The keys of an identity, in the order in which it is written."""

INSTRUCTIONS_MAX = 8_000
SECTION = "Identity"
# Two underscores in a row separate the parts of a collection's name.
_AGENT_ID = re.compile(r"[A-Za-z0-9]+(?:[._-][A-Za-z0-9]+)*\Z")
_AGENT_ID_MAX = 64
_NAME_MAX = 200


def look(data: Mapping[str, Any]) -> list[Finding]:
    """Everything wrong with these values, heuristics apart."""
    return [
        *_unknown(data),
        *_check_agent_id(data),
        *_check_texts(data),
        *_check_numbers(data),
    ]


def invalid(
    findings: Sequence[Finding], source: str, document: YamlDocument | None
) -> IdentityInvalid:
    """The error that lists these findings, with their lines where a document knows them."""

    def line_of(steps: Steps) -> int | None:
        return document.line_of(steps) if document else None

    problems = [
        SpecProblem(
            SECTION, path_of(found.steps), found.message, found.remedy, line_of(found.steps)
        )
        for found in dict.fromkeys(findings)
    ]
    return IdentityInvalid(
        sorted(problems, key=lambda problem: (problem.line or 0, problem.path)), source=source
    )


def _unknown(data: Mapping[str, Any]) -> list[Finding]:
    found = []
    for key in data.keys() - set(KEYS):
        close = nearest(key, KEYS)
        remedy = f"Did you mean `{close}`? " if close else ""
        message = f"`{key[:60]}` is not a key of an identity."
        found.append(Finding((key,), message, f"{remedy}Known: {', '.join(KEYS)}."))
    return found


def _check_agent_id(data: Mapping[str, Any]) -> list[Finding]:
    value, remedy = data.get("agent_id"), "Write for example `agent_id: help-desk`."
    if value is None:
        return [Finding(("agent_id",), "No answer is given. Whose memory is it?", remedy)]
    if isinstance(value, str) and len(value) <= _AGENT_ID_MAX and _AGENT_ID.match(value):
        return []
    rule = (
        f"1 to {_AGENT_ID_MAX} letters and digits of ASCII, with single dots, dashes and "
        "underscores between them"
    )
    return [Finding(("agent_id",), f"An agent_id is {rule}.", remedy)]


def _check_texts(data: Mapping[str, Any]) -> list[Finding]:
    most = {"name": _NAME_MAX, "instructions": INSTRUCTIONS_MAX, "model": _NAME_MAX}
    found = []
    for key, longest in most.items():
        value = data.get(key)
        if value is None and (key == "model" or key not in data):
            continue
        if not isinstance(value, str):
            found.append(Finding((key,), f"`{key}` is not text.", "Write it as text, quoted."))
        elif "\x00" in value or any("\ud800" <= c <= "\udfff" for c in value):
            message = f"`{key}` holds NUL or a lone surrogate."
            found.append(Finding((key,), message, "Remove it."))
        elif len(value) > longest:
            message = f"`{key}` has {len(value):,} characters."
            found.append(Finding((key,), message, f"Write at most {longest:,}."))
        elif key == "model" and not value.strip():
            found.append(Finding((key,), "`model` is empty.", "Name a model, or remove the key."))
    return found


def _check_numbers(data: Mapping[str, Any]) -> list[Finding]:
    bounds = {"prompt_tokens": (256, 1_000_000), "version": (1, 2**31 - 1)}
    found = []
    for key, (least, most) in bounds.items():
        value = data.get(key, least)
        if type(value) is not int or not least <= value <= most:
            message = f"`{key}` is not a whole number from {least:,} to {most:,}."
            found.append(Finding((key,), message, f"Write for example `{key}: {least}`."))
    return found
