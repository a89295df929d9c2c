"""Every mistake is told by its primitive, its path and a remedy one can follow."""

from __future__ import annotations

import copy
import re
from collections.abc import Callable, Mapping
from typing import Any

import pytest

from idetic.errors import SpecError
from idetic.model import Tier, Typology
from idetic.spec.loader import load, parse, shipped_text, validate
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.problems import SpecInvalid, SpecProblem

Data = dict[str, Any]
Edit = Callable[[Data], None]

ANCHOR, TYPOLOGY, TIERS = "1 Anchor entity", "2 Memory typology", "3 Tier model"
BACKEND, RETRIEVAL = "4 Persistence backend", "5 Retrieval model"
LIFECYCLE, DECAY, WRITES = "6 Lifecycle / retention", "7 Time decay model", "8 Write policy"
PROMOTION, INJECTION = "9 Promotion semantics", "12 Injection semantics + token budget"
REFERENCES, GATES = "13 Reference-only invariants", "14 Sanitization gates"
VISIBILITY = "15 Visibility / access scope"
AUDIT, LEAK = "Audit posture", "Leak-defence calibration"
WHOLE = "The spec"

WHY = "Prices change every month here."


def _walk(data: Any, path: str) -> tuple[Any, str | int]:
    steps = [int(step) if step.isdigit() else step for step in re.findall(r"\w+", path)]
    for step in steps[:-1]:
        data = data[step]
    return data, steps[-1]


def put(path: str, value: Any) -> Edit:
    def edit(data: Data) -> None:
        parent, last = _walk(data, path)
        parent[last] = value

    return edit


def drop(path: str) -> Edit:
    def edit(data: Data) -> None:
        parent, last = _walk(data, path)
        del parent[last]

    return edit


def both(*edits: Edit) -> Edit:
    def edit(data: Data) -> None:
        for each in edits:
            each(data)

    return edit


def deviate(section: str, *deviations: Mapping[str, Any]) -> Edit:
    return put(section, {"deviations": list(deviations)})


def deviation(cell: str, justification: str = WHY, **changes: Any) -> Data:
    return {"cell": cell, "set": changes, "justification": justification}


def problems_of(edit: Edit) -> tuple[SpecProblem, ...]:
    data = load("world_agent").as_data()
    edit(data)
    with pytest.raises(SpecInvalid) as raised:
        validate(data)
    return raised.value.problems


BLOCK = {"budget": 1200, "priority": 90, "presence": "always_present"}
MINIMAL_CANONICAL = {"noun": "rule", "table": "worlds.rules", "key": "rule_id"}

MISTAKES: list[tuple[str, Edit, str, str, str]] = [
    # A missing answer: what to write, with an example.
    ("no anchor", drop("anchor"), ANCHOR, "anchor", "anchor: {keys:"),
    ("no typology", drop("typology"), TYPOLOGY, "typology", "persistent: [semantic]"),
    ("no tiers", drop("tiers"), TIERS, "tiers", "interaction"),
    ("no backend", drop("backend"), BACKEND, "backend", "schema: my_context"),
    ("no retrieval", drop("retrieval"), RETRIEVAL, "retrieval", "bge-small-en-v1.5"),
    ("no references", drop("references"), REFERENCES, "references", "non_mirror"),
    ("no gates", drop("gates"), GATES, "gates", "gates: []"),
    ("no visibility", drop("visibility"), VISIBILITY, "visibility", "principals"),
    ("no leak defence", drop("leak_defence"), LEAK, "leak_defence", "reasons: with"),
    ("no audit", drop("audit"), AUDIT, "audit", "action_kinds"),
    ("no title", drop("title"), WHOLE, "title", "title: My Agent"),
    ("empty anchor", put("anchor", None), ANCHOR, "anchor", "org_id"),
    (
        *("a third tier that ends", put("tiers.campaign", {"holds": "Many shifts."})),
        *(TIERS, "tiers.campaign", "Let `session` hold it"),
    ),
    (
        *("voices that no signal hears", put("retrieval.voices", {"user": 0.2})),
        *(RETRIEVAL, "retrieval.voices", "Give `voice` a weight"),
    ),
    (
        "neighbours of words that are not looked for",
        both(put("retrieval.signals.lexical", 0), put("retrieval.neighbours.before", 4)),
        *(RETRIEVAL, "retrieval.neighbours.before", "Give `lexical` a weight"),
    ),
    (
        *(
            "ranks of a weighted score",
            put("retrieval.fusion", {"method": "weighted_score", "k": 9}),
        ),
        *(RETRIEVAL, "retrieval.fusion.k", "Remove `k`"),
    ),
    (
        *(
            "a pattern that no person said",
            deviate("writes", deviation("procedural", pattern_origins=["agent"])),
        ),
        *(WRITES, "writes.deviations[0].set.pattern_origins[0]", "operator"),
    ),
    (
        "versions that nothing has",
        both(
            put("references.canonical", [MINIMAL_CANONICAL]),
            deviate("lifecycle", deviation("procedural", archive_on=["canonical_change"])),
        ),
        *(LIFECYCLE, "lifecycle.deviations[0].set.archive_on", "declare `versions`"),
    ),
    (
        "versions that nobody remembers",
        both(
            put("anchor.provenance", []),
            deviate("promotion", deviation("semantic", min_versions=4)),
        ),
        *(PROMOTION, "promotion.deviations[0].set.min_versions", "anchor.provenance"),
    ),
    (
        "candidates where episodes are kept",
        both(
            put("typology.persistent", ["episodic", "semantic"]),
            deviate("promotion", deviation("episodic_persistent", candidates=["any"])),
        ),
        *(PROMOTION, "promotion.deviations[0].set.candidates", "extract patterns"),
    ),
    ("no tier event", drop("tiers.session.event"), TIERS, "tiers.session.event", "session_end"),
    # Keys and values that nothing knows.
    ("unknown top key", put("ankor", {}), WHOLE, "ankor", "Did you mean `anchor`?"),
    (
        "unknown inner key",
        put("anchor.keys[1].typ", "uuid"),
        ANCHOR,
        "anchor.keys[1].typ",
        "Did you mean `type`?",
    ),
    ("python's spelling", put("backend.schema_", "x"), BACKEND, "backend.schema_", "`schema`"),
    (
        "unknown key type",
        put("anchor.keys[1].type", "uid"),
        ANCHOR,
        "anchor.keys[1].type",
        "uuid, text, bigint",
    ),
    (
        "unknown signal",
        put("retrieval.signals.lexcial", 1.0),
        RETRIEVAL,
        "retrieval.signals.lexcial",
        "Did you mean `lexical`?",
    ),
    (
        "neighbours without words",
        put("retrieval.signals", {"semantic": 1.0, "nearby": 0.1}),
        RETRIEVAL,
        "retrieval.signals.nearby",
        "Give `lexical` a weight too",
    ),
    (
        "a floor without grounds",
        put("retrieval", {"signals": {"decay": 1.0}, "floors": {"question": 0.5}}),
        RETRIEVAL,
        "retrieval.floors.question",
        "Give `semantic` or `lexical` a weight too",
    ),
    (
        "a floor above all",
        put("retrieval.floors", {"hit": 1.5}),
        RETRIEVAL,
        "retrieval.floors.hit",
        "1",
    ),
    (
        "other embedding",
        put("retrieval.embedding", "ada-002"),
        RETRIEVAL,
        "retrieval.embedding",
        "the only value",
    ),
    (
        "number as text",
        put("retrieval.signals.decay", "1.0"),
        RETRIEVAL,
        "retrieval.signals.decay",
        "Write a number",
    ),
    (
        "truth as weight",
        put("retrieval.signals.decay", True),
        RETRIEVAL,
        "retrieval.signals.decay",
        "Write a number",
    ),
    (
        "negative weight",
        put("retrieval.signals.decay", -1),
        RETRIEVAL,
        "retrieval.signals.decay",
        "at least 0",
    ),
    (
        "infinite weight",
        put("retrieval.signals.decay", float("inf")),
        RETRIEVAL,
        "retrieval.signals.decay",
        "finite number",
    ),
    (
        "NaN weight",
        put("retrieval.envelope.topic.weight", float("nan")),
        RETRIEVAL,
        "retrieval.envelope.topic.weight",
        "finite number",
    ),
    ("long agent", put("agent", "a" * 37), WHOLE, "agent", "1 to 36"),
    ("long family", put("backend.family", "a" * 37), BACKEND, "backend.family", "1 to 36"),
    ("upper case", put("agent", "WorldAgent"), WHOLE, "agent", "lower-case"),
    (
        "bare table name",
        put("references.canonical[0].table", "rules"),
        REFERENCES,
        "references.canonical[0].table",
        "schema.table",
    ),
    ("one action kind too few", put("audit.action_kinds", []), AUDIT, "audit.action_kinds", "1 it"),
    ("other posture", put("audit.posture", "lax"), AUDIT, "audit.posture", "`universal`"),
    (
        "text for a list",
        put("typology.session", "episodic"),
        TYPOLOGY,
        "typology.session",
        "[episodic]",
    ),
    # 1 Anchor.
    (
        "open tenant",
        put("anchor.keys[0].nullable_for_queries", True),
        ANCHOR,
        "anchor.keys[0].nullable_for_queries",
        "tenant key first",
    ),
    ("key twice", put("anchor.keys[1].name", "org_id"), ANCHOR, "anchor.keys[1].name", "rename"),
    (
        "key is a column",
        put("anchor.keys[1].name", "session_id"),
        ANCHOR,
        "anchor.keys[1].name",
        "another name",
    ),
    (
        "provenance is a column",
        put("anchor.provenance", ["trust"]),
        ANCHOR,
        "anchor.provenance[0]",
        "another name",
    ),
    (
        "provenance is a key",
        put("anchor.provenance", ["domain_id"]),
        ANCHOR,
        "anchor.provenance[0]",
        "column of its own",
    ),
    (
        "provenance is the root",
        put("anchor.provenance", ["world_id"]),
        ANCHOR,
        "anchor.provenance[0]",
        "Remove it",
    ),
    ("root is a column", put("anchor.root.key", "memory_id"), ANCHOR, "anchor.root.key", "another"),
    # 2 Typology.
    (
        "empty persistent tier",
        put("typology.persistent", []),
        TYPOLOGY,
        "typology.persistent",
        "semantic",
    ),
    (
        "typology twice",
        put("typology.session", ["episodic", "episodic"]),
        TYPOLOGY,
        "typology.session[1]",
        "Keep one",
    ),
    # 4 Backend.
    (
        "family too long for its index names",
        both(put("backend.family", "a" * 36), put("typology.interaction", ["procedural"])),
        BACKEND,
        "backend.family",
        "Shorten `family` by 1",
    ),
    ("pg schema", put("backend.schema", "pg_memory"), BACKEND, "backend.schema", "owning context"),
    ("core schema", put("backend.schema", "idetic"), BACKEND, "backend.schema", "owning context"),
    ("public schema", put("backend.schema", "public"), BACKEND, "backend.schema", "owning context"),
    (
        "information_schema",
        put("backend.schema", "information_schema"),
        BACKEND,
        "backend.schema",
        "owning context",
    ),
    (
        "checkpointer's schema",
        put("backend.schema", "langgraph"),
        BACKEND,
        "backend.schema",
        "schema of its own",
    ),
    # 5 Retrieval.
    (
        "all signals zero",
        put("retrieval.signals", {"semantic": 0, "decay": 0.0}),
        RETRIEVAL,
        "retrieval.signals",
        "above 0",
    ),
    (
        "tier missing",
        drop("retrieval.tiers.session"),
        RETRIEVAL,
        "retrieval.tiers.session",
        "session: 1.0",
    ),
    (
        "claim declared",
        put("retrieval.envelope.claim", {}),
        RETRIEVAL,
        "retrieval.envelope.claim",
        "another name",
    ),
    # 6 to 11: deviations.
    (
        "no justification",
        deviate("decay", {"cell": "semantic", "set": {"validity_days": 30}}),
        DECAY,
        "decay.deviations[0].justification",
        "justification: ",
    ),
    (
        "short justification",
        deviate("decay", deviation("semantic", " because ", validity_days=30)),
        DECAY,
        "decay.deviations[0].justification",
        "at least 12 characters",
    ),
    (
        "equals the default",
        deviate("decay", deviation("semantic", validity_days=90)),
        DECAY,
        "decay.deviations[0].set.validity_days",
        "Remove it",
    ),
    (
        "equals the default in another order",
        deviate(
            "lifecycle",
            deviation("semantic", archive_on=["failed_corroborations", "canonical_change"]),
        ),
        LIFECYCLE,
        "lifecycle.deviations[0].set.archive_on",
        "Remove it",
    ),
    (
        "cell not produced",
        deviate("decay", deviation("episodic_persistent", half_life_days=3)),
        DECAY,
        "decay.deviations[0].cell",
        "episodic_transient, procedural, semantic",
    ),
    (
        "cell unknown",
        deviate("decay", deviation("sematic", half_life_days=3)),
        DECAY,
        "decay.deviations[0].cell",
        "Did you mean `semantic`?",
    ),
    (
        "policy key unknown",
        deviate("decay", deviation("semantic", validity=30)),
        DECAY,
        "decay.deviations[0].set.validity",
        "model, half_life_days, validity_days",
    ),
    (
        "policy value of wrong type",
        deviate("decay", deviation("semantic", validity_days="a month")),
        DECAY,
        "decay.deviations[0].set.validity_days",
        "The policy's keys: model, half_life_days, validity_days",
    ),
    (
        "half-life of zero",
        deviate("decay", deviation("semantic", half_life_days=0)),
        DECAY,
        "decay.deviations[0].set.half_life_days",
        "more than 0",
    ),
    (
        "policy value unknown",
        deviate("writes", deviation("semantic", mode="explizit")),
        WRITES,
        "writes.deviations[0].set.mode",
        "Did you mean `explicit`?",
    ),
    (
        "one key twice",
        deviate(
            "promotion",
            deviation("semantic", min_versions=3),
            deviation("semantic", min_versions=4),
        ),
        PROMOTION,
        "promotion.deviations[1].set.min_versions",
        "Keep one of the two",
    ),
    (
        "nothing set",
        deviate("decay", deviation("semantic")),
        DECAY,
        "decay.deviations[0].set",
        "validity_days: 30",
    ),
    (
        "persistent memory dropped",
        deviate("lifecycle", deviation("procedural", at_scope_end="drop_unless_promoted")),
        LIFECYCLE,
        "lifecycle.deviations[0].set.at_scope_end",
        "write a value that changes something",
    ),
    # 12 Injection.
    (
        "always-present blocks do not fit",
        put("injection", {"ceiling": 2000, "justification": WHY}),
        INJECTION,
        "injection.ceiling",
        "at least 2800",
    ),
    (
        "a block does not fit",
        put("injection", {"session": {**BLOCK, "budget": 5000}, "justification": WHY}),
        INJECTION,
        "injection.session.budget",
        "at most 4000",
    ),
    (
        "changed without a reason",
        put("injection", {"ceiling": 8000}),
        INJECTION,
        "injection.justification",
        "Add a `justification`",
    ),
    (
        "a reason for nothing",
        put("injection", {"justification": WHY}),
        INJECTION,
        "injection.justification",
        "Remove",
    ),
    # 13 References.
    (
        "version without versions",
        drop("references.canonical[0].versions"),
        REFERENCES,
        "references.canonical[0].versions",
        "Add `versions: ",
    ),
    (
        "versions without version",
        drop("references.canonical[0].version"),
        REFERENCES,
        "references.canonical[0].version",
        "Add `version: version`",
    ),
    (
        "scope without a root",
        drop("anchor.root"),
        REFERENCES,
        "references.canonical[0].scope",
        "Add `root`",
    ),
    (
        "one noun twice",
        lambda data: data["references"]["canonical"].append(dict(MINIMAL_CANONICAL)),
        REFERENCES,
        "references.canonical[1].noun",
        "rename",
    ),
    (
        "canonical key is an anchor key",
        put("references.canonical[0].key", "org_id"),
        REFERENCES,
        "references.canonical[0].key",
        "rule_id",
    ),
    (
        "own memory as canon",
        put("references.canonical[0].table", "worlds.world_agent_memory"),
        REFERENCES,
        "references.canonical[0].table",
        "context that owns",
    ),
    (
        "family and noun too long together",
        put("references.canonical[0].noun", "a_rather_long_name_for_a_rule"),
        REFERENCES,
        "references.canonical[0].noun",
        "Shorten the noun",
    ),
    (
        "semantic without corroborations",
        put("references.corroborations", False),
        REFERENCES,
        "references.corroborations",
        "corroborations: true",
    ),
    (
        "documents beside a guarded body",
        put("references.documents", True),
        REFERENCES,
        "references.documents",
        "documents: false",
    ),
    # 14 Gates.
    (
        "unknown boundary",
        put("gates[3].boundary", "costumer"),
        GATES,
        "gates[3].boundary",
        "Did you mean `customer`?",
    ),
    ("boundary twice", put("gates[1].boundary", "ingest"), GATES, "gates[1].boundary", "Keep one"),
    ("operator ungated", drop("gates[2]"), GATES, "gates", "boundary: operator, apply: [hedge]"),
    ("customer ungated", drop("gates[3]"), GATES, "gates", "apply: [hedge, read_only]"),
    (
        "customer half gated",
        put("gates[3].apply", ["hedge"]),
        GATES,
        "gates[3].apply",
        "[hedge, read_only]",
    ),
    (
        *("a hedge where nobody reads", put("gates[0].apply", ["secrets", "hedge"])),
        *(GATES, "gates[0].apply[1]", "gate of the operator or of the customer"),
    ),
    (
        *("an operator who may write read-only", put("gates[2].apply", ["hedge", "read_only"])),
        *(VISIBILITY, "visibility.principals.operator", "take `read_only` out"),
    ),
    (
        "a gate at the end of no interaction",
        both(
            drop("tiers.interaction"),
            drop("typology.interaction"),
            put("gates[0].boundary", "interaction_end"),
        ),
        *(GATES, "gates[0].boundary", "boundary: session_end"),
    ),
    # 15 Visibility.
    (
        "principal unanswered",
        drop("visibility.principals.auditor"),
        VISIBILITY,
        "visibility.principals.auditor",
        "auditor: []",
    ),
    (
        "auditor writes",
        put("visibility.principals.auditor", ["read", "archive"]),
        VISIBILITY,
        "visibility.principals.auditor[1]",
        "read, read_across, audit",
    ),
    (
        "customer writes",
        put("visibility.principals.customer", ["observe", "read"]),
        VISIBILITY,
        "visibility.principals.customer[0]",
        "at most [read]",
    ),
    (
        "customer reads across",
        put("visibility.principals.customer", ["read", "read_across"]),
        VISIBILITY,
        "visibility.principals.customer[1]",
        "at most [read]",
    ),
    (
        "origin untrusted",
        drop("visibility.trust.tool"),
        VISIBILITY,
        "visibility.trust.tool",
        "tool: 50",
    ),
    (
        "strength unhedged",
        drop("visibility.hedges.curated"),
        VISIBILITY,
        "visibility.hedges.curated",
        "curated: ",
    ),
    (
        "trust above 100",
        put("visibility.trust.tool", 101),
        VISIBILITY,
        "visibility.trust.tool",
        "at most 100",
    ),
    # Leak defence.
    (
        "over with a backstop",
        put("leak_defence.guard", "backstop"),
        LEAK,
        "leak_defence.guard",
        "guard: primary",
    ),
    (
        "with and primary",
        put("leak_defence.reasons", "with"),
        LEAK,
        "leak_defence.guard",
        "guard: backstop",
    ),
    (
        "nothing to guard",
        drop("references.canonical[0].body"),
        LEAK,
        "leak_defence.reasons",
        "body: body_text",
    ),
    # Values that only Python could hand over.
    ("an object", put("title", object()), WHOLE, "title", "plain text"),
    ("NUL in text", put("title", "a\x00b"), WHOLE, "title", "plain text"),
    ("a lone surrogate", put("title", "\ud800"), WHOLE, "title", "plain text"),
]


@pytest.mark.parametrize(
    ("edit", "primitive", "path", "remedy"),
    [pytest.param(*mistake[1:], id=mistake[0]) for mistake in MISTAKES],
)
def test_a_mistake_is_told(edit: Edit, primitive: str, path: str, remedy: str) -> None:
    found = [p for p in problems_of(edit) if p.path == path]
    assert found, f"nothing said about {path}"
    assert {p.primitive for p in found} == {primitive}
    assert any(remedy in p.remedy for p in found), [p.remedy for p in found]


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: str(mistake[0]))
def test_no_message_speaks_pydantic(mistake: tuple[str, Edit, str, str, str]) -> None:
    foreign = re.compile(r"Input should|extra_forbidden|Field required|pydantic|_type\b|Extra inp")
    for problem in problems_of(mistake[1]):
        assert not foreign.search(f"{problem.message} {problem.remedy}")
        assert problem.message.endswith((".", "?"))
        assert problem.remedy.endswith((".", "?"))


def test_all_problems_are_reported_at_once() -> None:
    problems = problems_of(
        both(
            put("anchor.keys[1].type", "uid"),
            put("anchor.keys[0].nullable_for_queries", True),
            drop("backend"),
            deviate("decay", deviation("semantic", "", validity=1)),
            put("gates[0].boundary", "nowhere"),
            put("visibility.principals.customer", ["observe"]),
            put("leak_defence.guard", "backstop"),
        )
    )
    assert [p.path for p in problems] == [
        "anchor.keys[1].type",
        "anchor.keys[0].nullable_for_queries",
        "backend",
        "decay.deviations[0].justification",
        "decay.deviations[0].set.validity",
        "gates[0].boundary",
        "visibility.principals.customer[0]",
        "leak_defence.guard",
    ]


def test_the_error_is_a_spec_error_that_prints_every_problem() -> None:
    data = load("world_agent").as_data()
    del data["audit"], data["gates"]
    with pytest.raises(SpecInvalid) as raised:
        validate(data)
    error = raised.value
    assert isinstance(error, SpecError)
    assert (error.code, error.exit_code, error.http_status) == ("spec_invalid", 5, 422)
    assert "has 2 problems" in str(error)
    assert all(str(problem) in str(error) for problem in error.problems)
    assert [p["path"] for p in error.detail["problems"]] == ["gates", "audit"]


def test_the_error_can_be_copied_across_processes() -> None:
    error = SpecInvalid([SpecProblem(ANCHOR, "anchor", "Nothing.", "Something.", 3)])
    assert copy.copy(error).problems == error.problems


def test_a_problem_names_its_line() -> None:
    text = shipped_text("world_agent").replace("type: hierarchy", "type: herarchy")
    line = next(i for i, row in enumerate(text.splitlines(), 1) if "herarchy" in row)
    with pytest.raises(SpecInvalid) as raised:
        parse(text, "mine.yaml")
    (problem,) = raised.value.problems
    assert (problem.path, problem.line) == ("retrieval.envelope.topic.type", line)
    assert f"line {line}" in str(raised.value)
    assert str(raised.value).startswith("mine.yaml has 1 problem:")


# The tables of primitives 6 to 11, a row for each typology: what the page names as the default.
_CELLS = {
    "episodic, transient": (Tier.SESSION, Typology.EPISODIC),
    "episodic, persistent": (Tier.PERSISTENT, Typology.EPISODIC),
    "semantic": (Tier.PERSISTENT, Typology.SEMANTIC),
    "procedural": (Tier.PERSISTENT, Typology.PROCEDURAL),
}
_PAGE: dict[str, list[dict[str, Any]]] = {
    "lifecycle": [
        {"at_scope_end": "drop_unless_promoted"},
        {"at_scope_end": "keep", "archive_on": []},
        {"archive_on": ["canonical_change", "failed_corroborations"], "failed_corroborations": 3},
        {"archive_on": []},
    ],
    "decay": [
        {"model": "ends_with_scope"},
        {"model": "forcing_function"},
        {"model": "validity_window", "validity_days": 90},
        {"model": "exempt"},
    ],
    "writes": [
        {"mode": "automatic", "sampling": []},
        {"mode": "promotion_only"},
        {"mode": "promotion_only"},
        {"mode": "explicit", "auto_extract": True, "min_confidence": 0.9},
    ],
    "promotion": [
        {"path": "compounding", "min_corroborations": 3, "min_sessions": 2},
        {"path": "corroboration", "min_corroborations": 3, "min_sessions": 2},
        {"path": "meta_semantic", "min_versions": 2, "min_anchors": 2},
        {"path": "none"},
    ],
    "conflict": [
        {"rule": "noop"},
        {"rule": "noop"},
        {"rule": "update_with_temporal_validity"},
        {"rule": "update_with_supersession"},
    ],
    "consolidation": [
        {"method": "compounding_at_boundaries"},
        {"method": "compounding_at_boundaries"},
        {"method": "merge"},
        {"method": "append_with_supersession"},
    ],
}  # fmt: skip


@pytest.mark.parametrize("section", _PAGE)
def test_the_typology_defaults_are_the_documents_tables(section: str) -> None:
    """Of a spec that says nothing about it: each cell behaves as its typology's row says."""
    data = load("world_agent").as_data()
    data[section] = {"deviations": []}
    data["typology"]["persistent"].append("episodic")
    data["promotion"] = {"deviations": []}
    spec = validate(data)
    for (cell, place), wanted in zip(_CELLS.items(), _PAGE[section], strict=True):
        policy = getattr(spec, f"{section}_of")(*place).model_dump(mode="json")
        assert {key: policy[key] for key in wanted} == wanted, cell


def test_deviations_that_fit_are_accepted_and_resolve() -> None:
    data = load("world_agent").as_data()
    deviate(
        "decay",
        deviation("semantic", validity_days=30),
        deviation("procedural", model="forcing_function"),
        deviation("procedural", half_life_days=3),
    )(data)
    spec = validate(data)
    semantic, procedural = (spec.decay_of(*cell) for cell in spec.typology.cells()[2:])
    assert (semantic.validity_days, procedural.half_life_days) == (30, 3)


def test_a_cycle_in_the_data_is_refused() -> None:
    data: Data = load("world_agent").as_data()
    data["anchor"]["keys"].append(data["anchor"])
    with pytest.raises(SpecInvalid, match="nested too deep"):
        validate(data)


def test_enumerations_and_parts_may_be_given_instead_of_text() -> None:
    spec = load("world_agent")
    data = {name: getattr(spec, name) for name in MemorySpec.model_fields}
    assert validate(data) == spec
