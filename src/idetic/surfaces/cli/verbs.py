"""The command of a verb, made from its declaration: arguments, options, help, and the call.

What an argument is typed as follows from its annotation. Required arguments are the command's
arguments; the others are options. Text is turned into values, and checked, before a database is
opened, unless only the agent's spec can say what a value means.
"""

from __future__ import annotations

import inspect
import json
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from types import GenericAlias, UnionType
from typing import Annotated, Any, Union, get_args, get_origin
from uuid import UUID

import typer
from typer.core import TyperCommand
from typer.main import get_command

from idetic.audit.chain import ChainHead
from idetic.audit.findings import Verified
from idetic.errors import ChainBroken, InputError
from idetic.library.handles import Memory
from idetic.model import Claim, Observation, Ref
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import EnvelopeType
from idetic.surfaces.cli import output
from idetic.surfaces.cli.failures import UsageRefused
from idetic.surfaces.cli.options import SCOPE, AgentName, Anchor, As, Dsn, Json, examples
from idetic.surfaces.cli.renderers import answer
from idetic.surfaces.cli.sources import moment_of, pairs, read_text, with_memory, write_text
from idetic.verbs.arguments import Between, check_uuid, plain
from idetic.verbs.declaration import PROGRESS, VERBS, Parameter, Verb
from idetic.verbs.handle import AsyncHandle

Reader = Callable[[str, str], Any]

# More than any note may have, and little enough to refuse without reading a whole disk.
_STDIN_LIMIT = 1 << 20
# An export of chats is larger.
_EXPORT_LIMIT = 1 << 28
_REF = re.compile(r"([^:]+):([^@]*)(?:@([0-9]+))?\Z", re.ASCII)
# How an argument is typed, beside what the declaration says about it.
_TYPED = {
    "text": "Or - for stdin.",
    "messages": "Or - for stdin; JSON is read as messages or as a chat's export.",
    "envelope": "Once for each key; lists with commas.",
    "where": "Once for each key; lists with commas.",
    "claim": "As subject=…, attribute=… and value=….",
    "subject": "A name, an address or an id; without any, from stdin, one to a line.",
    "head": "A head that you kept earlier: shows whether links were removed since.",
}
# What a command has beside its verb's own arguments: a parameter's name, type and option.
_PAST = "Entries that were current at this time: ISO 8601 with a time zone."
_SAVE = "Write the chain's head to this file if the chain is intact."
_ALL = "Delete everything of this anchor; asks first."
_YES = ("yes", bool, typer.Option("--yes", help="Confirm: this cannot be undone."))
_EXTRAS: dict[str, tuple[tuple[str, Any, Any], ...]] = {
    "list": (("past", str | None, typer.Option("--as-of", metavar="TIME", help=_PAST)),),
    "verify": (("save_head", str | None, typer.Option(metavar="FILE", help=_SAVE)),),
    "erase": (("all_", bool, typer.Option("--all", help=_ALL)), _YES),
    "forget": (_YES,),
}


@dataclass(frozen=True, slots=True)
class Input:
    """One argument of a verb as it is typed: its type, and whether there may be several."""

    parameter: Parameter
    kind: Any
    several: bool

    @classmethod
    def of(cls, parameter: Parameter) -> Input | None:
        """How an argument is typed; None for what no command line can say."""
        kind = _plain(parameter.hint)
        if kind is None and parameter.wire is not None:
            kind = _plain(parameter.wire.kind)
        if kind is None and str in get_args(plain(parameter.hint)):
            kind = str
        several = get_origin(kind) in _SEVERAL
        kind = _plain(get_args(kind)[0]) if several else kind
        return cls(parameter, kind, several) if _typeable(kind) else None

    @property
    def word(self) -> str:
        """Its name; that of the wire where only the wire's form can be typed."""
        wire = self.parameter.wire
        return wire.name if wire and _plain(self.parameter.hint) is None else self.parameter.name

    @property
    def label(self) -> str:
        """What a user types before it, or the word that stands for it in the help."""
        word = _singular(self.word) if self.several else self.word
        if not self.parameter.required or self.parameter.keyword:
            return f"--{word.replace('_', '-')}"
        return f"{word}_id".upper() if self.kind is UUID and "_" not in word else word.upper()

    @property
    def metavar(self) -> str | None:
        """The word for its value."""
        if not self.label.startswith("--"):
            return f"{self.label}…" if self.several else self.label
        if get_origin(self.kind) in _MAPPINGS or self.kind is Claim:
            return "KEY=VALUE"
        return _METAVARS.get(self.kind)

    def declared(self) -> inspect.Parameter:
        """It as an argument or option of a typer command."""
        parameter, kind = self.parameter, self.kind
        if get_origin(kind) in _MAPPINGS or kind is Claim:
            kind = list[str]
        elif not (isinstance(kind, type) and issubclass(kind, StrEnum | int)):
            kind = str
        kind = GenericAlias(list, (kind,)) if self.several else kind
        default: Any = inspect.Parameter.empty
        if not parameter.required or self.from_stdin:
            simple = type(parameter.default) in (int, bool, str)
            default = parameter.default if simple else None
            kind = kind if simple else kind | None
        details: dict[str, Any] = {
            "help": self.help,
            "metavar": self.metavar,
            "show_default": type(default) is int,
        }
        if not self.label.startswith("--"):
            info = typer.Argument(**details)
        elif parameter.default is True:
            info = typer.Option(help=self.help)
        else:
            info = typer.Option(self.label, **details)
        return _keyword(parameter.name, Annotated[kind, info], default)

    @property
    def help(self) -> str | None:
        """A line about it; the bounds of a number are part of it."""
        parts = [self.parameter.description, _TYPED.get(self.parameter.name, "")]
        notes = get_args(self.parameter.hint) if get_origin(self.parameter.hint) else ()
        bounds = next((note for note in notes if isinstance(note, Between)), None)
        bound = f"From {bounds.least} to {bounds.most:,}." if bounds else ""
        parts += [] if bound.lower() in (self.parameter.description or "").lower() else [bound]
        return " ".join(filter(None, parts)) or None

    def read(self, typed: Any, spec: MemorySpec | None) -> Any:
        """The value that was typed, checked as the verb would check it."""
        if get_origin(self.kind) in _MAPPINGS or self.kind is Claim:
            given = pairs(typed, self.label)
            return given if spec is None else _listed(spec, given)
        reader: Reader = _READERS.get(self.kind, lambda text, _: text)
        reader = _messages if self.parameter.name == "messages" else reader
        check = self.parameter.check
        several = [reader(one, self.label) for one in typed] if self.several else None
        value = reader(typed, self.label) if several is None else several
        return value if check is None else check(value, self.label)

    @property
    def from_stdin(self) -> bool:
        """Whether it may come from stdin, one to a line: others can read a command's arguments."""
        return self.several and self.kind is str and self.parameter.required

    @property
    def needs_spec(self) -> bool:
        """Whether only the spec says what its values mean: an envelope's may be lists."""
        return get_origin(self.kind) in _MAPPINGS and get_args(self.kind)[1] is Any


def command_of(name: str) -> TyperCommand:
    """The command of the verb that is called so."""
    verb = next(each for each in VERBS.values() if each.command == name)
    every = (Input.of(each) for each in verb.parameters.values())
    inputs = [each for each in every if each is not None]
    # Several of one thing take all the words that are left, so they come last.
    inputs.sort(key=lambda each: each.several and not each.label.startswith("--"))

    def run(**typed: Any) -> int:
        return _run(verb, inputs, typed)

    own = [*_session(verb), *(each.declared() for each in inputs)]
    vars(run).update(__signature__=inspect.Signature([*own, *_shared(verb)]), __annotations__={})
    run.__doc__ = verb.__doc__
    app = typer.Typer(add_completion=False)
    app.command(name, epilog=examples(*_examples(verb, inputs)))(run)
    made = get_command(app)
    if not isinstance(made, TyperCommand):
        raise TypeError(f"{name} is not a command.")
    return made


def _session(verb: Verb[..., Any]) -> Iterator[inspect.Parameter]:
    """The parameter that names the session, for a verb that is called in one."""
    if verb.http is not None and verb.http.at_place:
        argument = typer.Argument(metavar="SESSION_ID", show_default=False)
        yield _keyword("session", Annotated[str, argument])
    elif verb.placed:
        new = verb is Memory.observe
        about = "The session; without it a new one, open until `idetic close`." if new else None
        option = typer.Option(metavar="SESSION_ID", help=about or "Within this session.")
        yield _keyword("session", Annotated[str | None, option], None)


def _shared(verb: Verb[..., Any]) -> Iterator[inspect.Parameter]:
    """The options of every verb's command, after the extra ones that a few verbs have."""
    for name, kind, option in _EXTRAS.get(verb.name, ()):
        yield _keyword(name, Annotated[kind, option], False if kind is bool else None)
    for name, hint in (("agent", AgentName), ("anchor", Anchor), ("as_", As)):
        yield _keyword(name, hint)
    yield _keyword("dsn", Dsn, None)
    yield _keyword("json", Json, False)


def _keyword(name: str, hint: Any, default: Any = inspect.Parameter.empty) -> inspect.Parameter:
    """A parameter of a command's signature; typer reads them all by name."""
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, annotation=hint, default=default)


def _examples(verb: Verb[..., Any], inputs: list[Input]) -> list[str]:
    """The declared examples; without any, the command with all that it requires."""
    if verb.examples:
        return [line.replace("{scope}", SCOPE) for line in verb.examples]
    words = ["idetic", str(verb.command)]
    for each in inputs:
        if each.parameter.required:
            option = each.label.startswith("--")
            words.append(f"{each.label} {each.metavar or 'TEXT'}" if option else each.label)
    return [" ".join([*words, SCOPE])]


def _run(verb: Verb[..., Any], inputs: list[Input], typed: dict[str, Any]) -> int:
    """Call a verb with what was typed, give its answer, and return the exit code."""
    _complete(inputs, typed)
    named = {each.parameter.name: each for each in inputs if typed[each.parameter.name] is not None}
    values = {
        name: each.read(typed[name], None) for name, each in named.items() if not each.needs_spec
    }
    label = "SESSION_ID" if verb.http is not None and verb.http.at_place else "--session"
    session = typed.get("session")
    session_id = None if session is None else check_uuid(session, label)
    if typed.get("all_"):
        verb, values = Memory.erase_anchor, {"reason": values["reason"]}
    if typed.get("past") is not None:
        verb, values = _in_the_past(typed["past"], values)

    async def work(memory: Memory) -> tuple[Any, AsyncHandle]:
        """Read what only the spec can explain, then call the verb at its place."""
        for name, each in named.items():
            if each.needs_spec:
                values[name] = each.read(typed[name], memory.agent.spec)
        if "claim" in values and "envelope" in verb.parameters:
            # Within the envelope, whose check says what a claim lacks.
            values["envelope"] = values.get("envelope", {}) | {"claim": values.pop("claim")}
        handle = await _handle(verb, memory, session_id, values)
        with _progress(verb, quiet=typed["json"]) as report:
            return await handle.bound(verb)(**values, **report), handle

    scope = (typed["agent"], typed["anchor"], typed["as_"], typed["dsn"])
    value, handle = with_memory(*scope, work)
    if isinstance(value, Verified) and value.intact and typed["save_head"] is not None:
        write_text(typed["save_head"], output.as_text(value.head.as_data()) + "\n", anew=False)
    answer(verb, value, values, handle.place, as_json=typed["json"])
    return ChainBroken.exit_code if isinstance(value, Verified) and not value.intact else 0


def _complete(inputs: list[Input], typed: dict[str, Any]) -> None:
    """Ask for the yes that an erasure needs, and read from stdin what was not typed."""
    if not typed.get("yes", True) and not (typed.get("all_") and _confirmed(typed["anchor"])):
        raise UsageRefused(
            "An erasure cannot be undone.", remedy="Add --yes to confirm. Nothing was erased yet."
        )
    if typed.get("all_"):
        _check_nobody(typed)
        return
    for name, limit in (("text", _STDIN_LIMIT), ("messages", _EXPORT_LIMIT)):
        if typed.get(name) == "-":
            typed[name] = sys.stdin.read(limit)
    for each in inputs:
        if each.from_stdin and not typed[each.parameter.name]:
            typed[each.parameter.name] = [line.strip() for line in sys.stdin if line.strip()]


def _confirmed(anchor: Sequence[str]) -> bool:
    """Whether somebody at a terminal says yes to erasing a whole anchor; nobody is no yes."""
    question = f"Erase everything of {', '.join(anchor)}? This cannot be undone."
    return sys.stdin.isatty() and typer.confirm(question, err=True)


def _check_nobody(typed: Mapping[str, Any]) -> None:
    """Refuse names and a key beside --all: it takes everything, named or not."""
    if typed.get("subject") or typed.get("idempotency_key"):
        raise UsageRefused(
            "--all cannot be combined with subjects or a key.",
            remedy="Leave those out. Nothing was erased.",
        )


def _in_the_past(typed: str, values: Mapping[str, Any]) -> tuple[Verb[..., Any], dict[str, Any]]:
    """`idetic list --as-of`, which is a verb of its own and takes fewer filters."""
    if values.keys() & {"tier", "typology", "where"}:
        raise InputError(
            "--as-of cannot be combined with --tier or --typology.", remedy="Leave those out."
        )
    moment = Memory.as_of.parameters["moment"]
    when = moment_of(typed, "--as-of")
    checked = moment.check(when, "--as-of") if moment.check else when
    return Memory.as_of, {**values, "moment": checked}


async def _handle(
    verb: Verb[..., Any], memory: Memory, session_id: UUID | None, values: Mapping[str, Any]
) -> AsyncHandle:
    """Where a verb is called: a session that is named, a new one for a note, or all of memory."""
    if verb is Memory.observe:
        # Before a session is opened for it: what cannot be written leaves nothing behind.
        memory.check(Observation(**{k: v for k, v in values.items() if k != "typology"}))
        return await memory.session(session_id).open()
    if session_id is None:
        return memory
    session = memory.session(session_id)
    return await session.open() if verb.needs_open else session


@contextmanager
def _progress(verb: Verb[..., Any], *, quiet: bool) -> Iterator[dict[str, Any]]:
    """Yield the argument for progress while its bar is shown; none if the verb takes none."""
    if PROGRESS not in verb.parameters:
        yield {}
        return
    with output.bar(verb.name, quiet=quiet) as report:
        yield {PROGRESS: report}


def _ref(text: str, label: str) -> Ref:
    """`rule:UUID` or `rule:UUID@3` as a reference."""
    named = _REF.match(text)
    if named is None:
        raise InputError(
            f"{label} {text[:60]!r} is not NOUN:ID.", remedy="Write rule:UUID or rule:UUID@3."
        )
    noun, ref_id, version = named.groups()
    # More digits than a version can have are refused by the library, like any other number.
    return Ref(noun, check_uuid(ref_id, label), None if version is None else int(version[:12]))


def _messages(text: str, _label: str) -> Any:
    """A text as it is; JSON as the messages or the chat that it holds."""
    if not text.lstrip().startswith(("[", "{")):
        return text
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def read_head(path: str, label: str = "--head") -> ChainHead:
    """A head that was kept in a file."""
    try:
        data = json.loads(read_text(path))
    except (ValueError, RecursionError):
        raise InputError(
            f"{label}: the file {path!r} is not JSON.", remedy="Give a file that --save-head wrote."
        ) from None
    return ChainHead.from_data(data)


def _listed(spec: MemorySpec, typed: Mapping[str, str]) -> dict[str, Any]:
    """An envelope with its lists as lists; the library says what does not fit."""
    declared = spec.retrieval.envelope
    made: dict[str, Any] = {}
    for key, value in typed.items():
        several = key in declared and declared[key].type is EnvelopeType.LIST
        made[key] = [each.strip() for each in value.split(",")] if several else value
    return made


_SEVERAL = (list, Iterable, Sequence)
_READERS: dict[Any, Reader] = {
    UUID: check_uuid,
    datetime: moment_of,
    Ref: _ref,
    ChainHead: read_head,
}
_METAVARS = {
    UUID: "ID",
    datetime: "TIME",
    Ref: "NOUN:ID[@VERSION]",
    ChainHead: "FILE",
    str: "TEXT",
}
_MAPPINGS = (dict, Mapping)


def _plain(hint: Any) -> Any:
    """The one type that an annotation allows; None where it allows several."""
    kind = plain(hint)
    return None if get_origin(kind) in (Union, UnionType) else kind


def _typeable(kind: Any) -> bool:
    """Whether a value of this kind can be typed on a command line."""
    simple = isinstance(kind, type) and issubclass(kind, str | int)
    return simple or kind in (*_READERS, Claim) or get_origin(kind) in _MAPPINGS


def _singular(word: str) -> str:
    """One of a plural: an option that is repeated names one thing each time."""
    if word.endswith("ies"):
        return f"{word[:-3]}y"
    return word if word.endswith("us") else word.removesuffix("s")
