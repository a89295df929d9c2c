"""Whether data have the shape of a spec; if not, each fault in the author's words.

The types in `primitives` do the looking, strictly and as JSON (so that `"1.0"` is no number
and `yes` no weight). Their own wording never reaches a user: it is translated here. Which keys and
values may stand at a path is read from the models themselves, so that a remedy can never name a
key that does not exist.
"""

from __future__ import annotations

import difflib
import json
import types
from collections.abc import Iterable, Iterator, Mapping
from enum import Enum
from typing import Annotated, Any, Literal, TypeVar, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from idetic.spec.examples import QUESTIONS, example
from idetic.spec.problems import Finding, Steps, path_of

M = TypeVar("M", bound=BaseModel)

_KINDS = {
    "string_type": "text",
    "int_type": "a whole number",
    "int_from_float": "a whole number",
    "float_type": "a number",
    "bool_type": "true or false",
    "tuple_type": "a list",
    "dict_type": "a mapping",
    "model_type": "a mapping",
}
_BOUNDS = {
    "greater_than_equal": ("ge", "at least"),
    "greater_than": ("gt", "more than"),
    "less_than_equal": ("le", "at most"),
    "less_than": ("lt", "less than"),
}


def fit(model: type[M], data: Mapping[str, Any], base: Steps = ()) -> M | list[Finding]:
    """The model the data make, or everything that keeps them from making it."""
    try:
        return model.model_validate_json(json.dumps(data), strict=True)
    except ValidationError as error:
        return [_finding(model, detail, base) for detail in error.errors(include_url=False)]


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant."""
    close = difflib.get_close_matches(word.lower(), list(known), n=1, cutoff=0.6)
    return close[0] if close else None


def meant(word: str, known: Iterable[str]) -> str:
    """The beginning of a remedy that names the known word nearest to one; empty if none is near."""
    close = nearest(word, known)
    return f"Did you mean `{close}`? " if close else ""


def unknown_key(steps: Steps, known: Iterable[str]) -> Finding:
    """A key that nothing reads."""
    key = str(steps[-1])
    where = f"`{path_of(steps[:-1])}`" if steps[:-1] else "a spec"
    return Finding(steps, f"`{key[:60]}` is not a key of {where}.", _one_of(key, tuple(known)))


def _one_of(word: str, known: tuple[str, ...]) -> str:
    """A remedy that lists the known words, after the nearest one if any is near."""
    close, listed = meant(word, known), ", ".join(known)
    return f"{close}Known: {listed}." if close else f"Use one of: {listed}."


def _finding(model: type[BaseModel], detail: ErrorDetails, base: Steps) -> Finding:
    """One of pydantic's errors as a finding: its path, and the author's words for it."""
    inside, kind, value = detail["loc"], detail["type"], detail["input"]
    # So pydantic marks that a mapping's key is wrong, and not its value.
    of_key = inside[-1:] == ("[key]",)
    inside = inside[:-1] if of_key else inside
    steps = (*base, *inside)
    if kind == "extra_forbidden" or (of_key and kind == "enum"):
        return unknown_key(steps, known_keys(annotation_at(model, inside[:-1])))
    if kind in ("enum", "literal_error"):
        values = allowed(annotation_at(model, inside))
        remedy = f"Write `{values[0]}`; it is the only value."
        if len(values) != 1:
            remedy = _one_of(value if isinstance(value, str) else "", values)
        return Finding(steps, f"{_shown(value)} is not an allowed value.", remedy)
    if kind == "string_pattern_mismatch":
        word = str(inside[-1]) if of_key else str(value)
        return Finding(steps, *_bad_name(word, detail["ctx"]["pattern"]))
    if kind == "missing" or (kind in _KINDS and value is None):
        return Finding(steps, *_missing(steps))
    return Finding(steps, *_unfit(kind, value, detail.get("ctx", {}), example(steps)))


def _missing(steps: Steps) -> tuple[str, str]:
    """Message and remedy for an answer that is not given, with an example if there is one."""
    question = QUESTIONS.get(str(steps[0])) if len(steps) == 1 else None
    written = example(steps)
    return (
        f"No answer is given. {question}" if question else "No answer is given.",
        f"Write for example `{written}`."
        if written
        else "Write a value after the colon, or remove the key.",
    )


def _bad_name(word: str, pattern: str) -> tuple[str, str]:
    """Message and remedy for a name that its pattern refuses."""
    shown = _shown(word)
    if r"\." in pattern:
        remedy = "Write `schema.table` in lower case, for example `worlds.rules`."
        return f"{shown} is not a table's full name.", remedy
    # The error has the pattern alone, so the bound is read off it.
    longest = 36 if "{0,35}" in pattern else 63
    wrong = "cannot be a name" if len(word) <= longest else f"is too long: {len(word)} characters"
    letters = "lower-case letters, digits and underscores, beginning with a letter"
    return f"{shown} {wrong}.", f"Write 1 to {longest} {letters}."


def _unfit(kind: str, value: Any, bounds: dict[str, Any], written: str | None) -> tuple[str, str]:
    """What is wrong with a value of the wrong kind, out of bounds or of the wrong length."""
    shown, aid = _shown(value), f", for example `{written}`" if written else ""
    if kind in _KINDS:
        found = f"The text {shown}" if isinstance(value, str) else shown
        return f"{found} stands where {_KINDS[kind]} belongs.", f"Write {_KINDS[kind]}{aid}."
    if kind in _BOUNDS:
        key, words = _BOUNDS[kind]
        number = int(bounds[key]) if float(bounds[key]).is_integer() else bounds[key]
        return f"{shown} is out of range.", f"Write a number of {words} {number}."
    unit = "characters" if kind.startswith("string") else "items"
    if kind.endswith("too_short"):
        return f"{shown} says too little.", f"Write at least {bounds['min_length']} {unit}{aid}."
    if kind.endswith("too_long"):
        return f"{shown} is too long.", f"Write at most {bounds['max_length']} {unit}."
    remedy = f"Write for example `{written}`." if written else "See docs/reference/spec.md."
    return f"{shown} cannot be used here.", remedy


def _shown(value: Any) -> str:
    """A value as a message quotes it: on one line, and not too long."""
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = " ".join(text.split())
    return f"`{text[:47]}…`" if len(text) > 48 else f"`{text}`"


# --- what may stand at a path -------------------------------------------------------------


def annotation_at(model: type[BaseModel], steps: Steps) -> Any:
    """The annotation of what stands at a path below a model, or None where nothing may."""
    here: Any = model
    for step in steps:
        here = _bare(here)
        if get_origin(here) in (tuple, dict):
            here = _element(here)
        else:
            here = _keys_of(here).get(str(step)) if _is_model(here) else None
    return here


def allowed(annotation: Any) -> tuple[str, ...]:
    """The values a choice allows, in order; empty for what is not a choice."""
    annotation = _bare(annotation)
    if get_origin(annotation) is Literal:
        return tuple(str(value) for value in get_args(annotation))
    if isinstance(annotation, type) and issubclass(annotation, Enum):
        return tuple(str(member.value) for member in annotation)
    return ()


def known_keys(annotation: Any) -> tuple[str, ...]:
    """The keys a mapping may have: a model's fields, or the choices that key a dict."""
    annotation = _bare(annotation)
    if get_origin(annotation) is dict:
        return allowed(get_args(annotation)[0])
    return tuple(_keys_of(annotation)) if _is_model(annotation) else ()


def every_path(model: type[BaseModel], above: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every path of keys below a model, list positions and free dict keys left out."""
    for key, annotation in _keys_of(model).items():
        yield (*above, key)
        inner = _element(_bare(annotation))
        if _is_model(inner):
            yield from every_path(inner, (*above, key))


def _keys_of(model: type[BaseModel]) -> dict[str, Any]:
    """The keys a model takes, as an author writes them, with their annotations."""
    return {info.alias or name: info.annotation for name, info in model.model_fields.items()}


def _is_model(annotation: Any) -> bool:
    """Whether an annotation is a part of the spec with keys of its own."""
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)


def _bare(annotation: Any) -> Any:
    """An annotation without its constraints and without `| None`."""
    origin = get_origin(annotation)
    if origin is Annotated:
        return _bare(get_args(annotation)[0])
    if origin in (Union, types.UnionType):
        return _bare(next(a for a in get_args(annotation) if a is not type(None)))
    return annotation


def _element(annotation: Any) -> Any:
    """What a list or the values of a mapping hold; anything else is its own element."""
    position = {tuple: 0, dict: 1}.get(get_origin(annotation))
    return annotation if position is None else _bare(get_args(annotation)[position])
