"""A spec comes from a shipped name, a file, a mapping or Python; anything else says what to do."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from idetic.errors import SpecError, SpecNotFound
from idetic.model import Capability, PrincipalKind, Tier, Typology
from idetic.spec.loader import load, parse, shipped, shipped_text
from idetic.spec.memory_spec import GuardRole, Reasons
from idetic.spec.primitives import KeyType, Persona, Signal
from idetic.spec.problems import SpecInvalid
from idetic.spec.typology import ConsolidationMethod, DecayModel, WriteMode


def test_five_specs_are_shipped() -> None:
    conversing = ("assistant_agent", "framework_agent")
    assert shipped() == (*conversing, "operator_agent", "persona_agent", "world_agent")


@pytest.mark.parametrize("name", shipped())
def test_a_shipped_spec_is_valid_commented_and_survives_its_own_data(name: str) -> None:
    spec = load(name)
    assert spec.agent == name
    assert load(spec) is spec
    assert load(spec.as_data()) == spec
    assert load(spec.as_data()).digest == spec.digest
    assert "#" in shipped_text(name)


def test_a_digest_is_computed_once_and_a_changed_copy_has_its_own() -> None:
    spec = load("world_agent")
    assert spec.digest is spec.digest
    changed = spec.model_copy(update={"title": "Payments Agent"})
    assert changed.digest == load(changed.as_data()).digest != spec.digest


def test_the_operator_agent_is_what_adr_058_promises() -> None:
    spec = load("operator_agent")
    assert [key.name for key in spec.anchor.keys] == ["operator_id"]
    assert spec.anchor.root is None
    assert spec.typology.persistent == (Typology.PROCEDURAL,)
    assert spec.typology.session == spec.typology.interaction == (Typology.EPISODIC,)
    assert not spec.references.corroborations
    assert not any(canonical.contradictions for canonical in spec.references.canonical)
    assert (spec.leak_defence.reasons, spec.leak_defence.guard) == (
        Reasons.WITH,
        GuardRole.BACKSTOP,
    )
    assert spec.retrieval.signals[Signal.DECAY] > spec.retrieval.signals[Signal.SEMANTIC]
    (runbook,) = spec.references.canonical
    assert (runbook.noun, runbook.table, runbook.body) == (
        "runbook",
        "operations.runbooks",
        "body_text",
    )


def test_the_persona_agent_mirrors_events_one_to_one() -> None:
    spec = load("persona_agent")
    assert [(key.name, key.type) for key in spec.anchor.keys] == [
        ("tenant_id", KeyType.TEXT),
        ("agent_id", KeyType.TEXT),
    ]
    assert spec.backend.personas == tuple(Persona), "each in a family of its own"
    mirror = (Tier.PERSISTENT, Typology.EPISODIC)
    assert spec.decay_of(*mirror).model is DecayModel.EXEMPT
    assert spec.writes_of(*mirror).mode is WriteMode.AUTOMATIC
    assert spec.consolidation_of(*mirror).method is ConsolidationMethod.NONE


def test_only_the_subconscious_reads_both_personas() -> None:
    spec = load("persona_agent")
    assert not spec.may(PrincipalKind.AGENT, Capability.READ_ACROSS)
    assert spec.may(PrincipalKind.MAINTENANCE, Capability.READ_ACROSS)
    short_term = spec.retrieval.short_term
    assert short_term is not None
    assert short_term.subconscious is not None
    assert (short_term.actor.window, short_term.subconscious.window) == (20, 50)
    assert (short_term.actor.threshold, short_term.subconscious.threshold) == (60, 55)


@pytest.mark.parametrize("half_life", [0, -1])
def test_a_short_term_half_life_is_above_zero(half_life: float) -> None:
    data = load("persona_agent").as_data()
    data["retrieval"]["short_term"]["actor"]["recency_half_life_seconds"] = half_life
    with pytest.raises(SpecInvalid) as raised:
        load(data)
    (problem,) = raised.value.problems
    assert problem.path == "retrieval.short_term.actor.recency_half_life_seconds"
    assert "more than 0" in problem.remedy


def _without_log(data: dict[str, Any]) -> None:
    del data["backend"]["log"]


def _without_short_term(data: dict[str, Any]) -> None:
    del data["retrieval"]["short_term"]


def _without_the_actor(data: dict[str, Any]) -> None:
    data["backend"]["log"]["personas"] = ["subconscious"]


def _with_one_persona(data: dict[str, Any]) -> None:
    data["backend"]["log"]["personas"] = ["actor"]


def _without_heuristics(data: dict[str, Any]) -> None:
    del data["retrieval"]["short_term"]["subconscious"]


def _without_kind(data: dict[str, Any]) -> None:
    del data["retrieval"]["envelope"]["kind"]


def _without_derivation(data: dict[str, Any]) -> None:
    data["anchor"]["provenance"] = []


def _without_episodic(data: dict[str, Any]) -> None:
    data["typology"]["session"] = []


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (_without_log, "there is no log"),
        (_without_short_term, "nothing says how it is searched"),
        (_without_the_actor, "The first persona of a log is the Actor"),
        (_with_one_persona, "The log has no persona `subconscious`"),
        (_without_heuristics, "whose short-term memory is not declared"),
        (_without_kind, "Every event has a `kind`"),
        (_without_derivation, "what compacted them"),
        (_without_episodic, "A log derives one entry per loop"),
    ],
)
def test_what_a_log_needs_is_asked_for(change: Callable[[dict[str, Any]], None], said: str) -> None:
    data = load("persona_agent").as_data()
    change(data)
    with pytest.raises(SpecInvalid, match=said):
        load(data)


def test_a_log_may_have_one_persona() -> None:
    data = load("persona_agent").as_data()
    _with_one_persona(data)
    _without_heuristics(data)
    assert load(data).backend.personas == (None,), "one family, in the schema that is declared"


@pytest.mark.parametrize("as_path", [True, False])
@pytest.mark.parametrize("suffix", [".yaml", ".yml"])
def test_a_file_is_loaded(tmp_path: Path, suffix: str, as_path: bool) -> None:
    file = tmp_path / f"mine{suffix}"
    file.write_text(shipped_text("world_agent"), "utf-8")
    assert load(file if as_path else str(file)) == load("world_agent")


def test_an_unknown_name_lists_what_there_is() -> None:
    with pytest.raises(SpecNotFound) as raised:
        load("word_agent")
    assert "Did you mean `world_agent`?" in raised.value.remedy
    assert all(name in raised.value.remedy for name in shipped())
    assert raised.value.http_status == 404


@pytest.mark.parametrize("name", ["", "   ", "nothing_like_it", "agent: x\ntitle: y\n"])
def test_what_is_neither_name_nor_path_is_not_found(name: str) -> None:
    with pytest.raises(SpecNotFound):
        load(name)


def test_yaml_text_is_pointed_to_parse() -> None:
    with pytest.raises(SpecNotFound, match=r"parse\(text\)"):
        load(shipped_text("world_agent"))
    assert parse(shipped_text("world_agent")) == load("world_agent")


def test_files_that_cannot_be_used_say_why(tmp_path: Path) -> None:
    with pytest.raises(SpecNotFound, match="no file"):
        load(tmp_path / "gone.yaml")
    with pytest.raises(SpecNotFound, match="not a YAML file"):
        load(tmp_path / "spec.toml")
    (tmp_path / "folder.yaml").mkdir()
    with pytest.raises(SpecError, match="cannot be read"):
        load(tmp_path / "folder.yaml")
    with pytest.raises(SpecError, match="cannot be read"):
        load("nul\x00.yaml")


def test_a_file_that_is_not_utf_8_names_the_line(tmp_path: Path) -> None:
    file = tmp_path / "latin.yaml"
    file.write_bytes(b"agent: a\ntitle: caf\xe9\n")
    with pytest.raises(SpecInvalid) as raised:
        load(file)
    (problem,) = raised.value.problems
    assert (problem.line, "UTF-8" in problem.remedy) == (2, True)


def test_a_file_too_large_is_refused_unread(tmp_path: Path) -> None:
    file = tmp_path / "large.yaml"
    file.write_bytes("é".encode() * 300_000)
    with pytest.raises(SpecInvalid, match="larger than 256 KB"):
        load(file)


@pytest.mark.parametrize("source", [None, 7, ["agent"], b"world_agent"])
def test_other_things_are_refused(source: Any) -> None:
    with pytest.raises(SpecError, match="cannot be loaded"):
        load(source)


def test_a_spec_made_in_python_is_checked_too() -> None:
    spec = load("world_agent")
    leaky = spec.model_copy(update={"gates": ()})
    with pytest.raises(SpecInvalid, match="`operator` boundary"):
        load(leaky)


def test_yaml_is_imported_only_when_there_is_some_to_read() -> None:
    code = "import sys, idetic.spec.loader; sys.exit('yaml' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=60).returncode == 0
