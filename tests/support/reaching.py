"""What can be reached from an object: what it holds, and what that holds, however it is held."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import sys
import types
import weakref
from collections.abc import Iterator

# The program and its loop are everybody's: classes, modules, code, whatever waits or runs.
_EVERYBODYS = (
    *(type, types.ModuleType, types.CodeType, types.BuiltinFunctionType),
    *(asyncio.AbstractEventLoop, asyncio.Future, contextvars.Context, types.FrameType),
)


def reached(root: object) -> Iterator[tuple[str, object]]:
    """Every object that can be reached, with the kinds of object on the way.

    As the collector of garbage sees it: in attributes, slots, items, closures, bound methods.
    """
    common = {id(vars(module)) for module in list(sys.modules.values())}
    seen: dict[int, object] = {}
    waiting: list[tuple[str, object]] = [(type(root).__name__, root)]
    while waiting:
        way, one = waiting.pop()
        if id(one) in seen or id(one) in common or isinstance(one, _EVERYBODYS):
            continue
        # Kept, so that no later object has the same id.
        seen[id(one)] = one
        yield way, one
        held = [*gc.get_referents(one), *([one()] if isinstance(one, weakref.ref) else [])]
        waiting += [(f"{way} > {type(each).__name__}", each) for each in held]
