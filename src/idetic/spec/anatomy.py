"""What the types say may stand at a path: its keys, its allowed values.

Read from the models themselves, so that a remedy can never name a key that does not exist.
"""

from __future__ import annotations

import types
from collections.abc import Iterator
from enum import Enum
from typing import Annotated, Any, Literal, Union, get_args, get_origin

from pydantic import BaseModel

from idetic.spec.problems import Steps


def keys_of(model: type[BaseModel]) -> dict[str, Any]:
    """The keys a model takes, as an author writes them, with their annotations."""
    return {
        info.alias or name: _with_metadata(info.annotation, info.metadata)
        for name, info in model.model_fields.items()
    }


def annotation_at(model: type[BaseModel], steps: Steps) -> Any:
    """The annotation of what stands at a path below a model, or None where nothing may."""
    here: Any = model
    for step in steps:
        here = _inside(bare(here), step)
        if here is None:
            return None
    return here


def bare(annotation: Any) -> Any:
    """An annotation without its constraints and without `| None`."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return bare(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        return bare(next(a for a in get_args(annotation) if a is not type(None)))
    return annotation


def allowed(annotation: Any) -> tuple[str, ...]:
    """The values a choice allows, in order; empty for what is not a choice."""
    annotation = bare(annotation)
    if get_origin(annotation) is Literal:
        return tuple(str(value) for value in get_args(annotation))
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return tuple(str(member.value) for member in annotation)
    return ()


def known_keys(annotation: Any) -> tuple[str, ...]:
    """The keys a mapping may have: a model's fields, or the choices that key a dict."""
    annotation = bare(annotation)
    if get_origin(annotation) is dict:
        return allowed(get_args(annotation)[0])
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return tuple(keys_of(annotation))
    return ()


def every_path(model: type[BaseModel], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every path of keys below a model, list positions and free dict keys left out."""
    for key, annotation in keys_of(model).items():
        path = (*above, key)
        yield path
        inner = _element(bare(annotation))
        if isinstance(inner, type) and issubclass(inner, BaseModel):
            yield from every_path(inner, path)


def _with_metadata(annotation: Any, metadata: list[Any]) -> Any:
    return Annotated[annotation, *metadata] if metadata else annotation


def _inside(annotation: Any, step: str | int) -> Any:
    if get_origin(annotation) in (tuple, dict):
        return _element(annotation)
    if isinstance(annotation, type) and issubclass(annotation, BaseModel):
        return keys_of(annotation).get(str(step))
    return None


def _element(annotation: Any) -> Any:
    if get_origin(annotation) is tuple:
        return bare(get_args(annotation)[0])
    if get_origin(annotation) is dict:
        return bare(get_args(annotation)[1])
    return annotation
