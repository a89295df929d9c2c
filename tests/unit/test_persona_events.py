"""Kinds, personas and metadata at the door of the log."""

from __future__ import annotations

from typing import Any

import pytest

from idetic.errors import InputError
from idetic.persona.events import (
    RESERVED,
    Event,
    EventKind,
    Persona,
    Visibility,
    checked_metadata,
    imported_kind,
    kind_of,
    persona_of,
    visibility_of,
)
from idetic.persona.persona_errors import EventRefused, KindUnknown, MetadataReserved
from tests.support.persona_nouns import event

DOCUMENT = (
    "user_input actor_output tool_call tool_result subconscious_prompt subconscious_output "
    "system_event error"
).split()


def test_the_kinds_are_the_documents_eight_and_feedback() -> None:
    assert sorted(EventKind) == sorted([*DOCUMENT, "feedback"])


@pytest.mark.parametrize("kind", [*DOCUMENT, "feedback"])
def test_a_known_kind_passes(kind: str) -> None:
    assert kind_of(kind) == kind
    assert imported_kind(kind, {"a": 1}) == (kind, {"a": 1})


@pytest.mark.parametrize("kind", ["thought", "", "USER_INPUT", 3, None, ["user_input"]])
def test_an_unknown_kind_is_a_clear_error(kind: Any) -> None:
    with pytest.raises(KindUnknown, match="no kind of event") as caught:
        kind_of(kind)
    assert "user_input" in caught.value.remedy
    assert isinstance(caught.value, InputError)


def test_an_import_keeps_an_unknown_kind_and_never_calls_it_user_input() -> None:
    kind, metadata = imported_kind("thought", {"mood": "blue"})
    assert kind is EventKind.SYSTEM_EVENT
    assert metadata == {"mood": "blue", "original_kind": "thought"}


@pytest.mark.parametrize("wrong", ["conscious", None, 1])
def test_personas_and_visibilities_are_closed(wrong: Any) -> None:
    with pytest.raises(EventRefused, match="actor, subconscious"):
        persona_of(wrong)
    with pytest.raises(EventRefused, match="external, internal"):
        visibility_of(wrong)
    assert persona_of("actor") is Persona.ACTOR
    assert visibility_of("internal") is Visibility.INTERNAL


def test_the_required_fields_of_an_event_are_reserved() -> None:
    required = "id ts agent_id persona loop_id kind visibility content metadata".split()
    assert set(required) <= RESERVED
    assert set(required) <= set(Event.__dataclass_fields__)


@pytest.mark.parametrize("key", sorted(RESERVED))
def test_a_reserved_key_cannot_be_overwritten(key: str) -> None:
    with pytest.raises(MetadataReserved, match=key):
        checked_metadata({key: "subconscious"})


@pytest.mark.parametrize(
    "wrong",
    [
        {"a": float("nan")},
        {"a": object()},
        {"a": "\x00"},
        {"a": "\ud800"},
        {"a": "x" * 20_000},
        {1: "a"},
        ["a"],
        "a",
    ],
)
def test_metadata_that_the_log_cannot_hold_are_refused(wrong: Any) -> None:
    with pytest.raises(EventRefused):
        checked_metadata(wrong)


def test_metadata_that_nest_without_end_are_refused() -> None:
    deep: dict[str, Any] = {}
    deep["self"] = deep
    with pytest.raises(EventRefused):
        checked_metadata(deep)


def test_metadata_come_back_as_plain_data() -> None:
    assert checked_metadata(None) == {}
    assert checked_metadata({"a": (1, 2), "ü": {"b": None}}) == {"a": [1, 2], "ü": {"b": None}}


def test_an_event_cannot_be_changed_through_its_metadata() -> None:
    made = event("hello", tool="search")
    with pytest.raises(TypeError):
        made.metadata["tool"] = "other"  # type: ignore[index]


def test_a_representation_keeps_the_content_back() -> None:
    assert "my secret plan" not in repr(event("my secret plan", note="my secret plan"))
