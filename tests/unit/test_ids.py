"""Ids are UUIDv7: unique, in order, and telling of nothing but their time."""

from __future__ import annotations

import time
from concurrent.futures import ThreadPoolExecutor
from uuid import RFC_4122, UUID

import pytest

from idetic.ids import uuid7


def test_an_id_is_a_version_7_uuid() -> None:
    made = uuid7()
    assert isinstance(made, UUID)
    assert (made.version, made.variant) == (7, RFC_4122)


def test_an_id_carries_the_time_it_was_made() -> None:
    before = time.time_ns() // 1_000_000
    made = [uuid7() for _ in range(100)]
    after = time.time_ns() // 1_000_000
    assert all(before <= one.int >> 80 <= after + 1 for one in made)


def test_ids_sort_in_the_order_they_were_made_as_text_and_as_bytes() -> None:
    made = [uuid7() for _ in range(20_000)]
    assert made == sorted(made)
    assert [str(one) for one in made] == sorted(str(one) for one in made)
    assert [one.bytes for one in made] == sorted(one.bytes for one in made)
    assert len(set(made)) == len(made)


def test_ids_are_in_order_also_when_the_clock_goes_backwards(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    now = time.time_ns()
    ticking = iter([now, now, now - 3_600_000_000_000, now - 1, now + 1_000_000, now])
    monkeypatch.setattr("idetic.ids.time.time_ns", lambda: next(ticking))
    made = [uuid7() for _ in range(6)]
    assert made == sorted(set(made))


def test_ids_of_many_threads_are_all_different() -> None:
    with ThreadPoolExecutor(8) as threads:
        made = list(threads.map(lambda _: [uuid7() for _ in range(2_000)], range(8)))
    each = [one for several in made for one in several]
    assert len(set(each)) == 16_000
    assert all(several == sorted(several) for several in made)


def test_the_rest_of_an_id_is_not_guessable() -> None:
    """62 random bits: no two alike, and every bit takes both values."""
    tails = [uuid7().int & (2**62 - 1) for _ in range(2_000)]
    assert len(set(tails)) == len(tails)
    seen_one, seen_zero = 0, 0
    for tail in tails:
        seen_one |= tail
        seen_zero |= ~tail & (2**62 - 1)
    assert seen_one == seen_zero == 2**62 - 1
