"""What each tool takes: the schema that a model reads, and the check of what it sends.

Only types are checked here. What a value may be is for the library to say, as for every caller.
"""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from idetic.errors import InputError
from idetic.evidence import ContradictionStatus
from idetic.model import Claim, Origin, Ref, Tier
from idetic.recall.evidence import visible
from idetic.verbs.arguments import check_uuid

Model = TypeVar("Model", bound="Inputs")

_SHOWN = 3
_LONGEST = 60


class Inputs(BaseModel):
    """The arguments of a tool: these and no others."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True)


class ClaimInput(Inputs):
    """What a note asserts, in a form that can be compared."""

    subject: str
    attribute: str
    value: str

    def noun(self) -> Claim:
        """As the library takes it."""
        return Claim(self.subject, self.attribute, self.value)


class RefInput(Inputs):
    """A canonical row that a note refers to instead of copying it."""

    noun: Annotated[str, Field(description="Its noun in the spec, such as rule.")]
    id: Annotated[str, Field(description="Its UUID.")]
    version: Annotated[int | None, Field(description="Left out: the current one.")] = None

    def ref(self) -> Ref:
        """As the library takes it."""
        return Ref(self.noun, check_uuid(self.id, "refs.id"), self.version)


Cursor = Annotated[
    str | None, Field(description="Where to go on: the cursor that the last answer named.")
]
Envelope = Annotated[
    dict[str, Any] | None,
    Field(description="What it is about: the envelope keys that the spec declares."),
]
SessionId = Annotated[
    str | None,
    Field(description="A session's UUID. Left out: the session of this connection."),
]
Key = Annotated[
    str | None,
    Field(description="Any text of your own: a repeat with the same one is written once."),
]


class Observe(Inputs):
    """The arguments of `observe`."""

    text: Annotated[str, Field(description="What happened, in your own words.")]
    claim: ClaimInput | None = None
    envelope: Envelope = None
    refs: list[RefInput] = []
    provenance: dict[str, str] | None = None
    valid_at: Annotated[
        str | None, Field(description="Since when it holds; ISO 8601 with a time zone.")
    ] = None
    heard_from: Annotated[
        Origin | None,
        Field(strict=False, description="If you relay it: a weaker origin than your own."),
    ] = None
    session_id: SessionId = None
    idempotency_key: Key = None


class Prefer(Inputs):
    """The arguments of `prefer`."""

    text: Annotated[str, Field(description="How things are to be done.")]
    claim: ClaimInput | None = None
    envelope: Envelope = None
    refs: list[RefInput] = []
    idempotency_key: Key = None


class RecallInput(Inputs):
    """The arguments of `recall`."""

    query: Annotated[str, Field(description="The question, as you would ask a person.")]
    limit: Annotated[int, Field(description="How many entries at most, up to 200.")] = 10
    envelope: Envelope = None
    tiers: Annotated[list[Annotated[Tier, Field(strict=False)]] | None, Field(min_length=1)] = None
    min_trust: Annotated[int, Field(description="From 0 to 100.")] = 0
    as_of: Annotated[
        str | None, Field(description="What held then; ISO 8601 with a time zone.")
    ] = None
    cursor: Cursor = None


class Ask(Inputs):
    """The arguments of `ask`."""

    question: Annotated[str, Field(description="The question, as you would ask a person.")]


class BuildContext(Inputs):
    """The arguments of `build_context`."""

    query: Annotated[str, Field(description="What the next answer is about.")]
    budget: Annotated[int | None, Field(description="At most so many tokens.")] = None
    envelope: Envelope = None
    session_id: SessionId = None


class Explain(Inputs):
    """The arguments of `explain`."""

    entry_id: Annotated[str | None, Field(description="An entry's UUID.")] = None
    query: Annotated[
        str | None, Field(description="With entry_id: how each signal ranked it for this.")
    ] = None
    action_id: Annotated[
        str | None, Field(description="Instead of entry_id: what this action rested on.")
    ] = None
    cursor: Cursor = None


class ListContradictions(Inputs):
    """The arguments of `list_contradictions`."""

    status: Annotated[
        list[Annotated[ContradictionStatus, Field(strict=False)]] | None,
        Field(min_length=1, description="Left out: those that wait for somebody."),
    ] = None
    cursor: Cursor = None


class CloseSession(Inputs):
    """The arguments of `close_session`."""

    session_id: SessionId = None
    reason: str = "closed"


def read(kind: type[Model], given: Mapping[str, Any] | None) -> Model:
    """The arguments of a tool, or an error that names each wrong one and repeats no value."""
    try:
        return kind.model_validate(dict(given or {}))
    except ValidationError as error:
        wrong = error.errors(include_url=False, include_context=False, include_input=False)
    told = "; ".join(f"{_place(one['loc'])}: {one['msg']}" for one in wrong[:_SHOWN])
    more = f"; and {len(wrong) - _SHOWN} more" if len(wrong) > _SHOWN else ""
    raise InputError(
        f"These arguments do not fit. {told}{more}.",
        remedy=f"The arguments are: {', '.join(kind.model_fields)}. Whose memory this is comes "
        "with the connection. Nothing was written.",
    )


def moment(text: str | None, what: str) -> datetime | None:
    """A moment as sent; whether it has a time zone is for the library to say."""
    try:
        return None if text is None else datetime.fromisoformat(text)
    except ValueError:
        raise InputError(f"{what} is not a moment.", remedy="As in 2026-01-31T12:00:00Z.") from None


def _place(parts: tuple[int | str, ...]) -> str:
    return visible(".".join(map(str, parts)))[:_LONGEST]
