"""Input that is not what it should be: always an exit code and a remedy, never a traceback."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.conftest import TestDatabase
from tests.surfaces.cli_runner import Ran, called, process

NUL, SURROGATE = "a\x00b", "a\udcffb"
MALFORMED = (NUL, SURROGATE, "", " ", "\x1b[2J", "💥" * 5_000)
SCOPE = ("--agent", "world_agent", "--anchor", "org_id=x", "--as", "operator:ada")


def refused(ran: Ran) -> None:
    assert ran.code in (2, 3, 4, 5, 6), ran
    assert "Traceback" not in ran.out + ran.err
    assert "\x1b" not in ran.out + ran.err
    assert "→" in ran.out or "What to do: " in ran.err


@pytest.mark.parametrize("text", MALFORMED, ids=ascii)
@pytest.mark.parametrize(
    "arguments",
    [
        ("spec", "check", "{}"),
        ("spec", "check", "{}.yaml"),
        ("spec", "render", "{}.yaml"),
        ("spec", "diff", "world_agent", "{}"),
        ("spec", "new", "--answers", "{}"),
        ("spec", "new", "--set", "{}"),
        ("spec", "new", "--set", "{}=x", "--set", "agent=a", "--set", "anchor.keys=a"),
        ("spec", "new", "--set", "agent={}", "--set", "anchor.keys=a"),
        ("spec", "new", "--set", "agent=a", "--set", "anchor.keys={},"),
        ("history", "{}", *SCOPE, "--dsn", "postgresql:///x"),
        ("explain", "{}", *SCOPE, "--dsn", "postgresql:///x"),
        ("verify", *SCOPE, "--head", "x{}", "--dsn", "postgresql:///x"),
        ("export", "x{}", *SCOPE[:-1], "x{}", "--dsn", "postgresql:///x"),
        ("import", "x{}", *SCOPE, "--head", "x{}", "--dsn", "postgresql:///x"),
        ("adopt", "x", *SCOPE[:-1], "x{}", "--from", "{}", "--dsn", "postgresql:///x"),
        ("distribute", "x{}", "--dsn", "{}=x"),
        ("upgrade", "--dsn", "{}=x"),
        ("list", *SCOPE, "--before", "x{}", "--dsn", "postgresql:///x"),
        ("list", *SCOPE, "--as-of", "x{}", "--dsn", "postgresql:///x"),
        ("list", *SCOPE[:-1], "{}", "--dsn", "postgresql:///x"),
        ("list", *SCOPE, "--dsn", "{}=x"),
        ("{}",),
        ("spec", "{}"),
    ],
    ids=str,
)
def test_arguments_that_are_no_text(arguments: tuple[str, ...], text: str) -> None:
    refused(called(*(each.replace("{}", text) for each in arguments)))


@pytest.mark.parametrize("text", [NUL, SURROGATE, "nobody", "💥"], ids=ascii)
def test_scopes_that_are_no_scopes_at_a_real_database(database: TestDatabase, text: str) -> None:
    ids = ("--anchor", f"org_id={text}", "--anchor", "domain_id=x")
    for scope in (
        ("--agent", text, *ids, "--as", "operator:ada"),
        ("--agent", "world_agent", *ids, "--as", "operator:ada"),
        ("--agent", "world_agent", "--anchor", f"{text}=x", "--as", "operator:ada"),
        ("--agent", "world_agent", "--anchor", text, "--as", "operator:ada"),
        ("--agent", "world_agent", *ids, "--as", f"operator:{text}"),
    ):
        refused(called("list", *scope, "--dsn", database.dsn))


def test_as_processes_with_bytes_that_are_no_utf8() -> None:
    for arguments in (("spec", "check", b"\xff.yaml"), ("list", b"--dsn=\xff", *SCOPE)):
        ran = process(*arguments)
        refused(ran)
        json = process(*arguments, "--json")
        assert json.code == ran.code
        assert json.json() if json.out else json.error()


def test_files_that_cannot_be_read_or_written(tmp_path: Path) -> None:
    folder = tmp_path / "folder.yaml"
    folder.mkdir()
    binary = tmp_path / "binary.yaml"
    binary.write_bytes(b"agent: \xff\xfe")
    huge = tmp_path / "huge.yaml"
    huge.write_bytes(b"#" * (2 << 20))
    # A link to itself: unreadable for root too, to whom a mode of 0 means nothing.
    loop = tmp_path / "loop.yaml"
    loop.symlink_to(loop)
    for path in map(str, (folder, binary, huge, loop, tmp_path / "missing.yaml")):
        refused(called("spec", "check", path))
        refused(called("spec", "render", path))
        refused(called("spec", "new", "--answers", path))
    for out in (str(tmp_path), str(tmp_path / "no" / "where.md"), str(binary / "x"), NUL):
        refused(called("spec", "render", "world_agent", "--out", out))
        refused(called("spec", "new", "--set", "agent=a", "--set", "anchor.keys=a", "--out", out))


@pytest.mark.parametrize("text", ["- a\n", "", "agent: [a, b]\n", "a: *b\n", "a: !!x y\n", "{"])
def test_answers_that_are_no_answers(tmp_path: Path, text: str) -> None:
    path = tmp_path / "answers.yaml"
    path.write_text(text, "utf-8")
    refused(called("spec", "new", "--answers", str(path)))
