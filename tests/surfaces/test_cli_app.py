"""The command line as a whole: help, versions, exit codes, and errors that are no tracebacks."""

from __future__ import annotations

import re
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from typer.main import get_command

import idetic
import idetic.library.handles
from idetic import errors
from idetic.model import Place
from idetic.surfaces.cli.app import app
from idetic.surfaces.cli.renderers import answer
from idetic.surfaces.cli.verb_group import MEANT, PANEL_OF_TAG, Panel
from idetic.verbs.declaration import VERBS
from tests.surfaces.cli_runner import called, process

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "cli.md"


def commands(node: Any = None, path: tuple[str, ...] = ()) -> Iterator[tuple[str, ...]]:
    """Every command of the tree that does something, as the words that call it."""
    node = node or get_command(app)
    below = getattr(node, "commands", None)
    if below is None:
        yield path
        return
    for name, each in below.items():
        yield from commands(each, (*path, name))


ALL = sorted(commands())


def test_the_tree_has_every_command() -> None:
    verbs = {verb.command for verb in VERBS.values() if verb.command is not None}
    assert {"list", "history", "recall", "embed", "observe", "context", "close"} < verbs
    assert {"contradictions", "resolve", "disposition", "dispose", "verify", "erase"} < verbs
    assert {" ".join(path) for path in ALL} == verbs | {
        "demo world", "demo month", "db start", "db stop", "db status", "spec check",
        "spec render", "spec plan", "spec apply", "spec migrate", "spec diff", "spec new",
        "spec list",
        "model install", "model status", "model verify", "worker", "doctor", "keys create",
        "keys list", "keys rotate", "keys revoke", "dream", "serve",
        "persona check", "persona close-catalog", "persona import", "mcp",
        "bench", "config show", "export", "import", "adopt", "distribute",
        "upgrade", "use",
    }  # fmt: skip


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_every_command_explains_itself_with_an_example_and_speaks_json(
    path: tuple[str, ...],
) -> None:
    ran = called(*path, "--help")
    assert ran.code == 0
    assert f"$ idetic {' '.join(path)}" in ran.out.replace("IDETIC_HOME=/srv/idetic ", "")
    assert "--json" in ran.out


def test_idetic_alone_shows_every_command_in_its_group_on_one_screen() -> None:
    ran = called()
    assert ran.code == 0
    lines = ran.out.splitlines()
    assert len(lines) <= 24
    assert max(map(len, lines)) <= 80
    places = [next(n for n, line in enumerate(lines) if line.startswith(p)) for p in Panel]
    assert places == sorted(places)
    assert {path[0] for path in ALL} <= set(ran.out.split())
    tags = {verb.http.tag for verb in VERBS.values() if verb.http and verb.command}
    assert tags <= set(PANEL_OF_TAG), "a tag without a group"


def test_the_help_lists_the_groups_in_the_same_order() -> None:
    shown = called("--help").out
    places = [shown.index(f"─ {panel} ─") for panel in Panel]
    assert places == sorted(places)
    assert "─ Commands ─" not in shown


@pytest.mark.parametrize(
    "path", [("spec",), ("db",), ("keys",), ("persona",), ("config",)], ids=str
)
def test_a_group_alone_shows_its_commands(path: tuple[str, ...]) -> None:
    ran = called(*path)
    assert ran.code == 0
    assert "Commands" in ran.out
    assert "$ idetic" in ran.out


@pytest.mark.parametrize("path", ALL, ids=" ".join)
def test_the_reference_page_has_every_command(path: tuple[str, ...]) -> None:
    assert f"`idetic {' '.join(path)}" in PAGE.read_text("utf-8")


def test_an_empty_answer_is_said_and_values_are_no_json(
    capsys: pytest.CaptureFixture[str],
) -> None:
    answer(VERBS["last_read"], {}, {}, Place(), as_json=False)
    assert capsys.readouterr().out == "Nothing was found.\n"
    at = datetime(2026, 5, 1, 12, tzinfo=UTC)
    answer(VERBS["last_read"], {"entry": at}, {}, Place(), as_json=False)
    answer(VERBS["tally"], {"places": {"harbour": 2.0, "open": True}}, {}, Place(), as_json=False)
    shown = capsys.readouterr().out
    assert "2026-05-01 12:00:00Z" in shown
    assert "harbour: 2" in shown
    assert "open: yes" in shown
    assert '"' not in shown


def test_the_reference_page_names_no_command_that_is_not_there() -> None:
    named = re.findall(
        r"^\| `idetic ([a-z -]+?)(?: [\[A-Z-].*)?` \|", PAGE.read_text("utf-8"), re.M
    )
    assert len(named) > 100
    assert set(named) - {" ".join(path) for path in ALL} == {"demo"}


def test_the_reference_page_has_every_exit_code() -> None:
    def below(kind: type[errors.IdeticError]) -> Iterator[int]:
        yield kind.exit_code
        for each in kind.__subclasses__():
            yield from below(each)

    documented = {int(code) for code in re.findall(r"^\| (\d+) \|", PAGE.read_text("utf-8"), re.M)}
    assert documented == {0, 130, *below(errors.IdeticError)}


def test_the_version_as_a_process_and_as_a_script() -> None:
    assert process("--version").out == f"idetic {idetic.__version__}\n"
    script = Path(sys.executable).with_name("idetic")
    ran = subprocess.run(
        [script, "--version"], capture_output=True, check=True, text=True, timeout=60
    )
    assert ran.stdout == f"idetic {idetic.__version__}\n"


def test_the_shell_gets_a_completion_script_and_completes_spec_names() -> None:
    script = process(_IDETIC_COMPLETE="source_bash")
    assert "_IDETIC_COMPLETE=complete_bash" in script.out
    completed = process(
        _IDETIC_COMPLETE="complete_bash",
        COMP_WORDS="idetic spec render wor",
        COMP_CWORD="3",
        _TYPER_COMPLETE_ARGS="idetic spec render wor",
    )
    assert "world_agent" in completed.out


@pytest.mark.parametrize("shell", ["bash", "zsh", "fish"])
def test_every_command_and_option_is_completed(shell: str) -> None:
    def completed(line: str) -> str:
        words = {"COMP_WORDS": line, "COMP_CWORD": str(len(line.split(" ")) - 1)}
        return process(
            _IDETIC_COMPLETE=f"complete_{shell}", _TYPER_COMPLETE_ARGS=line,
            _TYPER_COMPLETE_FISH_ACTION="get-args", **words,
        ).out  # fmt: skip

    shown = completed("idetic ")
    assert [path[0] for path in ALL if path[0] not in shown] == []
    assert "--heard-from" in completed("idetic observe --he")
    assert "surfaced_to_operator" in completed("idetic contradictions --status surf")


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("nonsense",), "No such command"),
        (("spec", "chek"), "Did you mean 'check'"),
        (("spec", "check"), "Missing argument"),
        (("spec", "list", "--frobnicate"), "No such option"),
        (("list", "--limit", "many"), "--limit"),
    ],
    ids=str,
)
def test_what_cannot_be_read_is_bad_input_and_names_the_help(
    arguments: tuple[str, ...], said: str
) -> None:
    ran = called(*arguments)
    assert ran.code == 2
    assert ran.out == ""
    assert said in ran.err
    assert "What to do: Run `idetic" in ran.err
    assert called(*arguments, "--json").error()["code"] == "usage"


def test_all_missing_options_are_told_at_once() -> None:
    assert "Missing: --agent, --anchor, --as." in called("recall", "what?").err
    assert "Missing: QUERY, --agent, --anchor, --as." in called("recall").err
    assert "Missing: --anchor, --as." in called("recall", "what?", "--agent=a").err
    assert "Missing option '--as'" in called("list", "--agent", "a", "--anchor", "b=1").err
    assert "`idetic use --user NAME`" in called("list", "--agent", "a", "--anchor", "b=1").err


@pytest.mark.parametrize(
    ("typed", "meant"), [("search", "recall"), ("delete", "forget"), ("version", "--version")]
)
def test_the_words_of_other_memories_lead_to_the_right_command(typed: str, meant: str) -> None:
    ran = called(typed, "something")
    assert ran.code == 2
    assert f"What to do: Run `idetic {meant}`." in ran.err


@pytest.mark.parametrize("word", sorted(MEANT))
def test_a_word_leads_to_a_command_that_is_there(word: str) -> None:
    meant = MEANT[word]
    assert word not in {path[0] for path in ALL}
    assert meant.startswith("--") or meant in {path[0] for path in ALL}


def test_json_after_two_dashes_is_a_word_and_not_the_option() -> None:
    ran = called("spec", "check", "--", "--json")
    assert ran.code == 5
    assert "`--json`" in ran.out


@pytest.mark.parametrize("dsn", ["postgresql://", "nonsense", "host=/nowhere dbname=x"])
def test_a_bad_dsn_is_a_database_error_without_sql(dsn: str) -> None:
    ran = called("spec", "plan", "world_agent", "--dsn", dsn, "--json")
    assert ran.code == 6
    assert ran.out == ""
    assert ran.error()["code"] == "database_unavailable"


def test_the_dsn_comes_from_the_environment_and_no_password_is_said() -> None:
    ran = process("list", "--agent", "a", "--anchor", "a=b", "--as", "operator:ada",
                  IDETIC_DSN="postgresql://me:hush@127.0.0.1:9/x")  # fmt: skip
    assert ran.code == 6
    assert "What to do" in ran.err
    assert "hush" not in ran.err
    assert "Traceback" not in ran.err
