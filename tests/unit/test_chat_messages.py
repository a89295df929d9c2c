"""The forms in which applications have messages, and what becomes of each."""

from __future__ import annotations

from typing import Any

import pytest

from idetic.assistant.messages import read_messages
from idetic.errors import InputError


def read(given: Any) -> list[list[tuple[str, str]]]:
    """The parts of each message that is kept."""
    return [[(one.kind.value, one.text) for one in each.parts] for each in read_messages(given)]


def exported(*said: dict[str, Any]) -> list[dict[str, Any]]:
    """A conversation as ChatGPT exports it: an empty root, and a system message without words."""
    root = {"author": {"role": "system"}, "content": {"content_type": "text", "parts": [""]}}
    nodes = {str(n): {"message": one} for n, one in enumerate((root, *said))}
    return [{"title": "Trip", "mapping": {"root": {"message": None}, **nodes}}]


FORMS: dict[str, tuple[Any, list[list[tuple[str, str]]]]] = {
    "a tool that printed nothing": (
        [{"role": "tool", "content": ""}, {"role": "user", "content": "Hi."}],
        [[("user_input", "Hi.")]],
    ),
    "text before and after a call, in their order": (
        {
            "role": "assistant",
            "content": [
                {"type": "thinking", "thinking": "What is asked?"},
                {"type": "text", "text": "I look."},
                {"type": "tool_use", "name": "search", "input": {"q": "Porto"}},
                {"type": "text", "text": "Found."},
            ],
        },
        [
            [
                ("actor_output", "I look."),
                ("tool_call", 'search({"q": "Porto"})'),
                ("actor_output", "Found."),
            ]
        ],
    ),
    "items of the Responses API": (
        [
            {"type": "reasoning", "summary": []},
            {"type": "function_call", "name": "now", "arguments": "{}"},
            {"type": "function_call_output", "output": "noon"},
            {"type": "message", "role": "user", "content": [{"type": "input_image"}]},
        ],
        [[("tool_call", "now({})")], [("tool_result", "noon")], [("user_input", "[image]")]],
    ),
    "a refusal": (
        {"role": "assistant", "content": [{"type": "refusal", "refusal": "I can't."}]},
        [[("actor_output", "I can't.")]],
    ),
    "parts without content": (
        {"role": "model", "parts": [{"text": "Hello."}]},
        [[("actor_output", "Hello.")]],
    ),
    "a chat's export": (
        exported(
            {
                "author": {"role": "user"},
                "content": {"content_type": "user_editable_context", "user_profile": "…"},
            },
            {
                "author": {"role": "user"},
                "content": {
                    "content_type": "multimodal_text",
                    "parts": [{"content_type": "image_asset_pointer"}, "What is this?"],
                },
            },
        ),
        [[("user_input", "[image]\nWhat is this?")]],
    ),
}


@pytest.mark.parametrize("form", FORMS)
def test_a_form_is_read(form: str) -> None:
    given, wanted = FORMS[form]
    assert read(given) == wanted


def test_ids_and_times_are_kept_whole() -> None:
    long = "x" * 500
    said = {"role": "user", "content": "Hi.", "ts": "1700000000.5"}
    ids = [one.id for one in read_messages([{**said, "id": 0}, {**said, "id": long + "1"}])]
    assert ids == ["0", long + "1"], "two long ids with one beginning are two"
    (one,) = read_messages(said)
    assert one.at is not None
    assert one.at.isoformat() == "2023-11-14T22:13:20.500000+00:00"


@pytest.mark.parametrize(
    ("given", "told"),
    [
        (None, "NoneType"),
        ([], "has no message"),
        ([{"role": "user", "content": None}], "No message says anything"),
        ([{"role": "user", "content": "Hi."}, None], "NoneType"),
        ([{"role": "assistant", "tool_calls": ["search"]}], "tool call of message 1"),
        ([{"role": "narrator", "content": "Hi."}], "Message 1 has no role"),
        ({"mapping": {"a": {"message": {"author": "user"}}}}, "has no message"),
    ],
)
def test_what_is_no_message_is_told(given: Any, told: str) -> None:
    with pytest.raises(InputError, match=told):
        read_messages(given)
