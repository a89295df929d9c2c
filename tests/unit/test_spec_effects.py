"""No answer of a spec is decoration: each leaf, changed, makes a difference that a probe finds.

The table is `tests/data/spec_effects.yaml`. A leaf without a row fails, and so does a row without
an effect. The control: a probe that is given the same answers again finds no difference.
"""

from __future__ import annotations

import copy
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any

import pytest
import yaml

from idetic.spec.loader import parse, shipped, shipped_text, validate
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.problems import PRIMITIVES, SpecInvalid
from idetic.spec.shape import every_path
from idetic.spec.typology import DEFAULTS
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
