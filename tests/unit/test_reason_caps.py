"""What a run may take is kept before each call, and what it took is added up exactly."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import idetic
from idetic.errors import InputError
from idetic.reason import Caps, Meter, Prices, ReasonerCapped, Usage
from idetic.reason.caps import estimate
from idetic.recall.tokens import ConservativeCounter

PRICES = Prices(Decimal("0.15"), Decimal("0.60"))


def exactly(text: str) -> int:
    """A counter under which a prompt of n characters is n tokens."""
    return len(text)


def test_prices_are_per_million_and_exact() -> None:
    assert PRICES.of(1_000_000, 1_000_000) == Decimal("0.75")
    assert PRICES.of(1, 0) == Decimal("0.00000015")
    assert PRICES.of(3, 7) * 1_000_000 == Decimal("4.65")


costs = st.none() | st.decimals(0, 1000, places=8)
usages = st.builds(
    Usage, *[st.integers(0, 10**9)] * 2, costs, st.integers(0, 10**6), *[st.integers(0, 99)] * 2
)


@given(usages, usages, usages)
def test_usages_add_up_in_any_order(a: Usage, b: Usage, c: Usage) -> None:
    assert a + b == b + a
    assert (a + b) + c == a + (b + c)
    assert a + Usage() == a
    assert sum([a, b], Usage()).tokens == a.tokens + b.tokens


def test_an_unknown_cost_is_never_taken_for_nothing() -> None:
    assert (Usage(cost=Decimal(1)) + Usage(cost=None)).cost is None
    assert Meter().used.cost is None
    assert Meter(prices=PRICES).used.cost == 0


def test_a_call_is_counted_as_the_server_says() -> None:
    meter = Meter(prices=PRICES)
    with meter.call("hello", 100) as call:
        call.counted(1_000, 200)
    used = meter.used
    assert (used.prompt_tokens, used.completion_tokens, used.calls) == (1_000, 200, 1)
    assert (used.cost, used.estimated) == (Decimal("0.00027"), 0)
    assert used.seconds >= 0


def test_a_call_that_nobody_counted_counts_in_full_even_when_it_fails() -> None:
    meter = Meter(prices=PRICES, count=exactly)
    with pytest.raises(KeyError), meter.call("x" * 10, 100):
        raise KeyError
    assert (meter.used.tokens, meter.used.calls, meter.used.estimated) == (110, 1, 1)


def test_a_call_that_was_turned_away_is_free_but_a_call() -> None:
    meter = Meter(prices=PRICES, count=exactly)
    with meter.call("x" * 10, 100) as call:
        call.free()
    assert (meter.used.tokens, meter.used.cost, meter.used.calls) == (0, Decimal(0), 1)


# Each cap, a call that just fits, and what is left of the cap after it.
EDGES: list[tuple[dict[str, Any], int]] = [
    ({"tokens_per_call": 110}, 10),
    ({"tokens_per_run": 110}, 10),
    ({"money_per_run": PRICES.of(10, 100)}, 10),
]


@pytest.mark.parametrize(("caps", "fits"), EDGES, ids=str)
def test_a_cap_may_be_reached_but_not_passed(caps: dict[str, Any], fits: int) -> None:
    with Meter(Caps(**caps), PRICES, exactly).call("x" * fits, 100):
        pass
    meter = Meter(Caps(**caps), PRICES, exactly)
    with pytest.raises(ReasonerCapped) as caught, meter.call("x" * (fits + 1), 100):
        pytest.fail("the call was made")
    (cap,) = caps
    assert caught.value.detail["cap"] == cap
    assert meter.used.calls == 0


def test_what_calls_under_way_may_take_is_held_back() -> None:
    meter = Meter(Caps(tokens_per_run=200), count=exactly)
    with meter.call("x", 100):
        with pytest.raises(ReasonerCapped, match="tokens_per_run"), meter.call("x", 100):
            pytest.fail("the call was made")
        with meter.call("x", 98) as small:
            small.counted(1, 1)
    assert meter.used.tokens == 103


def test_a_refusal_says_which_cap_how_far_and_what_to_raise() -> None:
    meter = Meter(Caps(tokens_per_run=1_500), count=exactly)
    with meter.call("x" * 100, 900):
        pass
    with pytest.raises(ReasonerCapped) as caught, meter.call("x" * 100, 900):
        pytest.fail("the call was made")
    assert caught.value.message == (
        "The call was not made: it could take 1,000 tokens, and `tokens_per_run` is 1,500, "
        "of which 1,000 are used."
    )
    assert caught.value.remedy.startswith("Raise `tokens_per_run` in `Caps` by 500 or more")
    assert caught.value.detail == {
        "cap": "tokens_per_run",
        "limit": 1_500,
        "used": 1_000,
        "needed": 1_000,
    }


def test_a_server_that_counts_more_than_estimated_stops_the_run() -> None:
    meter = Meter(Caps(tokens_per_run=1_000), count=exactly)
    with meter.call("x", 100) as call:
        call.counted(5_000, 100)
    with pytest.raises(ReasonerCapped), meter.call("x", 1):
        pytest.fail("the call was made")


WRONG: list[dict[str, Any]] = [
    {"tokens_per_call": -1},
    {"tokens_per_run": 1.5},
    {"calls_per_run": True},
    {"seconds_per_call": 0},
    {"seconds_per_call": float("nan")},
    {"money_per_run": 0.5},
    {"money_per_run": Decimal(-1)},
    {"money_per_run": Decimal("NaN")},
]


@pytest.mark.parametrize("wrong", WRONG, ids=str)
def test_a_wrong_cap_is_refused_when_it_is_made(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError):
        Caps(**wrong)


def test_a_cap_on_money_needs_prices() -> None:
    with pytest.raises(InputError, match="prices"):
        Meter(Caps(money_per_run=Decimal(1)))
    with pytest.raises(InputError, match="Decimal"):
        Prices(0.15, Decimal(1))  # type: ignore[arg-type]


# --- the estimate -------------------------------------------------------------------------------

SOURCES = sorted(Path(idetic.__file__).parent.rglob("*.py"))


def test_the_estimate_is_no_lower_than_the_counter_that_was_measured() -> None:
    """On prose and code, which is what entries and instructions are made of."""
    measured = ConservativeCounter()
    texts = [text for path in SOURCES if (text := path.read_text("utf-8"))]
    low = [estimate(text) / measured.count(text) for text in texts]
    assert min(low) > 0.9
    assert sum(low) / len(low) > 1.1


@given(st.text(), st.text())
def test_more_text_never_costs_less(text: str, more: str) -> None:
    assert 0 <= estimate(text) <= estimate(text + more)
    assert estimate(text) <= len(text.encode("utf-8", "surrogatepass")) + 2
