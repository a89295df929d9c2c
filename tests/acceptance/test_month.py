"""A month of a World Agent's life ends in exactly this memory.

The script is `world/stories/month.yaml`: thirty sessions in thirty days, people and rules in
between, a review on day 31 and another one eleven weeks later. The demo plays the same script.
The spec is the shipped one, without a deviation.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import anyio
import psycopg
import pytest

from idetic import Idetic
from idetic.world.events import ScriptedSession
from idetic.world.player import MONTH_BEGINS, perform
from idetic.world.story import Scene, Sections, read_story
from tests.conftest import TestDatabase
from tests.support.chain import read_chain
from tests.support.databases import copy_of
from tests.support.docs import DOCS
from tests.support.following import follow
from tests.support.servers import TestServer
from tests.surfaces.cli_runner import called

ONE_ONCE = "1 independent source, 3 needed; 1 session agrees, 2 needed"

# Sources: s05/2 is the second thread of the fifth session; ticket-81 an operator's confirmation;
# "operator" a word in a review. In brackets: kept, and never counted.
MONTH = {
    # What was promoted, when, on whose word; `meta` holds under two versions of the world model.
    "facts": [
        ("friday-order", "day 2", "s01/1 s02/1 s02/2 s28/1", "meta"),
        ("prepaid-lag", "day 31", "s01/2 s01/3 operator", ""),
        ("local-time", "day 4", "s02/2 s03/2 s04/1 s16/1", "meta"),
        ("retries-3", "day 6", "s04/2 s05/1 s06/1 s13/1", ""),
        ("holiday-pile", "day 26", "s10/1 s10/2 s26/1", ""),
        ("payroll-25", "day 11", "s10/1 ticket-81 s11/1", ""),
        ("alerts-40", "day 15", "s13/2 s14/2 s15/2", ""),
        ("cutoff-15", "day 17", "s14/1 s14/2 s17/1", ""),
    ],
    # Procedural memory: one pattern seen in eight threads, one preference as stated.
    "habits": [
        ("screenshots", "day 27", "s04/2 s06/2 s07/2 s09/2 s13/2 s17/2 s23/1 s27/1"),
        ("report-full", "day 12", "stated by the operator"),
    ],
    # What became a candidate, since when, who says so, and what it lacks.
    "candidates": [
        ("two-surnames", "day 1", "s01/3", ONE_ONCE),
        ("repair-gap", "day 2", "s02/1", ONE_ONCE),
        (
            *("retries-5", "day 12", "s12/1 s12/2 s15/1"),
            "its trust is 40, and it would replace a statement of 60",
        ),
        ("call-lifts-hold", "day 16", "s16/2", ONE_ONCE),
        ("dormant-abroad", "day 18", "s18/1 (inference-1) (inference-2)", ONE_ONCE),
        ("mules-noon", "day 19", "s19/1", ONE_ONCE),
        (
            *("plain-words", "day 25", "s25/1 s26/2 s29/1"),
            "seen 3 times for and 0 against: confidence 0.80, 0.90 needed",
        ),
        ("weekend-dip", "day 28", "s28/1", ONE_ONCE),
    ],
    # What another value took the place of, and how long it stood.
    "replaced": [
        ("cutoff-16", "invalidated", "cutoff-15", "day 3 to 17"),
        ("report-brief", "superseded", "report-full", "day 2 to 12"),
    ],
    "archived": [
        ("fee-deducted", "day 31", "an old contract"),
        ("mules-night", "day 22", "3 sources in a row said otherwise"),
        ("rescreening", "day 20", "it restates a rule"),
        ("splitting", "day 16", "the new limit leaves nothing to split"),
        ("alerts-60", "day 23", "seen in the test environment only"),
    ],
    # What is in the disposition queue when the review of day 31 is over.
    "due": [("two-surnames", "candidate without support", "day 31")],
    "contradictions": [
        ("hold-slipped", "dismissed", "the bank left the list"),
        ("payroll-25", "promoted to revision signal", "the window begins too late"),
    ],
    # Transient notes that outlived their scope, and those that left nothing behind.
    "kept": [
        ("by-hand", "interaction", "an action rests on it"),
        ("hold-slipped", "session", "it contradicts a rule"),
    ],
    "dropped": [
        ("oldest-first", "9", "no claim, no rule, one thread"),
        ("sampling-done", "7", "no claim, no rule, one thread"),
        ("slow-dashboard", "6", "no claim, no rule, one thread"),
    ],
    "written": [("88", "64", "22")],
}

# Eleven weeks without a session later, and after a second review; the rest is as it was.
AFTER = {
    "facts": [
        ("friday-order", "day 2", "s01/1 s02/1 s02/2 s28/1", "meta"),
        ("prepaid-lag", "day 31", "s01/2 s01/3 operator", ""),
        ("local-time", "day 4", "s02/2 s03/2 s04/1 s16/1", "meta exempt"),
        ("retries-3", "day 6", "s04/2 s05/1 s06/1 s13/1 operator", ""),
        ("holiday-pile", "day 26", "s10/1 s10/2 s26/1", ""),
        ("payroll-25", "day 11", "s10/1 ticket-81 s11/1", ""),
        ("alerts-40", "day 15", "s13/2 s14/2 s15/2", ""),
        ("cutoff-15", "day 17", "s14/1 s14/2 s17/1 operator", ""),
        ("dormant-abroad", "day 110", "s18/1 (inference-1) (inference-2) operator", ""),
    ],
    "candidates": [
        ("repair-gap", "day 2", "s02/1", ONE_ONCE),
        ("call-lifts-hold", "day 16", "s16/2", ONE_ONCE),
        (
            *("plain-words", "day 25", "s25/1 s26/2 s29/1"),
            "seen 3 times for and 0 against: confidence 0.80, 0.90 needed",
        ),
    ],
    "archived": [
        ("fee-deducted", "day 31", "an old contract"),
        ("two-surnames", "day 110", "nobody saw it again"),
        ("mules-night", "day 22", "3 sources in a row said otherwise"),
        ("rescreening", "day 20", "it restates a rule"),
        ("splitting", "day 16", "the new limit leaves nothing to split"),
        ("retries-5", "day 110", "nobody saw it again"),
        ("mules-noon", "day 110", "nobody saw it again"),
        ("alerts-60", "day 23", "seen in the test environment only"),
        ("weekend-dip", "day 110", "nobody saw it again"),
    ],
    # Facts last confirmed on days 11 and 15 have lapsed after 90 days; candidates wait for 30.
    "due": [
        ("repair-gap", "candidate without support", "day 32"),
        ("call-lifts-hold", "candidate without support", "day 46"),
        ("plain-words", "candidate without support", "day 55"),
        ("payroll-25", "validity lapsed", "day 101"),
        ("alerts-40", "validity lapsed", "day 105"),
    ],
}

# Every automatic decision that moved something, and every one that was taken back.
TURNS = [
    (2, "promoted", "friday-order"),
    (3, "promoted", "cutoff-16"),
    (4, "promoted", "local-time"),
    (6, "promoted", "retries-3"),
    (7, "promoted", "mules-night"),
    (9, "promoted", "rescreening"),
    (9, "promoted", "splitting"),
    (11, "promoted", "payroll-25"),  # by the sweeper, closing for a process that died
    (12, "superseded", "report-brief"),
    (15, "promoted", "alerts-40"),
    (16, "archived", "splitting"),
    (16, "meta_promoted", "local-time"),
    (17, "promoted", "cutoff-15"),
    (17, "invalidated", "cutoff-16"),
    (20, "archived", "rescreening"),
    (21, "promoted", "alerts-60"),
    (21, "invalidated", "alerts-40"),
    (22, "archived", "mules-night"),
    (23, "undone", "alerts-40"),
    (23, "undone", "alerts-60"),
    (23, "archived", "alerts-60"),
    (26, "promoted", "holiday-pile"),
    (27, "promoted", "screenshots"),
    (28, "meta_promoted", "friday-order"),
]


@dataclass(frozen=True)
class Month:
    """One playing of the script."""

    database: TestDatabase
    told: list[Scene]
    found: dict[str, Sections]

    def rows(self, look: str, section: str) -> list[tuple[str, ...]]:
        rows = self.found[look][section]
        return [tuple(v for key, v in row.items() if key != "says") for row in rows]

    def lines(self, *kinds: str) -> list[tuple[int, str, str]]:
        return [(t.day, line.did, line.what) for t in self.told for line in t.lines
                if line.did in kinds]  # fmt: skip


@pytest.fixture(scope="module")
def month(server: TestServer, template: str) -> Iterator[Month]:
    told: list[Scene] = []

    async def run(database: TestDatabase) -> dict[str, Sections]:
        async with Idetic.open(database.dsn, admin_dsn=database.admin_dsn) as db:
            return (await perform(db, "month", told.append, begins=MONTH_BEGINS)).looks

    with copy_of(server, template) as database:
        found = anyio.run(run, database)
        yield Month(database, [scene for scene in told if scene.kind != "look"], found)


@pytest.mark.parametrize("section", MONTH)
def test_the_memory_after_the_month(month: Month, section: str) -> None:
    assert month.rows("month", section) == MONTH[section]
    assert set(month.found["month"]) == set(MONTH), "nothing else is there"


@pytest.mark.parametrize("section", MONTH)
def test_the_memory_eleven_weeks_later(month: Month, section: str) -> None:
    assert month.rows("after", section) == AFTER.get(section, MONTH[section])


def test_what_was_decided_day_by_day(month: Month) -> None:
    kinds = {kind for _, kind, _ in TURNS}
    assert month.lines(*kinds) == TURNS


def test_what_failed_and_what_was_replayed(month: Month) -> None:
    assert month.lines("corroboration_failed", "confirmed", "replayed") == [
        (13, "confirmed", "retries-3"),  # what the tool said on day 12 spoke too weakly to count
        (14, "corroboration_failed", "cutoff-16"),
        (14, "corroboration_failed", "cutoff-16"),
        (19, "corroboration_failed", "mules-night"),
        (20, "corroboration_failed", "alerts-40"),
        (20, "corroboration_failed", "alerts-40"),
        (21, "corroboration_failed", "mules-night"),
        (21, "replayed", "mules-night"),  # the same audit again: neither counts nor forgives
        (22, "corroboration_failed", "mules-night"),
    ]


def test_what_is_remembered_is_what_was_said_but_for_personal_data(month: Month) -> None:
    sections = [month.found["month"][name] for name in ("facts", "habits", "candidates")]
    said = {row["what"]: row["says"] for rows in sections for row in rows}
    stripped = said.pop("call-lifts-hold")
    assert stripped == "Three holds were lifted after a call to [email removed]; nobody noted why."
    assert said == {what: read_story("month").sayings[what].says for what in said}


def test_every_chain_verifies(month: Month) -> None:
    with psycopg.connect(month.database.admin_dsn) as connection:
        anchors = connection.execute(
            "SELECT org_id, domain_id, position FROM worlds.world_agent_memory_anchors"
        ).fetchall()
        assert anchors
        for org_id, domain_id, position in anchors:
            anchor = {"org_id": org_id, "domain_id": domain_id}
            chain = read_chain(connection, "worlds", "world_agent", anchor)
            assert (len(chain.rows), chain.faults()) == (position, [])


def test_the_script_is_a_month_of_thirty_sessions_over_ten_rules() -> None:
    story = read_story("month")
    sessions = [event for event in story.events if event.kind == "session"]
    assert [session.day for session in sessions] == list(range(1, 31))
    assert len(story.rules) == 10
    told = [ScriptedSession(**session.said) for session in sessions]
    said = {label.removesuffix("~") for session in told for label in session.labels}
    stated = {event.said["what"] for event in story.events if event.kind == "prefer"}
    assert said | stated == set(story.sayings), "nothing is written that nobody says"


def test_the_demo_tells_the_same_month_each_time(month: Month) -> None:
    ran = called("demo", "month", "--dsn", month.database.dsn, "--json")
    assert (ran.code, ran.err) == (0, "")
    data = ran.json()
    assert {name: data[name] for name in ("month", "after")} == month.found
    lines = [(day["day"], day["title"], [tuple(line.values()) for line in day["lines"]])
             for day in data["days"]]  # fmt: skip
    assert lines == [(t.day, t.title, [(line.what, line.did, line.why) for line in t.lines])
                     for t in month.told]  # fmt: skip


def test_the_page_about_it_shows_what_it_prints(
    month: Month, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IDETIC_DSN", month.database.dsn)
    assert follow(DOCS / "tutorial" / "a-month.md") == 1
