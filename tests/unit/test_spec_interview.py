"""The interview walks the primitives in order, and its defaults make a valid spec."""

from __future__ import annotations

import pytest

from idetic.model import Tier, Typology
from idetic.spec.interview import build, next_question, objection, questions
from idetic.spec.interview_questions import InterviewQuestion
from idetic.spec.loader import parse
from idetic.spec.problems import PRIMITIVES, SpecInvalid

LEAST = {"agent": "tutor", "anchor.keys": "school_id"}
WHY = "because Timetables change every month"


def test_a_name_and_anchor_keys_are_enough() -> None:
    spec = parse(build(LEAST))
    assert (spec.agent, spec.title) == ("tutor", "Tutor")
    assert (spec.backend.schema_, spec.backend.family) == ("tutor", "tutor")
    assert [key.name for key in spec.anchor.keys] == ["school_id"]


@pytest.mark.parametrize("name", ["public", "idetic", "langgraph", "pg_agent", "a", "a" * 36])
@pytest.mark.parametrize("persistent", ["semantic", "procedural", "episodic, semantic, procedural"])
def test_defaults_stay_valid_for_awkward_names_and_every_mix(name: str, persistent: str) -> None:
    answers = {"agent": name, "anchor.keys": "agent_id:text", "typology.persistent": persistent}
    assert parse(build(answers)).agent == name


def test_the_yaml_explains_each_primitive() -> None:
    text = build(LEAST)
    for primitive in PRIMITIVES.values():
        assert f"# {primitive}" in text


def test_primitives_are_asked_in_the_documents_order() -> None:
    asked = list(dict.fromkeys(question.primitive for question in questions(LEAST)))
    names = list(PRIMITIVES.values())
    assert asked == ["The spec", *names[:15], "Leak-defence calibration", "Audit posture"]


def test_every_question_explains_itself() -> None:
    asked = questions(LEAST)
    assert len({question.key for question in asked}) == len(asked)
    for question in asked:
        assert question.prompt.endswith("?")
        assert question.explanation
        if question.choices and question.default:
            assert objection(question, question.default) is None


def test_asking_one_by_one_ends_and_builds() -> None:
    answers = dict(LEAST)
    while (question := next_question(answers)) is not None:
        assert question.default is not None
        answers[question.key] = question.default
    assert build(answers) == build(LEAST)


def test_only_name_and_keys_have_no_default() -> None:
    needed = [question.key for question in questions(LEAST) if question.default is None]
    assert needed == ["agent", "anchor.keys"]


def test_answers_reach_the_spec() -> None:
    spec = parse(
        build(
            {
                "agent": "clerk",
                "anchor.keys": "org_id, desk_id:bigint",
                "anchor.nullable": "desk_id",
                "anchor.root": "office offices.offices office_id",
                "anchor.provenance": "policy_version",
                "retrieval.signals": "semantic=1, decay=0.5",
                "retrieval.envelope": "topic:hierarchy, urgent",
                "decay": f"semantic validity_days=30 {WHY}; "
                f"procedural model=forcing_function {WHY}",
                "lifecycle": f"semantic archive_on=[canonical_change] {WHY}",
                "injection.ceiling": "6000",
                "injection.justification": "A long case file has to fit beside the question.",
                "references.canonical": "policy offices.policies policy_id body_text",
                "audit.action_kinds": "letter_sent, case_closed",
            }
        )
    )
    assert spec.anchor.keys[1].nullable_for_queries
    assert spec.anchor.root is not None
    assert spec.anchor.provenance == ("policy_version",)
    assert spec.decay_of(Tier.PERSISTENT, Typology.SEMANTIC).validity_days == 30
    assert len(spec.decay.deviations) == 2
    assert spec.injection.ceiling == 6000
    assert spec.references.canonical[0].body == "body_text"
    assert (spec.leak_defence.reasons, spec.leak_defence.guard) == ("over", "primary")
    assert spec.audit.action_kinds == ("letter_sent", "case_closed")


def test_procedural_memory_weights_recency_higher() -> None:
    (signals,) = (
        q for q in questions({**LEAST, "typology.persistent": "procedural"})
        if q.key == "retrieval.signals"
    )  # fmt: skip
    assert signals.default is not None
    assert "decay=0.2" in signals.default
    (usual,) = (q for q in questions(LEAST) if q.key == "retrieval.signals")
    assert "decay=0.05" in (usual.default or "")


def test_who_reads_behind_no_gate_reads_nothing_by_default() -> None:
    spec = parse(build({**LEAST, "gates.customer": "none"}))
    assert [gate.boundary for gate in spec.gates] == ["ingest", "aggregation", "operator"]
    assert spec.visibility.principals["customer"] == ()  # type: ignore[index]


@pytest.mark.parametrize(
    ("answers", "path"),
    [
        ({}, "agent"),
        ({"agent": "tutor"}, "anchor.keys"),
        ({**LEAST, "agnet": "x"}, "agnet"),
        ({**LEAST, "agent": "Tutor"}, "agent"),
        ({**LEAST, "anchor.keys": "memory_id"}, "anchor.keys[0].name"),
        ({**LEAST, "injection.ceiling": "9000"}, "injection.justification"),
        ({**LEAST, "decay": "whenever"}, "decay.deviations[0]"),
        ({**LEAST, "decay": "semantic validity_days=30"}, "decay.deviations[0].justification"),
        ({**LEAST, "retrieval.signals": "semantic=much"}, "retrieval.signals.semantic"),
        ({**LEAST, "leak_defence.reasons": "over"}, "leak_defence.reasons"),
        ({**LEAST, "typology.persistent": "semantics"}, "typology.persistent[0]"),
        ({**LEAST, "title": "\x00"}, "title"),
    ],
)
def test_answers_that_make_no_spec_are_told(answers: dict[str, str], path: str) -> None:
    with pytest.raises(SpecInvalid) as raised:
        build(answers)
    assert path in [problem.path for problem in raised.value.problems]


def test_an_objection_comes_before_the_walk_goes_on() -> None:
    one = InterviewQuestion("p", "k", "?", "e", "rrf", ("rrf", "weighted_score"))
    many = InterviewQuestion("p", "k", "?", "e", "hedge", ("hedge", "read_only"), many=True)
    needed = InterviewQuestion("p", "k", "?", "e", None)
    assert objection(one, "rrf") is None
    assert "Did you mean rrf?" in (objection(one, "rff") or "")
    assert objection(many, "hedge, read_only") is None
    assert objection(many, "none") is None
    assert "not a choice" in (objection(many, "hedge, sing") or "")
    assert "needed" in (objection(needed, " ") or "")
    assert objection(needed, "anything") is None
