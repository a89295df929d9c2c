"""Whether data have the shape of a spec; if not, each fault in the author's words.

The types in `primitives` do the looking, strictly and as JSON (so that `"1.0"` is no number
and `yes` no weight). Their own wording never reaches a user: it is translated here.
"""

from __future__ import annotations

import difflib
import json
from collections.abc import Callable, Iterable, Mapping
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from idetic.spec.anatomy import allowed, annotation_at, known_keys
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
        details = error.errors(include_url=False)
        return [_translate(model, detail, base) for detail in details]


def nearest(word: str, known: Iterable[str]) -> str | None:
    """The known word that was probably meant."""
    close = difflib.get_close_matches(word.lower(), list(known), n=1, cutoff=0.6)
    return close[0] if close else None


def unknown_key(steps: Steps, known: Iterable[str]) -> Finding:
    """A key that nothing reads."""
    key, known = str(steps[-1]), tuple(known)
    where = f"`{path_of(steps[:-1])}`" if steps[:-1] else "a spec"
    return Finding(steps, f"`{key[:60]}` is not a key of {where}.", _suggest(key, known))


def _suggest(word: str, known: tuple[str, ...]) -> str:
    listed = ", ".join(known)
    close = nearest(word, known)
    return f"Did you mean `{close}`? Known: {listed}." if close else f"Use one of: {listed}."


def _translate(model: type[BaseModel], detail: ErrorDetails, base: Steps) -> Finding:
    steps: Steps = detail["loc"]
    of_key = bool(steps) and steps[-1] == "[key]"
    if of_key:
        steps = steps[:-1]
    kind, value, context = detail["type"], detail["input"], detail.get("ctx", {})
    if kind == "extra_forbidden" or (of_key and kind == "enum"):
        known = known_keys(annotation_at(model, steps[:-1]))
        found = unknown_key((*base, *steps), known)
    elif kind == "missing" or (kind in _KINDS and value is None):
        found = _missing((*base, *steps))
    elif kind in ("enum", "literal_error"):
        found = _not_allowed((*base, *steps), value, allowed(annotation_at(model, steps)))
    elif kind == "string_pattern_mismatch":
        word = str(steps[-1]) if of_key else str(value)
        found = _bad_name((*base, *steps), word, context["pattern"])
    else:
        say = _SAYERS.get(kind, _unusable)
        found = Finding((*base, *steps), *say(kind, value, context, (*base, *steps)))
    return found


def _missing(steps: Steps) -> Finding:
    written = example(steps)
    question = QUESTIONS.get(str(steps[0])) if len(steps) == 1 else None
    message = f"No answer is given. {question}" if question else "No answer is given."
    if written is None:
        return Finding(steps, message, "Write a value after the colon, or remove the key.")
    return Finding(steps, message, f"Write for example `{written}`.")


def _not_allowed(steps: Steps, value: Any, values: tuple[str, ...]) -> Finding:
    if len(values) == 1:
        remedy = f"Write `{values[0]}`; it is the only value."
    else:
        remedy = _suggest(value if isinstance(value, str) else "", values)
    return Finding(steps, f"{_shown(value)} is not an allowed value.", remedy)


def _bad_name(steps: Steps, word: str, pattern: str) -> Finding:
    if r"\." in pattern:
        remedy = "Write `schema.table` in lower case, for example `worlds.rules`."
        return Finding(steps, f"{_shown(word)} is not a table's full name.", remedy)
    longest = 36 if "{0,35}" in pattern else 63
    remedy = (
        f"Write 1 to {longest} lower-case letters, digits and underscores, beginning with a letter."
    )
    if len(word) > longest:
        return Finding(steps, f"{_shown(word)} is too long: {len(word)} characters.", remedy)
    return Finding(steps, f"{_shown(word)} cannot be a name.", remedy)


_Said = tuple[str, str]


def _wrong_kind(kind: str, value: Any, context: dict[str, Any], steps: Steps) -> _Said:
    wanted, written = _KINDS[kind], example(steps)
    remedy = f"Write {wanted}"
    found = f"The text {_shown(value)}" if isinstance(value, str) else _shown(value)
    return (
        f"{found} stands where {wanted} belongs.",
        f"{remedy}, for example `{written}`." if written else f"{remedy}.",
    )


def _out_of_bounds(kind: str, value: Any, context: dict[str, Any], steps: Steps) -> _Said:
    key, words = _BOUNDS[kind]
    bound = context[key]
    number = int(bound) if float(bound).is_integer() else bound
    return f"{_shown(value)} is out of range.", f"Write a number of {words} {number}."


def _wrong_length(kind: str, value: Any, context: dict[str, Any], steps: Steps) -> _Said:
    unit = "characters" if kind.startswith("string") else "items"
    if "short" in kind:
        least, written = context["min_length"], example(steps)
        aid = f", for example `{written}`" if written else ""
        return f"{_shown(value)} says too little.", f"Write at least {least} {unit}{aid}."
    return f"{_shown(value)} is too long.", f"Write at most {context['max_length']} {unit}."


def _unusable(kind: str, value: Any, context: dict[str, Any], steps: Steps) -> _Said:
    written = example(steps)
    remedy = f"Write for example `{written}`." if written else "See docs/reference/spec.md."
    return f"{_shown(value)} cannot be used here.", remedy


_SAYERS: dict[str, Callable[[str, Any, dict[str, Any], Steps], _Said]] = {
    **dict.fromkeys(_KINDS, _wrong_kind),
    **dict.fromkeys(_BOUNDS, _out_of_bounds),
    **dict.fromkeys(
        ("string_too_short", "string_too_long", "too_short", "too_long"), _wrong_length
    ),
}


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
    text = " ".join(text.split())
    return f"`{text[:47]}…`" if len(text) > 48 else f"`{text}`"
