"""The declaration of a verb: its function, and what every surface needs to know about it.

    @verb(capability=Capability.CORROBORATE, writes=True,
          http=post("/entries/{entry_id}/corroborations", tag="maturing"), command="corroborate")
    async def corroborate(binding: Binding, entry_id: UUID, …) -> Receipt:
        \"\"\"Add a source that supports an entry, or one that fails to.\"\"\"

The signature is the schema: HTTP body and OpenAPI, client method, MCP tool, CLI options and
reference page are read off it, and the docstring is their text. Placed in a handle's class a verb
is a method of it, typed like its function: a coroutine of an `AsyncHandle`, a plain call of a
`SyncHandle`.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Coroutine, Mapping
from dataclasses import dataclass
from functools import cached_property
from types import UnionType
from typing import (
    Annotated,
    Any,
    Concatenate,
    Generic,
    ParamSpec,
    Self,
    TypeVar,
    Union,
    get_args,
    get_origin,
    get_type_hints,
    overload,
)

from idetic.model import Capability, PrincipalKind
from idetic.verbs.arguments import Check, Wire, check_for
from idetic.verbs.handle import AsyncHandle, SyncHandle

P = ParamSpec("P")
R = TypeVar("R")
Function = Callable[Concatenate[Any, P], Coroutine[Any, Any, R]]

# Arguments that no body carries: a header, and a stream of events.
KEY = "idempotency_key"
PROGRESS = "progress"
REQUIRED: Any = inspect.Parameter.empty
# A customer asks and does nothing else; only operators and customers are an audience.
INSIDERS = frozenset(PrincipalKind) - {PrincipalKind.CUSTOMER}
AUDIENCE = frozenset({PrincipalKind.OPERATOR, PrincipalKind.CUSTOMER})


@dataclass(frozen=True, slots=True)
class Paging:
    """A list that comes in pages: the name of its items, and what the next page begins after."""

    items: str
    key: Callable[[Any], Any]


@dataclass(frozen=True, slots=True)
class HttpRoute:
    """Where a verb is served: method, path below `/v1`, the OpenAPI's tag, and its pages.

    With `at_place` the path stands below a session or an interaction, and there are two of it.
    """

    method: str
    path: str
    tag: str
    page: Paging | None = None
    at_place: bool = False
    media_type: str = "application/json"


def get(path: str, tag: str, **more: Any) -> HttpRoute:
    """A route that only looks; its arguments are the query's."""
    return HttpRoute("GET", path, tag, **more)


def post(path: str, tag: str, **more: Any) -> HttpRoute:
    """A route whose arguments are a JSON body's."""
    return HttpRoute("POST", path, tag, **more)


@dataclass(frozen=True, slots=True)
class McpTool:
    """How a model sees a verb: what it is told, and which arguments it is not offered."""

    title: str
    description: str
    name: str | None = None
    hidden: tuple[str, ...] = ()
    kinds: frozenset[PrincipalKind] = INSIDERS
    destructive: bool = False
    idempotent: bool | None = None


@dataclass(frozen=True, slots=True)
class Parameter:
    """One argument of a verb."""

    name: str
    hint: Any
    default: Any
    keyword: bool
    check: Check | None
    wire: Wire | None
    description: str

    @property
    def wire_name(self) -> str:
        """What it is called over HTTP."""
        return self.wire.name if self.wire is not None else self.name

    @property
    def travels(self) -> bool:
        """Whether a body or a query carries it."""
        local = self.wire is not None and self.wire.kind is None
        return not local and self.name not in (KEY, PROGRESS)

    @property
    def required(self) -> bool:
        """Whether a caller must pass it."""
        return self.default is REQUIRED


_COMMON = {
    "query": "The question, as you would ask a person.",
    "question": "The question, as you would ask a person.",
    "envelope": "What it is about: the envelope keys that the spec declares.",
    "where": "Only entries whose envelope matches every key of it.",
    "refs": "The canonical rows it refers to, instead of copying them.",
    "claim": "What it asserts, in a form that can be compared.",
    "provenance": "Where it comes from: the keys that the spec declares.",
    "valid_at": "The beginning of its validity; ISO 8601 with a time zone.",
    "heard_from": "The origin of a text that you relay; weaker than your own.",
    "speaker": "The name of the person who said it.",
    "typology": "The kind of memory.",
    "tier": "Only this tier.",
    "tiers": "Only these tiers.",
    "limit": "How many at most.",
    "before": "The next page: the last id of this one.",
    "after": "The next page: the last id of this one.",
    "min_trust": "From 0 to 100.",
    "as_of": "Search what was valid at this time; ISO 8601 with a time zone.",
    "moment": "ISO 8601 with a time zone.",
    "since": "From this time on; ISO 8601 with a time zone.",
    "until": "Up to this time; ISO 8601 with a time zone.",
    "budget": "At most this many tokens.",
    "reason": "The reason, which the ledger keeps.",
    "notes": "An explanation, which memory keeps.",
    "entry_id": "An entry's id.",
    "session_id": "A session's id.",
    "idempotency_key": "Any text of your own; a repeat with the same text writes nothing.",
}


class Verb(Generic[P, R]):
    """One verb. It is a method of the handles that name it, and a row of `VERBS`."""

    def __init__(  # noqa: PLR0913 - each answer by its own name
        self,
        function: Callable[..., Any],
        *,
        capability: Capability | tuple[Capability, ...] | None = None,
        writes: bool = False,
        whole_anchor: bool | None = None,
        placed: bool = False,
        needs_open: bool = False,
        operation: str | None = None,
        repeatable: bool | None = None,
        gated: bool = True,
        http: HttpRoute | None = None,
        tool: McpTool | None = None,
        command: str | None = "",
        examples: tuple[str, ...] = (),
        describes: Mapping[str, str] | None = None,
    ):
        self.function = function
        self.name = function.__name__.rstrip("_")
        self.__doc__ = function.__doc__
        # Any of these lets a scope in; a verb with none looks at the scope itself.
        self.capabilities = (capability,) if isinstance(capability, Capability) else capability
        self.writes = writes
        self.whole_anchor = writes if whole_anchor is None else whole_anchor
        self.placed = placed
        self.needs_open = needs_open
        # The name of its span; docs/reference/metrics.md lists them.
        self.operation = operation
        # Its answer passes the gate of whoever asked; without, it has none or passed it inside.
        self.gated = gated
        self.http = http
        self.tool = tool
        # The command's name; None for what a shell has no use for.
        self.command = self.name.replace("_", "-") if command == "" else command
        self.examples = examples
        # What each argument is, for OpenAPI, MCP and --help; the common ones are below.
        self.describes = describes or {}
        self._repeatable = repeatable

    @cached_property
    def signature(self) -> inspect.Signature:
        """The function's signature without its binding."""
        whole = inspect.signature(self.function)
        _, *own = whole.parameters.values()
        return whole.replace(parameters=own)

    @cached_property
    def parameters(self) -> Mapping[str, Parameter]:
        """Every argument by its name; hints are read when they are first asked for."""
        hints = get_type_hints(self.function, include_extras=True)
        return {
            each.name: Parameter(
                each.name,
                hints[each.name],
                each.default,
                each.kind is each.KEYWORD_ONLY,
                check_for(hints[each.name]),
                _wire(hints[each.name]),
                self.describes.get(each.name, _COMMON.get(each.name, "")),
            )
            for each in self.signature.parameters.values()
        }

    @cached_property
    def returns(self) -> Any:
        """The type of its answer."""
        return get_type_hints(self.function)["return"]

    @property
    def summary(self) -> str:
        """The first line of its docstring."""
        return inspect.cleandoc(self.__doc__ or "").split("\n", 1)[0]

    @property
    def repeatable(self) -> bool:
        """Whether sending it twice has the effect of once, so that a client may try again."""
        return not self.writes if self._repeatable is None else self._repeatable

    @property
    def streams(self) -> bool:
        """Whether its answer is a stream of bytes."""
        return False

    @cached_property
    def _shape(self) -> tuple[tuple[str, ...], frozenset[str]]:
        """The arguments that may be passed without their name, and those that must be passed."""
        every = self.parameters.values()
        positional = tuple(each.name for each in every if not each.keyword)
        return positional, frozenset(each.name for each in every if each.required)

    def values(self, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> dict[str, Any]:
        """The arguments of one call by name, each checked by its annotation."""
        positional, required = self._shape
        found = {**dict(zip(positional, args, strict=False)), **kwargs}
        fits = len(found) == len(args) + len(kwargs) and required <= found.keys()
        if not fits or not found.keys() <= self.parameters.keys():
            # It raises what a function would; asked of every call, it was a twentieth of a write.
            found = self.signature.bind(*args, **kwargs).arguments
        for name, value in found.items():
            check = self.parameters[name].check
            if check is not None:
                found[name] = check(value, name)
        return found

    @overload
    def __get__(self, handle: None, owner: type) -> Self: ...
    @overload
    def __get__(self, handle: AsyncHandle, owner: type) -> Callable[P, Coroutine[Any, Any, R]]: ...
    @overload
    def __get__(self, handle: SyncHandle, owner: type) -> Callable[P, R]: ...
    def __get__(self, handle: Any, owner: type) -> Any:
        return self if handle is None else handle.bound(self)

    def __repr__(self) -> str:
        return f"Verb({self.name})"


class StreamVerb(Verb[P, bytes]):
    """A verb whose function is an async generator of bytes."""

    @property
    def streams(self) -> bool:
        """It does."""
        return True

    @overload  # type: ignore[override]
    def __get__(self, handle: None, owner: type) -> Self: ...
    @overload
    def __get__(self, handle: AsyncHandle, owner: type) -> Callable[P, AsyncIterator[bytes]]: ...
    @overload
    def __get__(self, handle: SyncHandle, owner: type) -> Callable[P, bytes]: ...
    def __get__(self, handle: Any, owner: type) -> Any:
        return self if handle is None else handle.bound(self)


# Every verb that was declared, by name: the surfaces are made from it.
VERBS: dict[str, Verb[..., Any]] = {}


def verb(**declared: Any) -> Callable[[Function[P, R]], Verb[P, R]]:
    """Declare a verb; the arguments are those of `Verb`."""

    def declare(function: Function[P, R]) -> Verb[P, R]:
        made: Verb[P, R] = Verb(function, **declared)
        return _registered(made)

    return declare


def stream_verb(
    **declared: Any,
) -> Callable[[Callable[Concatenate[Any, P], AsyncIterator[bytes]]], StreamVerb[P]]:
    """Declare a verb whose answer is a stream of bytes."""

    def declare(function: Callable[Concatenate[Any, P], AsyncIterator[bytes]]) -> StreamVerb[P]:
        made: StreamVerb[P] = StreamVerb(function, **declared)
        return _registered(made)

    return declare


V = TypeVar("V", bound=Verb[..., Any])


def _registered(made: V) -> V:
    """The verb, now known by its name to every surface; a name is taken once."""
    known = VERBS.setdefault(made.name, made)
    if known is not made:
        raise ValueError(f"The verb {made.name} is declared twice.")
    return made


def _wire(hint: Any) -> Wire | None:
    """The note about its form on the wire, of a hint or of what it may be besides None."""
    if get_origin(hint) is Annotated:
        return next((note for note in get_args(hint)[1:] if isinstance(note, Wire)), None)
    parts = get_args(hint) if get_origin(hint) in (Union, UnionType) else ()
    return next((found for part in parts if (found := _wire(part)) is not None), None)
