"""The Python reference, made from docstrings and declarations: a section for each class."""

from __future__ import annotations

import enum
import inspect
import re
import sys
from collections.abc import Iterator
from dataclasses import fields, is_dataclass
from typing import Any

import idetic
from idetic import AgentRunner, Found, Idetic, PersonaAgent, Tool, UserMemory
from idetic.context import Runbooks, Worlds
from idetic.library.handles import Agent, Interaction, Memory, Session
from idetic.library.keys import Keys
from idetic.persona.loops import Loop
from idetic.persona.persona_memory import PersonaMemory
from idetic.persona.views import ActorMemoryView, SubconsciousMemoryView
from idetic.verbs.declaration import Verb
from idetic.verbs.handle import AsyncHandle
from tests.support.docs import DOCS, signature

PAGE = DOCS / "reference" / "python.md"
SECTIONS: dict[str, tuple[Any, ...]] = {
    "Memory of a user": (idetic.remember, idetic.remember_async, UserMemory, Found),
    "A database": (Idetic, idetic.open_sync, Keys),
    "Memory of an agent": (Agent, Memory, Session, Interaction, idetic.Rule),
    "Answers for another agent": (idetic.runner, AgentRunner, idetic.explain),
    "Persona memory": (
        *(PersonaMemory, Loop, ActorMemoryView, SubconsciousMemoryView, PersonaAgent, Tool),
    ),
    "Reference contexts": (Worlds, Runbooks),
}
NOUNS = "Values"
ADAPTERS = "## Framework adapters"


def written(page: str) -> str:
    """The page made anew; its introduction and its words about adapters stay as they are."""
    introduction, _, rest = page.partition("\n## ")
    parts = [introduction.strip()]
    for title, things in SECTIONS.items():
        parts += [f"## {title}", *(part for thing in things for part in _described(thing))]
    parts += [f"## {NOUNS}", "What methods take and return."]
    parts += [part for noun in _nouns() for part in _described(noun)]
    return "\n\n".join([*parts, ADAPTERS + rest.partition(ADAPTERS)[2].rstrip()]) + "\n"


def _described(thing: Any) -> Iterator[str]:
    """A class with its fields and methods, or a function."""
    yield f"### `{_named(thing)}`"
    if not inspect.isclass(thing):
        yield _method(thing)
        return
    yield _text(thing)
    if issubclass(thing, enum.Enum):
        yield ", ".join(f"`{member.value}`" for member in thing)
    elif is_dataclass(thing):
        yield "\n".join(_field_rows(thing))
    yield from _methods(thing)


def _methods(kind: type) -> Iterator[str]:
    """The methods of a class; the verbs of memory under the tag of their route."""
    groups: dict[str, list[str]] = {}
    for member in members(kind):
        tag = (member.http.tag if member.http else "files") if isinstance(member, Verb) else ""
        told = _as_memory(member) if kind is not Memory and _on_memory(member) else _method(member)
        groups.setdefault(tag if kind is Memory else "", []).append(told)
    for tag in sorted(groups):
        if tag:
            yield f"#### Memory: {tag}"
        yield "\n\n".join(groups[tag])


def _on_memory(member: Any) -> bool:
    """Whether it is a verb that `Memory` has, too."""
    return isinstance(member, Verb) and hasattr(Memory, member.name)


def _as_memory(verb: Verb[..., Any]) -> str:
    """A verb of a session or an interaction: its summary; Memory's section has the rest."""
    group = f"#memory-{verb.http.tag}" if verb.http else "#memory"
    return f"-   *async* `{verb.name}(…)`, as in [Memory]({group})\n\n    {verb.summary}"


def members(kind: type) -> Iterator[Any]:
    """The public methods of a class that the package wrote, its verbs and properties included."""
    for name, member in inspect.getmembers(kind):
        if name.startswith("_") or name in vars(AsyncHandle):
            continue
        if isinstance(member, Verb) or _ours(member):
            yield member


def _ours(member: Any) -> bool:
    """Whether it is a method or a property of ours, and not one of a base from elsewhere."""
    inner = member.fget if isinstance(member, property) else member
    wanted = inspect.isfunction(inner) or inspect.ismethod(inner)
    return wanted and inner.__module__.startswith("idetic.")


def _method(member: Any) -> str:
    """One method: how it is called, what its docstring says, who may, and where else it is."""
    if isinstance(member, property):
        name = member.fget.__name__ if member.fget else ""
        return f"-   `{name}`, a property\n\n    {_text(member)}"
    function = member.function if isinstance(member, Verb) else member
    waits = isinstance(member, Verb) or inspect.iscoroutinefunction(function)
    # Four blanks: Python-Markdown needs them for the paragraphs of an item.
    lines = [f"-   {'*async* ' if waits else ''}`{signature(member)}`", f"    {_text(member)}"]
    return "\n\n".join(lines) + (_verb_facts(member) if isinstance(member, Verb) else "")


def _verb_facts(verb: Verb[..., Any]) -> str:
    """What the declaration adds: arguments, capability, command, address."""
    facts = [
        f"`{one.name}`: {one.description}" for one in verb.parameters.values() if one.description
    ]
    if verb.capabilities:
        facts.append("Needs " + " or ".join(f"`{one}`" for one in verb.capabilities) + ".")
    if verb.command:
        facts.append(f"Command `idetic {verb.command}`.")
    if verb.http:
        facts.append(f"HTTP `{verb.http.method} /v1{verb.http.path}`.")
    return ("\n\n    " + " ".join(facts)) if facts else ""


def _field_rows(kind: type) -> Iterator[str]:
    """The fields of a value, as the rows of a table."""
    yield "| field | type |\n|---|---|"
    for each in fields(kind):
        said = each.type if isinstance(each.type, str) else inspect.formatannotation(each.type)
        yield f"| `{each.name}` | `{said.replace('|', chr(92) + '|')}` |"


def _text(thing: Any) -> str:
    """A docstring in one line for each paragraph."""
    said = inspect.getdoc(thing.function if isinstance(thing, Verb) else thing) or ""
    return " ".join(re.sub(r"\s+", " ", part) for part in said.split("\n\n"))


def _named(thing: Any) -> str:
    inside = thing.__module__.startswith("idetic.context")
    return f"idetic.context.{thing.__name__}" if inside else str(thing.__name__)


def _nouns() -> list[type]:
    """Public values, and those that a method on this page returns or holds."""
    shown = {thing for things in SECTIONS.values() for thing in things}
    public = {getattr(idetic, name) for name in idetic.__all__}
    found = {each for each in public if inspect.isclass(each)} - shown
    waiting = [_hints(m) for thing in shown if inspect.isclass(thing) for m in members(thing)]
    while waiting:
        new = waiting.pop() - found - shown
        found |= new
        waiting += [_named_in(each) for each in new if is_dataclass(each)]
    return sorted(found, key=lambda each: each.__name__)


def _hints(member: Any) -> set[type]:
    function = member.fget if isinstance(member, property) else member
    function = function.function if isinstance(function, Verb) else function
    said = str(getattr(function, "__annotations__", {}).get("return", ""))
    return _looked_up(said, function)


def _named_in(kind: type) -> set[type]:
    return set().union(*(_looked_up(str(each.type), kind) for each in fields(kind)))


def _looked_up(said: str, beside: Any) -> set[type]:
    """The dataclasses and enumerations of the package that an annotation names."""
    module = sys.modules[beside.__module__] if hasattr(beside, "__module__") else idetic
    names = (getattr(module, word, None) for word in re.findall(r"\w+", said))
    return {
        each
        for each in names
        if inspect.isclass(each)
        and each.__module__.startswith("idetic")
        and (is_dataclass(each) or issubclass(each, enum.Enum))
    }


def main() -> None:
    """Write docs/reference/python.md."""
    PAGE.write_text(written(PAGE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
