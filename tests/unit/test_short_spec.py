"""A short spec is completed in one place, and what a spec may not have meant is told."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from idetic.model import Capability, PrincipalKind
from idetic.spec.cautions import notes_of, warnings_of
from idetic.spec.interview import build
from idetic.spec.loader import load, parse, shipped, validate
from idetic.spec.problems import ProblemLevel, SpecInvalid
from tests.surfaces.cli_runner import called

LEAST: dict[str, Any] = {"agent": "tutor", "anchor": {"keys": "school_id"}}
WHY = "Only what is stated is kept here."


@pytest.mark.parametrize(
    "keys",
    ["school_id", "school_id:uuid", ["school_id"], [{"name": "school_id"}],
     [{"name": "school_id", "type": "uuid"}]],
)  # fmt: skip
def test_python_and_the_interview_make_the_same_spec(keys: Any) -> None:
    wanted = parse(build({"agent": "tutor", "anchor.keys": "school_id"})).digest
    assert validate({"agent": "tutor", "anchor": {"keys": keys}}).digest == wanted
    assert validate({"agent": "tutor", "anchor.keys": keys}).digest == wanted


def test_a_short_file_is_checked_like_any_other(tmp_path: Path) -> None:
    file = tmp_path / "tutor.yaml"
    file.write_text("agent: tutor\nanchor.keys: school_id, pupil_id:text\n")
    assert (
        load(file).digest
        == validate({**LEAST, "anchor": {"keys": "school_id, pupil_id:text"}}).digest
    )
    assert called("spec", "check", str(file)).code == 0


def test_what_a_short_spec_says_stands_and_the_rest_follows_from_it() -> None:
    spec = validate({
        **LEAST,
        "title": "Night tutor",
        "typology": {"persistent": ["procedural"]},
        "retrieval": {"reranker": "cross_encoder"},
        "tiers": {"session": {"lease_minutes": 5}},
    })  # fmt: skip
    assert (spec.title, spec.tiers.session.lease_minutes) == ("Night tutor", 5)
    assert spec.purpose == "What Night tutor does has yet to be written down."
    assert spec.retrieval.signals["decay"] == 0.2, "procedures weigh recency"  # type: ignore[index]
    assert (spec.retrieval.reranker, spec.references.corroborations) == ("cross_encoder", False)
    given = validate({**LEAST, "retrieval": {"signals": {"semantic": 1.0}}}).retrieval.signals
    assert len(given) == 1, "weights are one answer"


@pytest.mark.parametrize("section", ["references", "gates", "visibility", "leak_defence", "audit"])
def test_who_answers_one_discipline_answers_them_all(section: str) -> None:
    whole = validate(LEAST).as_data()
    with pytest.raises(SpecInvalid) as raised:
        validate({**LEAST, section: whole[section]})
    missing = {problem.path for problem in raised.value.problems}
    others = {"references", "gates", "visibility", "leak_defence", "audit"} - {section}
    assert others <= missing


@pytest.mark.parametrize(
    ("data", "path"),
    [
        ({"agent": "tutor"}, "anchor"),
        ({"anchor": {"keys": "school_id"}}, "agent"),
        ({**LEAST, "agent": "Tutor"}, "agent"),
        ({**LEAST, "anchor": {"keys": "school_id:number"}}, "anchor.keys[0].type"),
        ({**LEAST, "anchor": {"keys": "Memory"}}, "anchor.keys[0].name"),
        ({**LEAST, "anchor": {"keys": 7}}, "anchor.keys"),
        ({**LEAST, "gatez": []}, "gatez"),
        ({**LEAST, "typology": {"persistent": ["semantics"]}}, "typology.persistent[0]"),
        ({**LEAST, "typology": "semantic"}, "typology"),
    ],
)
def test_a_short_spec_that_is_none_is_told_as_any(data: dict[str, Any], path: str) -> None:
    with pytest.raises(SpecInvalid) as raised:
        validate(data)
    assert path in [problem.path for problem in raised.value.problems]


def test_a_generated_spec_grants_what_shipped_ones_do() -> None:
    ours, theirs = validate(LEAST), load("world_agent")
    for kind in PrincipalKind:
        assert set(ours.visibility.principals[kind]) == set(theirs.visibility.principals[kind])


@pytest.mark.parametrize("name", [*shipped(), "short"])
def test_shipped_and_generated_specs_have_no_warnings(name: str) -> None:
    assert warnings_of(validate(LEAST) if name == "short" else load(name)) == ()


def test_a_note_tells_of_what_most_observations_come_to() -> None:
    (note,) = notes_of(validate(LEAST))
    assert note.level is ProblemLevel.NOTE
    assert note.message == (
        "What you observe in a session goes after 30 days, unless it has a ground to be kept: "
        "claim, reference, recurrence, repetition."
    )
    (plain,) = notes_of(load("world_agent"))
    assert "unless it has a ground to be kept: claim, reference, recurrence." in plain.message
    kept = _deviating("promotion", "episodic_transient", candidates=["any"])
    assert notes_of(validate(kept)) == ()
    assert notes_of(load("framework_agent")) == (), "episodes stay there"


@pytest.mark.parametrize("capability", ["observe", "read", "promote", "undo", "erase", "maintain"])
def test_what_nobody_may_do_is_a_warning(capability: str) -> None:
    data = validate(LEAST).as_data()
    principals = data["visibility"]["principals"]
    for kind, granted in principals.items():
        principals[kind] = [each for each in granted if each != capability]
    found = warnings_of(validate(data))
    assert [one.path for one in found] == ["visibility.principals"]
    assert f"Nobody may `{capability}`" in found[0].message
    assert f"Add `{capability}`" in found[0].remedy


def test_promotion_needs_nobody_where_nothing_waits_for_it() -> None:
    assert not any(load("persona_agent").may(kind, Capability.PROMOTE) for kind in PrincipalKind), (
        "or this shows nothing"
    )
    assert warnings_of(load("persona_agent")) == ()


DROPPED = "What you observe in a session is dropped when the session closes, because "


def _deviating(section: str, cell: str, **changes: Any) -> dict[str, Any]:
    """The least spec with one deviation."""
    deviation = {"cell": cell, "set": changes, "justification": WHY}
    return {**LEAST, section: {"deviations": [deviation]}}


@pytest.mark.parametrize(
    ("data", "said"),
    [
        (_deviating("promotion", "episodic_transient", path="none"),
         DROPPED + "the promotion path"),
        (_deviating("promotion", "episodic_transient", candidates=["reference"]),
         DROPPED + "only what refers to canonical content"),
        ({**_deviating("writes", "procedural", auto_extract=False),
          "typology": {"persistent": ["procedural"]}},
         DROPPED + "the persistent tier holds neither"),
        ({**LEAST, "typology": {"session": []}}, "What you observe in an interaction is dropped"),
        ({**LEAST, "retrieval": {"tiers": {"persistent": 0}}}, "recall never finds its entries"),
        ({**LEAST, "retrieval": {"signals": {"decay": 1.0}}}, "a question never finds its answer"),
    ],
)  # fmt: skip
def test_memory_that_no_read_reaches_is_a_warning(data: dict[str, Any], said: str) -> None:
    found = warnings_of(validate(data))
    assert [one for one in found if said in one.message], found
    assert all(one.level is ProblemLevel.WARNING and one.remedy for one in found)


def test_preferences_that_nobody_can_state_are_a_warning() -> None:
    data = validate(_deviating("writes", "procedural", auto_extract=False)).as_data()
    data["visibility"]["principals"]["operator"].remove("prefer")
    assert "procedural memory stays empty" in warnings_of(validate(data))[0].message


def test_spec_check_prints_warnings_and_succeeds(tmp_path: Path) -> None:
    file = tmp_path / "tutor.yaml"
    file.write_text(
        "agent: tutor\nanchor.keys: school_id\npromotion:\n  deviations:\n"
        f"    - {{cell: episodic_transient, set: {{path: none}}, justification: {WHY}}}\n"
    )
    ran = called("spec", "check", str(file))
    assert ran.code == 0
    assert "valid" in ran.out
    assert "warning: 9 Promotion semantics · promotion" in ran.out
    assert "the promotion path of episodes is `none`" in ran.out
    assert "To keep it, remove the deviation" in ran.out
    (one,) = called("spec", "check", str(file), "--json").json()["specs"]
    assert {each["level"] for each in one["warnings"]} == {"warning"}, "interactions go too"
    assert (one["valid"], one["notes"]) == (True, [])
