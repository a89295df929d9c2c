"""Dates in a question become windows of time; what is no date becomes none."""

from __future__ import annotations

from datetime import UTC, datetime

import pytest

from idetic.dates import RELATIVE, date_windows

# A Friday.
NOW = datetime(2023, 10, 13, 15, 30, tzinfo=UTC)


@pytest.mark.parametrize(
    ("question", "since", "until", "sure"),
    [
        ("What happened on 2023-05-07?", "2023-05-07", "2023-05-08", 1.0),
        ("What did she paint on October 3, 2022?", "2022-10-03", "2022-10-04", 1.0),
        ("Who called on May 3rd?", "2023-05-03", "2023-05-04", 1.0),
        ("Who called on the 3rd of December?", "2022-12-03", "2022-12-04", 1.0),
        ("What did we buy in May 2021?", "2021-05-01", "2021-06-01", 1.0),
        ("What have we bought since May?", "2023-05-01", "2023-10-13", 1.0),
        ("What have we bought since May 2021?", "2021-05-01", "2023-10-13", 1.0),
        ("What has he done since 2019?", "2019-01-01", "2023-10-13", 1.0),
        ("Who called since May 3rd?", "2023-05-03", "2023-05-04", 1.0),
        ("What did we buy in December?", "2022-12-01", "2023-01-01", 1.0),
        ("Where was he in 2019?", "2019-01-01", "2020-01-01", 1.0),
        ("What did they do in the summer of 2022?", "2022-06-01", "2022-09-01", 1.0),
        ("What did I eat yesterday?", "2023-10-12", "2023-10-13", RELATIVE),
        ("Whom did I meet last week?", "2023-10-02", "2023-10-09", RELATIVE),
        ("Which trip was it last month?", "2023-09-01", "2023-10-01", RELATIVE),
        ("What did I plant last year?", "2022-01-01", "2023-01-01", RELATIVE),
        ("What broke three days ago?", "2023-10-10", "2023-10-11", RELATIVE),
        ("When did I reach the clinic on Monday?", "2023-10-09", "2023-10-10", RELATIVE),
        ("What did I eat the day before yesterday?", "2023-10-11", "2023-10-12", RELATIVE),
        ("What did we watch last night?", "2023-10-12", "2023-10-13", RELATIVE),
        ("What did I buy half a year ago?", "2023-03-14", "2023-05-13", RELATIVE),
        ("Where did we go last summer?", "2023-06-01", "2023-09-01", RELATIVE),
        ("Where did we go last fall?", "2022-09-01", "2022-12-02", RELATIVE),
    ],
)
def test_a_date_is_a_window(question: str, since: str, until: str, sure: float) -> None:
    (window,) = date_windows(question, NOW)
    assert (f"{window.since:%Y-%m-%d}", f"{window.until:%Y-%m-%d}") == (since, until)
    assert window.sure == sure
    assert window.words in question.lower()


@pytest.mark.parametrize(
    "question",
    [
        "May I march in the second row?",
        "What does she do on Mondays?",
        "How many rooms has number 2023?",
        "Who called on February 30?",
        "What is the best pizza recipe?",
        "",
    ],
)
def test_what_is_no_date_is_no_window(question: str) -> None:
    assert date_windows(question, NOW) == ()


def test_the_longest_wording_is_read_once() -> None:
    windows = date_windows("What did she do on May 7, 2023 and two weeks ago?", NOW)
    assert [window.words for window in windows] == ["may 7, 2023", "two weeks ago"]


def test_a_month_without_a_year_has_begun() -> None:
    (window,) = date_windows("What did we do in October?", NOW)
    assert window.since == datetime(2023, 10, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("said", "now", "since", "until"),
    [
        ("last month", "2026-01-03", "2025-12-01", "2026-01-01"),
        ("last week", "2026-01-03", "2025-12-22", "2025-12-29"),
        ("in December", "2026-01-03", "2025-12-01", "2026-01-01"),
        # One that still goes on is not the last one.
        ("last winter", "2026-01-03", "2024-12-01", "2025-03-03"),
        ("last winter", "2026-05-03", "2025-12-01", "2026-03-03"),
        ("last month", "2024-03-31", "2024-02-01", "2024-03-01"),
        ("yesterday", "2024-03-01", "2024-02-29", "2024-03-01"),
        ("on 29 February", "2024-03-01", "2024-02-29", "2024-03-01"),
        ("Feb 29, 2023", "2024-03-01", None, None),
        ("next Friday", "2026-01-03", None, None),
    ],
)
def test_a_window_at_the_edge_of_a_year_and_in_leap_years(
    said: str, now: str, since: str | None, until: str | None
) -> None:
    found = date_windows(said, datetime.fromisoformat(f"{now}T12:00+00:00"))
    spans = [(f"{w.since:%Y-%m-%d}", f"{w.until:%Y-%m-%d}") for w in found]
    assert spans == ([] if since is None else [(since, until)])
