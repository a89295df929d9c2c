"""Every entity has a retention policy, and a spec can say nothing about it that would not hold."""

from __future__ import annotations

from typing import Any

import pytest
from pydantic import ValidationError

from idetic.spec.differences import differences
from idetic.spec.loader import load, shipped
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.problems import SpecInvalid, SpecProblem
from idetic.spec.render import render
from idetic.spec.retention import (
    MEMORY,
    NEVER_DELETED,
    RETENTION,
    Disposal,
    RetainedEntity,
    RetentionPolicy,
    complete,
    entities,
)
from idetic.store.family import Family

WHY = "The contract with our customers says so."


def with_retention(**overrides: Any) -> MemorySpec:
    data = load("world_agent").as_data()
    data["lifecycle"]["retention"] = overrides
    return load(data)


def problems_of(**overrides: Any) -> tuple[SpecProblem, ...]:
    with pytest.raises(SpecInvalid) as raised:
        with_retention(**overrides)
    return raised.value.problems


def test_no_entity_is_without_a_policy() -> None:
    assert set(RETENTION) == set(RetainedEntity)
    lacking = dict(RETENTION)
    del lacking[RetainedEntity.MARKS]
    with pytest.raises(ValueError, match="No retention policy is given for marks"):
        complete(lacking)


def test_a_policy_names_all_three_answers() -> None:
    with pytest.raises(ValidationError):
        RetentionPolicy(disposal=Disposal.STRIP_PAYLOAD)  # type: ignore[call-arg]


@pytest.mark.parametrize("name", shipped())
def test_every_table_of_a_family_is_an_entity(name: str) -> None:
    spec = load(name)
    family = Family(spec)
    known = {entity.value for entity in entities(spec)}
    canonical = spec.references.canonical
    tables = {family.table_name(e): e for e in known} | {family.table_name("memory"): "memory"}
    tables |= {family.refs_table(c): "references" for c in canonical}
    tables |= {family.contradictions_table(c): "contradictions" for c in canonical}
    tables |= {family.prints_table(c): "prints" for c in canonical}
    tables |= {t: n for t, n in ((family.log_table, "log"), (family.notes_table, "notes")) if t}
    assert [table for table in family.tables() if table not in tables] == []
    assert {tables[table] for table in family.tables()} - {"memory"} == known - set(MEMORY.values())


def test_no_default_deletes_memory_or_what_an_audit_reads() -> None:
    assert set(MEMORY.values()) < NEVER_DELETED
    assert {RetainedEntity.ACTIONS, RetainedEntity.LEDGER, RetainedEntity.LOG} < NEVER_DELETED
    for entity in NEVER_DELETED:
        assert RETENTION[entity].disposal is not Disposal.HARD_DELETE
        assert RETENTION[entity].active_ttl_days is None
    for policy in (RETENTION[entity] for entity in MEMORY.values()):
        assert policy.tombstone_grace_days > 0


def test_an_override_changes_what_it_names_and_nothing_else() -> None:
    spec = with_retention(persistent_semantic={"active_ttl_days": 365, "because": WHY})
    changed = spec.retention_of(RetainedEntity.PERSISTENT_SEMANTIC)
    assert (changed.active_ttl_days, changed.tombstone_grace_days) == (365, 30)
    assert changed.disposal is Disposal.STRIP_PAYLOAD
    for entity in set(RetainedEntity) - {RetainedEntity.PERSISTENT_SEMANTIC}:
        assert spec.retention_of(entity) == load("world_agent").retention_of(entity)
    assert load(spec.as_data()) == spec
    (difference,) = differences(load("world_agent"), spec)
    assert difference.path == "lifecycle.retention.persistent_semantic"


@pytest.mark.parametrize("entity", sorted(NEVER_DELETED - {RetainedEntity.PERSISTENT_EPISODIC}))
def test_memory_actions_and_the_ledger_are_never_deleted(entity: RetainedEntity) -> None:
    (problem,) = problems_of(**{entity: {"disposal": "HARD_DELETE", "because": WHY}})
    assert problem.primitive == "6 Lifecycle / retention"
    assert problem.path == f"lifecycle.retention.{entity}.disposal"
    assert "is never deleted" in problem.message
    assert problem.remedy.startswith(("Write `disposal: STRIP_PAYLOAD`", "Remove it"))


@pytest.mark.parametrize(
    ("overrides", "path", "message", "remedy"),
    [
        pytest.param(
            {"persistent_sematic": {"active_ttl_days": 9, "because": WHY}},
            ".persistent_sematic", "is not a key", "Did you mean `persistent_semantic`?",
            id="unknown entity",
        ),
        pytest.param(
            {"persistent_semantic": {"active_ttl_days": 9}},
            ".persistent_semantic.because", "No answer", "because: ", id="no reason",
        ),
        pytest.param(
            {"persistent_semantic": {"because": WHY}},
            ".persistent_semantic", "Nothing about", "Set one of active_ttl_days", id="no change",
        ),
        pytest.param(
            {"persistent_semantic": {"tombstone_grace_days": 30, "because": WHY}},
            ".persistent_semantic.tombstone_grace_days", "equals the default", "Remove it",
            id="the default",
        ),
        pytest.param(
            {"persistent_semantic": {"active_ttl_days": 0, "because": WHY}},
            ".persistent_semantic.active_ttl_days", "out of range", "at least 1", id="no days",
        ),
        pytest.param(
            {"persistent_semantic": {"tombstone_grace_days": -1, "because": WHY}},
            ".persistent_semantic.tombstone_grace_days", "out of range", "at least 0",
            id="negative grace",
        ),
        pytest.param(
            {"persistent_semantic": {"disposal": "BURN", "because": WHY}},
            ".persistent_semantic.disposal", "not an allowed value", "STRIP_PAYLOAD",
            id="unknown disposal",
        ),
        pytest.param(
            {"persistent_episodic": {"active_ttl_days": 9, "because": WHY}},
            ".persistent_episodic", "holds no episodic memory", "persistent_semantic",
            id="memory it has not",
        ),
        pytest.param(
            {"reads": {"active_ttl_days": 9, "because": WHY}},
            ".reads", "no retention of its own", "set the retention of memory", id="not memory",
        ),
        pytest.param(
            {"embeddings": {"disposal": "STRIP_PAYLOAD", "because": WHY}},
            ".embeddings", "no retention of its own", "Remove it", id="a kept vector",
        ),
    ],
)  # fmt: skip
def test_a_mistake_is_told(overrides: dict[str, Any], path: str, message: str, remedy: str) -> None:
    (problem,) = problems_of(**overrides)
    assert problem.primitive == "6 Lifecycle / retention"
    assert problem.path == f"lifecycle.retention{path}"
    assert message in problem.message
    assert remedy in problem.remedy


def test_a_page_shows_every_policy_and_why_one_differs() -> None:
    plain = render(load("world_agent"))
    for entity in entities(load("world_agent")):
        assert f"| `{entity}` | " in plain
    assert "| `ledger` | - | 0 | `RETAIN_METADATA` | - | - | default |" in plain
    # ADR-058 D12: a validity window for facts, and preferences exempt from decay.
    days = "| - | 30 | `STRIP_PAYLOAD` |"
    assert f"| `persistent_semantic` {days} `validity_window` | 90 | default |" in plain
    assert f"| `persistent_procedural` {days} `exempt` | - | default |" in plain
    assert "Retention defaults, accepted for every entity." in plain
    page = render(with_retention(persistent_semantic={"tombstone_grace_days": 7, "because": WHY}))
    row = "| `persistent_semantic` | - | **7** | `STRIP_PAYLOAD` | `validity_window` | 90 |"
    assert f"{row} **override** |" in page
    assert f"- **Retention** of `persistent_semantic`. Because: {WHY}" in page
    assert "Deviations from the typology defaults: 2" in page, "of promotion, and this one"


def test_a_family_registers_what_it_has() -> None:
    assert RetainedEntity.CONTRADICTIONS in entities(load("world_agent"))
    lacking = set(RetainedEntity) - set(entities(load("operator_agent")))
    of_logs = {RetainedEntity.LOG, RetainedEntity.NOTES}
    proposing = {RetainedEntity.CONTRADICTIONS, RetainedEntity.PROPOSALS}
    assert lacking == {RetainedEntity.CORROBORATIONS, *proposing} | of_logs
    assert of_logs < set(entities(load("persona_agent")))
