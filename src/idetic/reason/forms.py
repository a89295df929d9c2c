"""The form an answer must have: what the model is asked for, and how its words are read.

An answer of another form is `ReasonerMalformed`. The error never quotes the answer, and is raised
outside the handler, so that no traceback carries it along either.
"""

from __future__ import annotations

from typing import Annotated, Literal, Self, TypeVar

from pydantic import AfterValidator, BaseModel, ConfigDict, ValidationError, model_validator
from pydantic_core import ErrorDetails

from idetic.spec.primitives import BODY_TEXT_MAX

from .errors import ReasonerMalformed
from .port import storable

CLAIM_PART_MAX = 200
WHY_MAX = 1000


def _bounded(limit: int) -> AfterValidator:
    # Not `Field(max_length=…)`: that would enter the JSON schema, where strict servers refuse it.
    def check(text: str) -> str:
        text = text.strip()
        if not text:
            raise ValueError("is empty")
        if len(text) > limit:
            raise ValueError(f"has {len(text):,} characters; at most {limit:,} are allowed")
        if not storable(text):
            raise ValueError("holds NUL or a lone surrogate")
        return text

    return AfterValidator(check)


_Text = Annotated[str, _bounded(BODY_TEXT_MAX)]
_Part = Annotated[str, _bounded(CLAIM_PART_MAX)]
_Why = Annotated[str, _bounded(WHY_MAX)]


class Form(BaseModel):
    """An answer as it is asked for: every key required, no other key allowed."""

    model_config = ConfigDict(extra="forbid", strict=True)


class ClaimForm(Form):
    """A claim as it is asked for."""

    subject: _Part
    attribute: _Part
    value: _Part


class MergeForm(Form):
    """The answer to `MergeAsked` as it is asked for."""

    decision: Literal["ADD", "UPDATE", "DELETE", "NOOP"]
    text: _Text | None
    claim: ClaimForm | None
    cites: list[str]
    why: _Why

    @model_validator(mode="after")
    def _text_where_one_is_needed(self) -> Self:
        writes = self.decision in ("ADD", "UPDATE")
        if writes and self.text is None:
            raise ValueError(f"{self.decision} needs a `text`")
        if not writes and (self.text is not None or self.claim is not None):
            raise ValueError(f"{self.decision} has no `text` and no `claim`; both must be null")
        return self


class SummaryForm(Form):
    """The answer to `SummaryAsked` as it is asked for."""

    text: _Text
    cites: list[str]
    why: _Why


class ConflictForm(Form):
    """The answer to `ConflictAsked` as it is asked for."""

    verdict: Literal["conflict", "compatible", "same"]
    why: _Why


_F = TypeVar("_F", bound=Form)


def fitted(form: type[_F], content: str) -> _F:
    """The form that this text fills in, or an error that says what is wrong with it."""
    try:
        return form.model_validate_json(_unfenced(content))
    except ValidationError as error:
        faults = error.errors(include_url=False, include_input=False)
    said = "; ".join(dict.fromkeys(_said(form, fault) for fault in faults[:5]))
    raise ReasonerMalformed(f"The reasoner's answer is malformed: {said}.")


def _unfenced(content: str) -> str:
    # Servers that ignore `response_format` hand over the habit of fencing code with it.
    lines = content.strip().split("\n")
    fenced = len(lines) > 2 and lines[0] in ("```", "```json") and lines[-1] == "```"
    return "\n".join(lines[1:-1]) if fenced else content


def _said(form: type[Form], fault: ErrorDetails) -> str:
    where, kind = fault["loc"], fault["type"]
    if kind == "json_invalid":
        return "it is not one JSON object"
    if kind == "extra_forbidden":
        return "it has a key that was not asked for"  # named by the model, so not repeated
    message = fault["msg"].removeprefix("Value error, ")
    named = where and where[0] in form.model_fields
    return f"`{where[0]}`: {message}" if named else message
