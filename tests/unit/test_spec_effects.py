"""No answer of a spec is decoration: each leaf, changed, makes a difference that a probe finds.

The table is `tests/data/spec_effects.yaml`. A leaf without a row fails, and so does a row without
an effect. The controls: a probe that is given the same answers again finds no difference, and where
the engine's part is switched off the row is red.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cache
from itertools import product
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Literal, get_args, get_origin

import pytest
import yaml

from idetic.gates.gate import Pipeline
from idetic.spec.loader import load, parse, shipped, shipped_text, validate
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.primitives import Boundary, GateKind
from idetic.spec.problems import PRIMITIVES, SpecInvalid
from idetic.spec.shape import every_path
from idetic.spec.typology import DEFAULTS, Cell, DecayModel, DecayPolicy
from tests.support.spec_probes import PROBES

ROOT = Path(__file__).parents[2]
TABLE = ROOT / "tests" / "data" / "spec_effects.yaml"


@dataclass(frozen=True)
class Row:
    """A leaf, a change of it in one spec, and what finds the difference."""

    leaf: str
    spec: str
    change: Mapping[str, Any]
    effect: str
    probe: str
    given: Mapping[str, Any] = field(default_factory=dict)


ROWS = [Row(*row) for row in yaml.safe_load(TABLE.read_text("utf-8"))["rows"]]


@cache
def text_of(name: str) -> str:
    example = ROOT / "examples" / f"{name}.yaml"
    return shipped_text(name) if name in shipped() else example.read_text("utf-8")


def data_of(row: Row, *changes: Mapping[str, Any]) -> dict[str, Any]:
    """The answers of a row's spec with some changes; None takes an answer out."""
    data: dict[str, Any] = parse(text_of(row.spec)).as_data()
    for path, value in ((p, v) for change in changes for p, v in change.items()):
        *steps, last = (int(step) if step.isdigit() else step for step in path.split("."))
        here: Any = data
        for step in steps:
            here = here[step]
        if value is None:
            here.pop(last)
        else:
            here[last] = copy.deepcopy(value)
    return data


def leaves() -> set[str]:
    """Every leaf of the model; of a deviation, every key that some policy has."""
    paths = list(every_path(MemorySpec))
    inner = {path[:end] for path in paths for end in range(1, len(path))}
    found = {".".join(path) for path in paths if path not in inner}
    for section, table in DEFAULTS.items():
        found.discard(f"{section}.deviations.set")
        found |= {f"{section}.set.{key}" for key in type(next(iter(table.values()))).model_fields}
    return found


def test_every_leaf_has_its_row_and_no_row_is_about_nothing() -> None:
    told = [row.leaf for row in ROWS]
    assert sorted(leaves() - set(told)) == []
    assert sorted(set(told) - leaves()) == []
    assert sorted({leaf for leaf in told if told.count(leaf) > 1}) == []
    assert {row.probe for row in ROWS} - {"refused", "reason"} <= set(PROBES)


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.leaf)
def test_a_changed_answer_acts(row: Row) -> None:
    changed = data_of(row, row.given, row.change)
    if row.probe in ("refused", "reason"):
        with pytest.raises(SpecInvalid) as raised:
            validate(changed)
        section = row.leaf.partition(".")[0]
        assert any(problem.path.startswith(section) for problem in raised.value.problems)
        return
    find = PROBES[row.probe]
    before, after = validate(data_of(row, row.given)), validate(changed)
    assert find(after) != find(before), f"{row.leaf}: {row.effect}"


def choices() -> list[tuple[str, Cell, str, tuple[Any, ...]]]:
    """Every key of a policy that takes one or some of a closed set: section, cell, key, values."""
    found = []
    for section, table in DEFAULTS.items():
        for key, answer in type(next(iter(table.values()))).model_fields.items():
            kind = answer.annotation
            many = get_origin(kind) is tuple
            one: Any = get_args(kind)[0] if many else kind
            closed = isinstance(one, type) and issubclass(one, StrEnum)
            values = [str(value) for value in (one if closed else ())]
            if get_origin(one) is Literal:
                values = [str(value) for value in get_args(one)]
            told = tuple([value] if many else value for value in values)
            found += [(section, cell, key, told) for cell in table if told]
    return found


@pytest.mark.parametrize("choice", choices(), ids=lambda one: f"{one[0]}.{one[2]} {one[1]}")
def test_no_two_values_of_a_choice_do_the_same(
    choice: tuple[str, Cell, str, tuple[Any, ...]],
) -> None:
    """What a deviation may choose is told apart by what it does; the rest is refused."""
    section, cell, key, values = choice
    base = load("world_agent").as_data()
    others = [one for one in base[section]["deviations"] if one["cell"] != cell]
    seen: dict[str, Any] = {}
    for value in values:
        why = "It is tried what this does here."
        own = {"cell": cell.value, "set": {key: value}, "justification": why}
        try:
            spec = validate(base | {section: {"deviations": [*others, own]}})
        except SpecInvalid:
            continue
        told = repr([find(spec) for find in PROBES.values()])
        assert told not in seen, f"{value} does what {seen[told]} does"
        seen[told] = value


@pytest.mark.parametrize(
    ("first", "second"),
    [
        ({"share": 0.5}, {"every": 2}),
        ({"share": 0.5}, {"share": 0.25}),
        ({"every": 2}, {"every": 3}),
        ({"every": 2}, {"every": 2, "where": {"activity": "heartbeat"}}),
    ],
)
def test_each_part_of_a_sampling_rule_acts(first: Mapping[str, Any], second: Any) -> None:
    def kept(rule: Mapping[str, Any]) -> Any:
        why = "Half of them say enough here."
        own = {"cell": "episodic_transient", "set": {"sampling": [rule]}, "justification": why}
        data = load("world_agent").as_data()
        return PROBES["sampling"](validate(data | {"writes": {"deviations": [own]}}))

    assert kept(first) != kept(second)


def test_a_gate_does_something_wherever_it_may_stand() -> None:
    """Each transformation at each boundary is refused there, or changes what crosses."""
    base = load("world_agent").as_data()
    for boundary, kind in product(Boundary, GateKind):
        own = {gate["boundary"]: gate for gate in base["gates"]}
        applied = {name: [*gate["apply"]] for name, gate in own.items()}
        without = [one for one in applied.get(boundary, []) if one != kind]
        found = []
        for apply in (without, [*without, kind.value]):
            gate = {"boundary": boundary.value, "apply": apply, "because": "It is tried here."}
            gates = [*(one for name, one in own.items() if name != boundary)]
            try:
                found.append(validate(base | {"gates": [*gates, gate] if apply else gates}))
            except SpecInvalid:
                break
        if len(found) == 2:
            before, after = (PROBES["gates"](spec) for spec in found)
            assert before != after, f"{kind} at {boundary}"


_NO_PROMPT = SimpleNamespace(text="", evicted=())
_NO_ITEM = SimpleNamespace(origin="", trust=0, form=None)
_NO_REFUSAL = SimpleNamespace(function=lambda *_: SimpleNamespace(send=lambda _: None))
_NO_DECAY = DecayPolicy(model=DecayModel.EXEMPT)
# For each primitive one leaf, and what of the engine makes it act: without that, its row is red.
SWITCHES: list[tuple[str, str, str, Any]] = [
    ("anchor", "anchor.keys.nullable_for_queries", "bind", lambda *_: None),
    ("typology", "typology.session", "write_cell", lambda *_: None),
    ("tiers", "tiers.session.lease_minutes", "lease_starts", lambda *_: None),
    ("backend", "backend.body_text_max", "compile_spec", lambda *_: []),
    ("retrieval", "retrieval.floors.question", "above_floors", lambda _: (None, "")),
    ("lifecycle", "lifecycle.set.failed_corroborations", "PromotionPass.fail", lambda *_: None),
    ("decay", "decay.set.validity_days", "MemorySpec.decay_of", lambda *_: _NO_DECAY),
    ("writes", "writes.set.sampling", "sampled", lambda _, items: items),
    ("promotion", "promotion.set.min_anchors", "recurs", lambda *_: True),
    ("conflict", "conflict.set.rule", "PromotionPass.weigh", lambda *_, **__: None),
    ("consolidation", "consolidation.set.method", "compound", lambda *_: ([], {})),
    ("injection", "injection.session.budget", "assemble", lambda *_, **__: _NO_PROMPT),
    ("references", "references.documents", "ItemMaker.make", lambda *_: _NO_ITEM),
    ("gates", "gates.apply", "Gates.at", lambda self, *_: Pipeline((), ())),
    ("visibility", "visibility.principals", "allows", lambda *_: True),
    ("leak_defence", "leak_defence.together_hours", "compile_spec", lambda *_: []),
    ("audit", "audit.action_kinds", "link_action", _NO_REFUSAL),
]


def test_every_primitive_has_its_switch() -> None:
    assert {section for section, *_ in SWITCHES} == set(PRIMITIVES)


@pytest.mark.parametrize("switch", SWITCHES, ids=lambda one: one[1])
def test_control_a_leaf_whose_effect_is_switched_off_is_found(
    switch: tuple[str, str, str, Any], monkeypatch: pytest.MonkeyPatch
) -> None:
    _, leaf, part, instead = switch
    (row,) = [one for one in ROWS if one.leaf == leaf]
    test_a_changed_answer_acts(row)
    monkeypatch.setattr(f"tests.support.spec_probes.{part}", instead)
    with pytest.raises(AssertionError, match="assert"):
        test_a_changed_answer_acts(row)


@pytest.mark.parametrize("section", [*PRIMITIVES, "agent"])
def test_control_the_same_answers_make_no_difference(section: str) -> None:
    own = [row for row in ROWS if row.leaf.partition(".")[0] == section]
    assert own, section
    for row in own:
        find = PROBES.get(row.probe, PROBES["schema"])
        first, again = (validate(data_of(row, row.given)) for _ in range(2))
        assert find(first) == find(again), row.leaf


@pytest.mark.parametrize("name", ["schema", "access", "promotion", "prompt", "gates"])
def test_control_a_reason_in_other_words_is_no_effect(name: str) -> None:
    """A probe that sees a sentence of the author's would see a difference in everything."""
    row = Row("purpose", "world_agent", {"purpose": "It does what nobody wrote down."}, "", name)
    assert PROBES[name](validate(data_of(row, row.change))) == PROBES[name](validate(data_of(row)))
