"""Whatever is handed over, a spec error is the only error; what is valid survives a round trip."""

from __future__ import annotations

import contextlib
import copy
import json
from typing import Any

import yaml
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from idetic.errors import SpecError
from idetic.model import Origin, Tier
from idetic.spec.differences import differences
from idetic.spec.loader import load, parse, shipped, validate
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.render import render
from idetic.spec.shape import every_path

KEYS = st.sampled_from(sorted({path[-1] for path in every_path(MemorySpec)})) | st.text(max_size=8)
SCALARS = (
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats()
    | st.text(max_size=20)
    | st.sampled_from(["semantic", "episodic", "uuid", "operator", "read", "org_id", "over"])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(KEYS, inner, max_size=5),
    max_leaves=25,
)
SHIPPED = {name: load(name).as_data() for name in shipped()}

lenient = settings(max_examples=60, suppress_health_check=[HealthCheck.too_slow], deadline=None)


def _only_spec_errors(data: Any) -> None:
    with contextlib.suppress(SpecError):
        validate(data)


@lenient
@given(st.dictionaries(KEYS, VALUES, max_size=8))
def test_arbitrary_data_raise_nothing_but_spec_errors(data: dict[str, Any]) -> None:
    _only_spec_errors(data)


@lenient
@given(st.sampled_from(shipped()), st.data())
def test_a_valid_spec_broken_anywhere_raises_nothing_else(name: str, draw: st.DataObject) -> None:
    data = copy.deepcopy(SHIPPED[name])
    here: Any = data
    while isinstance(here, dict | list) and here:
        steps = list(here) if isinstance(here, dict) else list(range(len(here)))
        step = draw.draw(st.sampled_from(steps))
        if not isinstance(here[step], dict | list) or draw.draw(st.booleans()):
            here[step] = draw.draw(VALUES)
            break
        here = here[step]
    _only_spec_errors(data)


@lenient
@given(VALUES)
def test_arbitrary_yaml_raises_nothing_but_spec_errors(data: Any) -> None:
    text = yaml.safe_dump(data, allow_unicode=True)
    with contextlib.suppress(SpecError):
        parse(text)


@lenient
@given(st.text(alphabet=st.sampled_from("ab:-[]{}&*!#|>'\"%@`, \n\t\\0?<"), max_size=40))
def test_arbitrary_text_raises_nothing_but_spec_errors(text: str) -> None:
    with contextlib.suppress(SpecError):
        parse(text)


WEIGHTS = st.floats(min_value=0.01, max_value=100)


@lenient
@given(
    st.sampled_from(shipped()),
    st.dictionaries(st.sampled_from(Origin), st.integers(0, 100)),
    st.dictionaries(st.sampled_from(Tier), WEIGHTS),
    st.text(st.characters(blacklist_categories=["Cs", "Cc"]), min_size=1, max_size=80),
)
def test_what_is_valid_survives_a_round_trip(
    name: str, trust: dict[Origin, int], tiers: dict[Tier, float], title: str
) -> None:
    data = copy.deepcopy(SHIPPED[name])
    data["visibility"]["trust"].update({k.value: v for k, v in trust.items()})
    data["retrieval"]["tiers"].update({k.value: v for k, v in tiers.items()})
    data["title"] = title
    spec = load(data)
    again = load(json.loads(json.dumps(spec.as_data())))
    assert again.digest == spec.digest
    assert parse(yaml.safe_dump(spec.as_data(), allow_unicode=True)).digest == spec.digest
    assert render(again) == render(spec)
    original = load(name)
    assert bool(differences(original, spec)) == (original.digest != spec.digest)
