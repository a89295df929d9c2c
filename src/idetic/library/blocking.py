"""Methods and attributes of an async handle, as a sync handle has them: typed, light to load."""

from __future__ import annotations

import functools
from collections.abc import Callable, Coroutine
from typing import Any, Concatenate, Generic, ParamSpec, Self, TypeVar, overload

from idetic.verbs.handle import SyncHandle

P = ParamSpec("P")
R = TypeVar("R")
H = TypeVar("H", bound=SyncHandle)


class Blocking(Generic[P, R]):
    """A method of an async handle as a sync handle has it; a handle it gives is wrapped."""

    def __init__(self, name: str, kind: type[SyncHandle] | None, *, coroutine: bool):
        self._name = name
        self._kind = kind
        self._coroutine = coroutine

    @overload
    def __get__(self, handle: None, owner: type) -> Self: ...
    @overload
    def __get__(self, handle: SyncHandle, owner: type) -> Callable[P, R]: ...
    def __get__(self, handle: SyncHandle | None, owner: type) -> Any:
        if handle is None:
            return self
        method = getattr(handle.target, self._name)

        @functools.wraps(method)
        def call(*args: Any, **kwargs: Any) -> Any:
            """Run the async method on the portal, and wrap a handle that it gives."""
            waiting = functools.partial(handle.run, method) if self._coroutine else method
            made = waiting(*args, **kwargs)
            return made if self._kind is None else handle.beside(self._kind, made)

        return call


def blocking(
    method: Callable[Concatenate[Any, P], Coroutine[Any, Any, R]],
) -> Blocking[P, R]:
    """An async method as a plain call."""
    return Blocking(method.__name__, None, coroutine=True)


def blocking_as(
    kind: type[H], method: Callable[Concatenate[Any, P], Coroutine[Any, Any, Any]]
) -> Blocking[P, H]:
    """An async method that gives a handle, as a plain call that gives the sync one."""
    return Blocking(method.__name__, kind, coroutine=True)


def passed_as(kind: type[H], method: Callable[Concatenate[Any, P], Any]) -> Blocking[P, H]:
    """A method that gives a handle without waiting, as one that gives the sync one."""
    return Blocking(method.__name__, kind, coroutine=False)


class Attribute(Generic[R]):
    """An attribute of the async handle, as it is."""

    def __set_name__(self, owner: type, name: str) -> None:
        self._name = name

    def __get__(self, handle: SyncHandle, owner: type) -> R:
        value: R = getattr(handle.target, self._name)
        return value
