"""`idetic spec …` against files and a real database."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import pytest

from idetic.spec.loader import load, shipped, shipped_text
from idetic.spec.render import render
from tests.conftest import TestDatabase
from tests.surfaces.cli_runner import Terminal, administered, called, process

LINE = 1 + shipped_text("world_agent")[: shipped_text("world_agent").index("type: uuid}")].count(
    "\n"
)


@pytest.fixture
def retitled(tmp_path: Path) -> str:
    """The World Agent's spec with another title: a change that loses nothing."""
    path = tmp_path / "retitled.yaml"
    path.write_text(shipped_text("world_agent").replace("title: World", "title: Payments"), "utf-8")
    return str(path)


@pytest.fixture
def restructured(tmp_path: Path) -> str:
    """The World Agent's spec with a key of another type: a change that would lose data."""
    path = tmp_path / "restructured.yaml"
    text = shipped_text("world_agent").replace("domain_id, type: uuid", "domain_id, type: text")
    path.write_text(text, "utf-8")
    return str(path)


@pytest.fixture
def broken(tmp_path: Path) -> str:
    path = tmp_path / "broken.yaml"
    text = shipped_text("world_agent").replace("type: uuid}", r'type: "\e[2J[red]uid"}', 1)
    path.write_text(text, "utf-8")
    return str(path)


# --- check, render, diff, list --------------------------------------------------------------


def test_every_shipped_spec_is_valid_as_a_process() -> None:
    ran = process("spec", "check", *shipped(), "--json")
    assert (ran.code, ran.err) == (0, "")
    assert [each["agent"] for each in ran.json()["specs"]] == list(shipped())
    assert all(each["valid"] for each in ran.json()["specs"])


def test_one_bad_spec_does_not_hide_the_others(broken: str) -> None:
    ran = called("spec", "check", "world_agent", broken, "nobody")
    assert ran.code == 5
    assert "world_agent: valid" in ran.out
    assert f"1 Anchor entity · anchor.keys[0].type (line {LINE})" in ran.out
    assert "→ " in ran.out
    assert "No shipped spec is called `nobody`" in ran.out
    data = called("spec", "check", "world_agent", broken, "nobody", "--json").json()
    good, bad, unknown = data["specs"]
    assert good["valid"]
    assert bad["error"]["problems"][0]["line"] == LINE
    assert unknown["error"]["code"] == "spec_not_found"


def test_a_broken_spec_ends_any_other_command_with_its_problems(broken: str) -> None:
    ran = called("spec", "render", broken)
    assert (ran.code, ran.out) == (5, "")
    assert "has 1 problem." in ran.err
    assert f"1 Anchor entity · anchor.keys[0].type (line {LINE})" in ran.err
    assert "What to do: " in ran.err
    error = called("spec", "render", broken, "--json").error()
    assert error["code"] == "spec_invalid"
    assert [p["path"] for p in error["problems"]] == ["anchor.keys[0].type"]


def test_content_of_a_file_is_shown_and_not_obeyed(broken: str) -> None:
    said = called("spec", "render", broken).err
    assert "[red]uid" in said
    assert "\x1b" not in said


def test_render_gives_the_page_as_it_is(tmp_path: Path) -> None:
    page = render(load("world_agent"))
    assert called("spec", "render", "world_agent").out == page
    assert called("spec", "render", "world_agent", "--json").json()["markdown"] == page
    out = tmp_path / "page.md"
    for _ in range(2):
        ran = called("spec", "render", "world_agent", "--out", str(out))
        assert ran.code == 0
        assert str(out) in ran.out.replace("\n", "")
    assert out.read_text("utf-8") == page


def test_diff_names_the_primitive_and_both_sides(retitled: str) -> None:
    ran = called("spec", "diff", "world_agent", retitled)
    assert ran.code == 0
    assert ran.out == "The spec\n  title\n    - World Agent\n    + Payments Agent\n"
    assert called("spec", "diff", "world_agent", "world_agent").out == "The specs are the same.\n"
    (only,) = called("spec", "diff", "world_agent", retitled, "--json").json()["differences"]
    assert (only["path"], only["before"], only["after"]) == (
        "title", "World Agent", "Payments Agent",
    )  # fmt: skip


def test_list_without_a_database_shows_what_is_shipped_and_makes_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IDETIC_HOME", str(tmp_path / "home"))
    ran = called("spec", "list", "--json")
    assert [each["agent"] for each in ran.json()["shipped"]] == list(shipped())
    assert ran.json()["stored"] == []
    assert not (tmp_path / "home").exists()


# --- plan and apply ------------------------------------------------------------------------


def test_plan_then_apply_then_nothing_to_do(empty_database: TestDatabase) -> None:
    command = partial(administered, empty_database)
    planned = command("spec", "plan", "world_agent", "--json").json()
    assert (planned["from_version"], planned["to_version"]) == (None, 1)
    assert planned["counts"]["create"] == len(planned["steps"]) > 10
    shown = command("spec", "plan", "world_agent").out
    assert "from nothing to version 1" in shown
    assert "create" in shown

    ran = command("spec", "apply", "world_agent")
    assert ran.code == 0
    assert "world_agent@1 is stored" in ran.out
    again = command("spec", "apply", "world_agent")
    assert "Nothing to do: world_agent@1" in again.out
    assert command("spec", "plan", "world_agent", "--json").json()["empty"]


def test_a_change_needs_yes_where_nobody_can_be_asked(
    database: TestDatabase, retitled: str
) -> None:
    command = partial(administered, database)
    plan = command("spec", "plan", retitled)
    assert "from version 1 to version 2" in plan.out
    assert "+ Payments Agent" in plan.out

    refused = command("spec", "apply", retitled)
    assert refused.code == 2
    assert "--yes" in refused.err
    assert command("spec", "apply", retitled, "--json").error()["code"] == "bad_input"

    applied = command("spec", "apply", retitled, "--yes", "--json").json()
    assert (applied["applied"], applied["version"]) == (True, 2)
    stored = command("spec", "list", "--json").json()["stored"]
    assert [(v["agent"], v["version"]) for v in stored] == [("world_agent", 1), ("world_agent", 2)]
    assert "world_agent@2" in command("spec", "list").out

    between = command("spec", "diff", "world_agent@1", "world_agent@2")
    assert "+ Payments Agent" in between.out
    assert command("spec", "render", "world_agent@2").out.startswith("# Payments Agent")
    missing = command("spec", "render", "world_agent@3")
    assert missing.code == 5
    assert "It holds: 1, 2." in missing.err


@pytest.mark.parametrize(("typed", "version"), [("n\n", 1), ("\n", 1), ("", 1), ("y\n", 2)])
def test_at_a_terminal_it_asks(
    database: TestDatabase, retitled: str, typed: str, version: int
) -> None:
    command = partial(administered, database)
    ran = command("spec", "apply", retitled, stdin=Terminal(typed))
    assert ran.code == 0
    assert "Apply this to world_agent?" in ran.err
    assert ("Applied." in ran.out) == (version == 2)
    assert len(command("spec", "list", "--json").json()["stored"]) == version


def test_a_plan_that_would_lose_data_is_refused(database: TestDatabase, restructured: str) -> None:
    command = partial(administered, database)
    shown = command("spec", "plan", restructured)
    assert shown.code == 0
    assert "refuse" in shown.out
    ran = command("spec", "apply", restructured, "--yes")
    assert ran.code == 5
    assert "Nothing was changed" in ran.err
    error = command("spec", "apply", restructured, "--yes", "--json").error()
    assert error["code"] == "plan_refused"


# --- migrate -------------------------------------------------------------------------------


def test_memory_moves_on_request_and_an_unfinished_move_is_given_up(
    database: TestDatabase, tmp_path: Path
) -> None:
    command = partial(administered, database)
    keys = "anchor.keys=team_id:text"
    one, two = str(tmp_path / "one.yaml"), str(tmp_path / "two.yaml")
    new = ("spec", "new", "--set", "agent=guide")
    assert called(*new, "--set", keys, "--out", one).code == 0
    desks = ("--set", f"{keys}, desk:bigint", "--set", "backend.family=guide_desks")
    assert called(*new, *desks, "--out", two).code == 0
    assert command("spec", "apply", one).code == 0
    for team in ("a", "b"):
        scope = ("--agent", "guide", "--anchor", f"team_id={team}", "--as", "operator:ada")
        assert command("prefer", f"Be brief, {team}.", *scope).code == 0
    mapping = tmp_path / "desks.csv"
    mapping.write_text("team_id,desk\nb,7\n", "utf-8")
    given = ("--default", "desk=1", "--mapping", str(mapping))

    refused = command("spec", "apply", two, "--yes")
    assert (refused.code, "idetic spec migrate" in refused.err) == (5, True)
    told = command("spec", "migrate", two, *given, "--dry-run", "--json").json()
    assert (told["anchors"], told["done"], told["version"]) == (2, False, 2)
    assert command("spec", "migrate", two, *given).code == 2, "nobody can be asked"
    assert command("spec", "migrate", two, "--yes").code == 5, "no value for the new key"
    assert "No migration is under way" in command("spec", "migrate", two, "--abandon").out
    mapping.write_text("team_id,desk\nb\n", "utf-8")
    assert "more or fewer values" in command("spec", "migrate", two, *given).err
    mapping.write_text("team_id,desk\nb,7\n", "utf-8")
    done = command("spec", "migrate", two, *given, "--yes")
    assert "Moved 2 of 2 anchors to guide.guide_desks" in done.out
    assert "Nothing to do: guide@2" in command("spec", "migrate", two, *given, "--yes").out
    for team, desk in (("a", "1"), ("b", "7")):
        auditor = ("--anchor", f"team_id={team}", "--as", "auditor:ben")
        for agent in (("guide@1",), ("guide", "--anchor", f"desk={desk}")):
            assert command("verify", "--agent", *agent, *auditor).code == 0
    wrong = command("list", "--agent", "guide@3", "--anchor", "team_id=a", "--as", "auditor:ben")
    assert "It holds: 1, 2." in wrong.err
    assert command("spec", "apply", one, "--yes").code == 5, "it has been left"
