"""Settings: a file, then the environment, then options; and what tells which it was."""

from __future__ import annotations

from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from typer.main import get_command

from idetic.library.settings import keys, variable
from idetic.surfaces.cli.app import app
from idetic.surfaces.cli.config import SETTINGS, Config, load, masked, scope_file
from tests.surfaces.cli_runner import Ran, called

ORG = str(uuid4())
FILE = f"""
dsn = "postgresql://me:hush@127.0.0.1:9/file"
agent = "from_file"
as = "operator:file"

[anchor]
org_id = "{ORG}"
number = 7
"""


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A directory of its own, and nothing set anywhere else."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path / "config"))
    for name in (*SETTINGS.values(), *map(variable, keys()), "IDETIC_CONFIG"):
        monkeypatch.delenv(name, raising=False)
    return tmp_path


def shown(*words: str) -> dict[str, Any]:
    ran = called("config", "show", "--json", *words)
    assert (ran.code, ran.err) == (0, ""), ran
    return {each["name"]: each for each in ran.json()["settings"]}


def test_without_anything_nothing_is_set(here: Path) -> None:
    found = shown()
    assert list(found) == [*SETTINGS, *keys()]
    assert {each["source"] for each in found.values()} == {"not set", "the default"}
    assert "the embedded server" in called("config", "show").out


def test_a_file_is_weaker_than_the_environment_and_that_than_an_option(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "idetic.toml").write_text(FILE)
    found = shown()
    assert found["agent"] == {
        "name": "agent", "value": "from_file", "source": "the file idetic.toml",
    }  # fmt: skip
    assert found["anchor"]["value"] == [f"org_id={ORG}", "number=7"]
    assert found["as"]["value"] == "operator:file"
    monkeypatch.setenv("IDETIC_AGENT", "from_environment")
    monkeypatch.setenv("IDETIC_ANCHOR", "a=1 b=2")
    found = shown()
    assert found["agent"]["value"] == "from_environment"
    assert found["agent"]["source"] == "the environment variable IDETIC_AGENT"
    assert found["anchor"]["value"] == ["a=1", "b=2"]
    found = shown("--agent", "typed", "--anchor", "c=3")
    assert (found["agent"]["value"], found["agent"]["source"]) == ("typed", "the option --agent")
    assert found["anchor"]["value"] == ["c=3"], "the whole of the weaker one is replaced"
    assert found["as"]["source"] == "the file idetic.toml"


def test_the_running_system_is_set_by_file_environment_and_option(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (here / "idetic.toml").write_text(
        'log = "info"\n[reasoner]\nmodel = "a"\ncalls_per_run = 7\nkey = "sk-hush"\n'
    )
    monkeypatch.setenv("IDETIC_REASONER_CALLS_PER_RUN", "8")
    found = shown("--set", "reasoner.model=c")
    assert found["log"] == {"name": "log", "value": "info", "source": "the file idetic.toml"}
    assert found["reasoner.calls_per_run"]["value"] == 8
    assert found["reasoner.model"]["source"] == "the option --set reasoner.model"
    assert found["reasoner.key"]["value"] == "***"
    assert "hush" not in called("config", "show").out
    refused_key = called("config", "show", "--set", "reasoner.key=x")
    assert refused_key.code == 2


@pytest.mark.parametrize("command", ["serve", "worker", "mcp"])
def test_what_runs_on_takes_settings_and_starts_with_none_that_is_wrong(
    here: Path, command: str
) -> None:
    away = ("--dsn", "postgresql://127.0.0.1:9/x", "--json")
    ran = called(command, "--set", "reasoner.modle=a", *away)
    assert ran.code == 2
    assert "reasoner.model" in ran.error()["remedy"], "the known ones are listed"
    lost = ("--set", "reasoner.model=m", "--set", f"reasoner.key_file={here / 'none'}")
    ran = called(command, *lost, *away)
    assert (ran.code, "cannot be read" in ran.error()["message"]) == (2, True)
    assert called(command, "--set", "log=debug", *away).code == 6, "control: this one is right"


def test_no_password_is_shown(here: Path) -> None:
    (here / "idetic.toml").write_text(FILE)
    for ran in (called("config", "show"), called("config", "show", "--json")):
        assert "hush" not in ran.out + ran.err
        assert "127.0.0.1" in ran.out


@pytest.mark.parametrize(
    ("dsn", "wanted"),
    [
        ("postgresql://me:p@ss:word@host/db", "postgresql://me:***@host/db"),
        ("postgresql://me@host/db?password=x&sslmode=require",
         "postgresql://me@host/db?password=***&sslmode=require"),
        ("host=h password='a b' user=u", "host=h password=*** user=u"),
        ("host=h sslpassword=x", "host=h sslpassword=***"),
        ("postgresql://host/db", "postgresql://host/db"),
    ],
)  # fmt: skip
def test_passwords_in_every_form_of_a_dsn(dsn: str, wanted: str) -> None:
    assert masked(dsn) == wanted


def test_the_file_of_the_user_and_one_that_is_named(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    own = here / "config" / "idetic" / "idetic.toml"
    own.parent.mkdir(parents=True)
    own.write_text('agent = "users_own"\n')
    assert shown()["agent"]["value"] == "users_own"
    (here / "idetic.toml").write_text('agent = "of_this_directory"\n')
    assert shown()["agent"]["value"] == "of_this_directory"
    other = here / "other.toml"
    other.write_text('agent = "named"\n')
    monkeypatch.setenv("IDETIC_CONFIG", str(other))
    assert shown()["agent"]["value"] == "named"
    monkeypatch.setenv("IDETIC_CONFIG", str(here / "missing.toml"))
    assert called("config", "show").code == 2, "what is named must be there"


def test_commands_take_their_scope_from_the_file(here: Path) -> None:
    (here / "idetic.toml").write_text(FILE)
    ran = called("list", "--json")
    assert ran.code == 6, "it went to the file's database, with nothing typed"
    assert ran.error()["code"] == "database_unavailable"
    without = called("list", "--json", "--dsn", "postgresql://127.0.0.1:9/other")
    assert without.code == 6
    (here / "idetic.toml").unlink()
    assert called("list", "--json").code == 2, "control: without the file it is not said"


def test_a_server_for_a_client_heeds_no_file_of_the_directory_it_is_started_in(here: Path) -> None:
    (here / "idetic.toml").write_text(FILE)
    ran = called("mcp", "--dsn", "postgresql://127.0.0.1:9/typed", "--json")
    assert ran.error()["code"] == "database_unavailable"
    (here / "idetic.toml").write_text("this is = not TOML")
    assert called("mcp", "--dsn", "postgresql://127.0.0.1:9/x", "--json").code == 6, "unread"
    assert called("list", "--json").code == 2, "control: another command does read it"


def test_whom_a_key_stands_for_never_comes_from_settings(
    here: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """`--as` of `keys create` says who will use the key, not who is asking."""
    (here / "idetic.toml").write_text(FILE)
    monkeypatch.setenv("IDETIC_AS", "operator:me")
    ran = called("keys", "create", "--json")
    assert ran.code == 2
    assert "--as" in ran.error()["message"]


def test_only_options_that_the_environment_can_set_can_be_set_by_a_file() -> None:
    config = Config(None, dict.fromkeys(SETTINGS.values(), "x"))
    found = config.defaults(get_command(app))
    assert found["list"] == {"agent": "x", "anchor": "x", "as_": "x", "dsn": "x"}
    assert found["keys"]["create"] == {"agent": "x", "anchor": "x", "dsn": "x"}
    assert found["keys"]["list"] == {"dsn": "x"}
    assert "spec" in found
    assert "check" not in found["spec"]


BROKEN = {
    "no TOML": "agent = ",
    "an unknown setting": 'password = "x"\n',
    "an unknown setting of a part": '[reasoner]\nmodle = "x"\n',
    "a part that is none": 'reasoner = "x"\n',
    "a number for a text": "agent = 7\n",
    "a list for a text": 'as = ["a"]\n',
    "a text for the anchor": 'anchor = "org_id=x"\n',
    "a truth value in the anchor": "[anchor]\norg_id = true\n",
    "a table in the anchor": "[anchor.org_id]\na = 1\n",
    "deep": "a = " + "[" * 5_000,
    "NUL": "agent = \"a\x00b\"",
}  # fmt: skip


@pytest.mark.parametrize("what", list(BROKEN))
def test_a_file_that_is_none_is_told_and_stops_nothing_that_only_looks(
    here: Path, what: str
) -> None:
    (here / "idetic.toml").write_text(BROKEN[what])
    for ran in (called("config", "show"), called("spec", "list")):
        refused(ran)
    assert called("--version").code == 0
    assert called("list", "--help").code == 0


def refused(ran: Ran) -> None:
    assert ran.code == 2
    assert "Traceback" not in ran.err
    assert "idetic.toml" in ran.err
    assert "What to do: " in ran.err


def test_a_file_that_is_no_text(here: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (here / "idetic.toml").write_bytes(b"agent = \xff")
    refused(called("config", "show"))
    (here / "idetic.toml").write_bytes(b"#" * (2 << 20))
    refused(called("config", "show"))
    monkeypatch.setenv("IDETIC_CONFIG", str(here))
    assert called("config", "show").code == 2


def test_the_benchmarks_of_a_checkout_are_listed() -> None:
    tasks = called("bench", "--json").json()["tasks"]
    assert {"write", "recall", "close"} <= set(tasks)
    assert "common" not in tasks
    ran = called("bench", "nonsense")
    assert ran.code == 2
    assert "write" in ran.err


def test_without_a_checkout_the_benchmarks_say_where_they_are(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import idetic  # noqa: PLC0415

    monkeypatch.setattr(idetic, "__file__", str(tmp_path / "a" / "b" / "__init__.py"))
    ran = called("bench")
    assert ran.code == 2
    assert "make bench" in ran.err


def test_a_scope_is_said_once_and_is_the_weakest_of_all(here: Path) -> None:
    assert called("use").out == "No scope is set. Set one with `idetic use --user NAME`.\n"
    kept = called("use", "--user", 'a"da', "--json").json()
    assert kept["anchor"] == {"tenant_id": "default", "user_id": 'a"da'}
    found = shown()
    assert (found["agent"]["value"], found["agent"]["source"]) == (
        "assistant_agent", "`idetic use`",
    )  # fmt: skip
    assert found["anchor"]["value"] == ["tenant_id=default", 'user_id=a"da']
    assert Path(kept["file"]).stat().st_mode & 0o777 == 0o600
    assert shown("--agent", "typed")["agent"]["value"] == "typed"
    (here / "idetic.toml").write_text(FILE)
    found = shown()
    assert found["as"]["value"] == "operator:file"
    assert found["agent"]["source"] == "the file idetic.toml"
    assert load(here=False).values == {}, "a server that a client starts reads none of it"
    (here / "idetic.toml").unlink()
    assert (
        called("use", "--clear").out == "No scope is set. Set one with `idetic use --user NAME`.\n"
    )
    assert shown()["agent"]["source"] == "not set"


@pytest.mark.parametrize(
    "words",
    [("--anchor", "a=1"), ("--user", "ada", "--agent", "x"), ("--agent", "x", "--as", "nobody")],
    ids=str,
)
def test_half_a_scope_is_refused_and_nothing_is_kept(here: Path, words: tuple[str, ...]) -> None:
    ran = called("use", *words)
    assert ran.code == 2
    assert "What to do:" in ran.err
    assert not scope_file().exists()
