"""Identities: read, checked with clear problems, and tunable in their instructions alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from idetic.errors import SpecError
from idetic.persona.events import EventKind, Persona, Visibility
from idetic.persona.identity import Identity, default_heuristics, refuse_untunable
from idetic.persona.persona_errors import IdentityError, IdentityInvalid, NotTunable

WHOLE = """\
agent_id: help-desk
name: Help Desk
instructions: |
  Answer in one sentence.
actor:
  window: 10
  threshold: 50
  top_k: 3
  recency_half_life_seconds: 3600
  weights: {similarity: 2.0, recency: 0.5}
  kind_boosts: {error: 2.0}
  visibility_boosts: {internal: 0.1}
subconscious: {top_k: 20}
model: some-model
prompt_tokens: 2000
version: 7
"""


def problems(text: str) -> dict[str, str]:
    with pytest.raises(IdentityInvalid) as caught:
        Identity.parse(text)
    for problem in caught.value.problems:
        assert problem.primitive == "Identity"
        assert problem.remedy
    return {problem.path: problem.message for problem in caught.value.problems}


def test_defaults_are_those_of_the_design() -> None:
    actor, subconscious = map(default_heuristics, (Persona.ACTOR, Persona.SUBCONSCIOUS))
    assert (actor.window, subconscious.window) == (20, 50)
    assert (actor.threshold, subconscious.threshold) == (60, 55)
    assert (actor.top_k, subconscious.top_k) == (8, 12)
    assert (actor.recency_half_life_seconds, subconscious.recency_half_life_seconds) == (
        86_400,
        604_800,
    )
    for heuristics in (actor, subconscious):
        assert (heuristics.weights.similarity, heuristics.weights.recency) == (1.0, 1.0)
    assert actor.kind_boosts == {
        EventKind.USER_INPUT: 1.0,
        EventKind.ACTOR_OUTPUT: 0.9,
        EventKind.TOOL_CALL: 0.6,
        EventKind.TOOL_RESULT: 0.7,
        EventKind.SYSTEM_EVENT: 0.3,
        EventKind.ERROR: 1.2,
    }
    assert actor.visibility_boosts == {Visibility.EXTERNAL: 1.0, Visibility.INTERNAL: 0.4}
    assert subconscious.visibility_boosts == {Visibility.EXTERNAL: 1.0, Visibility.INTERNAL: 1.0}


def test_the_least_identity_is_an_agent_id() -> None:
    identity = Identity.parse("agent_id: a\n")
    assert identity == Identity("a") == Identity.of({"agent_id": "a"})
    assert identity.heuristics(Persona.ACTOR) == default_heuristics(Persona.ACTOR)
    assert identity.heuristics(Persona.SUBCONSCIOUS) == default_heuristics(Persona.SUBCONSCIOUS)


def test_what_is_said_stands_on_top_of_what_is_shipped() -> None:
    identity = Identity.parse(WHOLE)
    assert identity.instructions == "Answer in one sentence.\n"
    assert (identity.model, identity.prompt_tokens, identity.version) == ("some-model", 2000, 7)
    actor = identity.actor
    assert (actor.window, actor.threshold, actor.top_k) == (10, 50, 3)
    assert (actor.weights.similarity, actor.weights.recency) == (2.0, 0.5)
    assert actor.kind_boosts[EventKind.ERROR] == 2.0
    assert actor.kind_boosts[EventKind.TOOL_CALL] == 0.6, "the others are as shipped"
    assert identity.subconscious.top_k == 20
    assert identity.subconscious.recency_half_life_seconds == 604_800


@pytest.mark.parametrize("half_life", ["0", "-1", ".nan", ".inf"])
def test_a_half_life_that_is_not_above_zero_is_refused(half_life: str) -> None:
    found = problems(f"agent_id: a\nactor: {{recency_half_life_seconds: {half_life}}}\n")
    assert list(found) == ["actor.recency_half_life_seconds"]


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("agent_id: a\nmood: blue\n", "mood"),
        ("agent_id: a\nactor: {treshold: 3}\n", "actor.treshold"),
        ("agent_id: a\nactor: {weights: {simil: 3}}\n", "actor.weights.simil"),
        ("agent_id: a\nactor: {kind_boosts: {thought: 3}}\n", "actor.kind_boosts.thought"),
        ("agent_id: a\nsubconscious: {visibility_boosts: {x: 3}}\n",
         "subconscious.visibility_boosts.x"),
        ("name: a\n", "agent_id"),
        ("agent_id: a__b\n", "agent_id"),
        ("agent_id: a b\n", "agent_id"),
        ("agent_id: 7\n", "agent_id"),
        (f"agent_id: {'a' * 65}\n", "agent_id"),
        ("agent_id: a\nname: [x]\n", "name"),
        ("agent_id: a\nname: null\n", "name"),
        (f"agent_id: a\ninstructions: {'a' * 8001}\n", "instructions"),
        ("agent_id: a\nmodel: ''\n", "model"),
        ("agent_id: a\nprompt_tokens: 10\n", "prompt_tokens"),
        ("agent_id: a\nprompt_tokens: yes\n", "prompt_tokens"),
        ("agent_id: a\nversion: 0\n", "version"),
        ("agent_id: a\nactor: 3\n", "actor"),
        ("agent_id: a\nactor: {top_k: 0}\n", "actor.top_k"),
        ("agent_id: a\nactor: {window: 2.5}\n", "actor.window"),
        ("agent_id: a\nactor: {threshold: 101}\n", "actor.threshold"),
        ("agent_id: a\nactor: {weights: {similarity: 0, recency: 0}}\n", "actor.weights"),
        ("agent_id: a\nagent_id: b\n", "agent_id"),
        ("", ""),
        ("- a\n", ""),
        ("agent_id: [\n", ""),
        ("agent_id: &x a\nname: *x\n", ""),
    ],
)  # fmt: skip
def test_what_is_wrong_is_said_where_it_is(text: str, path: str) -> None:
    assert path in problems(text)


def test_every_problem_is_said_at_once_with_its_line() -> None:
    with pytest.raises(IdentityInvalid) as caught:
        Identity.parse("agent_id: a b\nmood: blue\nactor: {top_k: 0}\n", "my.yaml")
    assert [problem.line for problem in caught.value.problems] == [1, 2, 3]
    assert caught.value.message.startswith("my.yaml has 3 problems:")
    assert isinstance(caught.value, SpecError)


def test_an_identity_made_in_python_is_checked_too() -> None:
    wrongs: list[dict[str, Any]] = [{"agent_id": ""}, {"agent_id": "a", "prompt_tokens": 1}]
    for wrong in wrongs:
        with pytest.raises(IdentityInvalid):
            Identity(**wrong)
    with pytest.raises(IdentityInvalid, match="NUL"):
        Identity("a", instructions="\x00")


def test_a_file_that_cannot_be_read_is_a_clear_error(tmp_path: Path) -> None:
    with pytest.raises(IdentityError, match="There is no file"):
        Identity.load(tmp_path / "none.yaml")
    with pytest.raises(IdentityError, match="cannot be read"):
        Identity.load(tmp_path)
    odd = tmp_path / "odd.yaml"
    odd.write_bytes(b"agent_id: \xff\n")
    with pytest.raises(IdentityInvalid, match="UTF-8"):
        Identity.load(odd)
    odd.write_bytes(b"agent_id: a\n#" + b"x" * 300_000)
    with pytest.raises(IdentityInvalid, match="larger than"):
        Identity.load(odd)


def test_only_instructions_are_tunable() -> None:
    old = Identity.parse(WHOLE)
    refuse_untunable(old, old.tuned("Answer in two sentences.\n"))
    changes: list[dict[str, Any]] = [
        {"actor": old.subconscious},
        {"subconscious": old.actor},
        {"actor": old.actor.model_copy(update={"threshold": 0.0})},
        {"agent_id": "other"},
        {"name": "Other"},
        {"model": "other"},
        {"prompt_tokens": 9_000},
    ]
    for change in changes:
        with pytest.raises(NotTunable, match=next(iter(change))):
            refuse_untunable(old, replace(old, instructions="x", **change))


def test_tuning_counts_the_versions() -> None:
    tuned = Identity("a", instructions="x").tuned("y")
    assert (tuned.instructions, tuned.version) == ("y", 2)
