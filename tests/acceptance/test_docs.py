"""The documentation is true: its code runs, its links lead somewhere, its lists are complete."""

from __future__ import annotations

import importlib
import inspect
import os
import pkgutil
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import psycopg
import pytest

import idetic
from idetic import Answered, ApiKey, CreatedKey, Idetic, IdeticError, PersonaAgent, errors, model
from idetic.context.operations import Runbooks
from idetic.context.worlds import Worlds
from idetic.library.handles import Agent, Interaction, Memory, Session
from idetic.library.keys import Keys
from idetic.library.persona import PersonaMemory
from idetic.persona.loops import Loop
from idetic.persona.views import ActorMemoryView, SubconsciousMemoryView
from idetic.spec.loader import load
from idetic.spec.problems import PRIMITIVES
from idetic.store import embedded
from idetic.store.embedded import EmbeddedServer
from idetic.store.family import Family
from tests.conftest import TestDatabase
from tests.support.docs import (
    DOCS,
    ROOT,
    blocks,
    follow,
    pages,
    prose,
    signature,
    table_rows,
    text_files,
)
from tests.support.http_house import serving
from tests.support.strangers import new_place

README = ROOT / "README.md"
TUTORIAL = DOCS / "tutorial" / "first-memory.md"
PERSONA = DOCS / "tutorial" / "persona-agent.md"
BACKUP = DOCS / "how-to" / "back-up-and-restore.md"
SPEC = DOCS / "how-to" / "write-a-spec.md"
SERVE = DOCS / "how-to" / "serve.md"
MODEL = DOCS / "how-to" / "install-the-model.md"
OWN_TABLES = DOCS / "how-to" / "own-canonical-tables.md"
PYTHON = DOCS / "reference" / "python.md"
SCHEMA = DOCS / "reference" / "schema.md"
ERRORS = DOCS / "reference" / "errors.md"
ARCHITECTURE = DOCS / "architecture.md"


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


# --- the code -----------------------------------------------------------------------------------


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`idetic` and `python` can be typed, as in an activated environment."""
    program = tmp_path / "bin" / "idetic"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {sys.executable} -m idetic "$@"\n')
    program.chmod(0o755)
    paths = [str(program.parent), str(Path(sys.executable).parent), os.environ["PATH"]]
    monkeypatch.setenv("PATH", os.pathsep.join(paths))
    monkeypatch.delenv("IDETIC_DSN", raising=False)


@pytest.fixture
def reader(
    commands: None, server: EmbeddedServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Somebody at a terminal in an empty directory, whose embedded server is the test's."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IDETIC_HOME", str(server.home))


# Pages that need another place to be followed in, and the tests that do.
ELSEWHERE = {
    OWN_TABLES: "tests/acceptance/test_docs.py",
    BACKUP: "tests/acceptance/test_docs.py",
    MODEL: "tests/acceptance/test_docs.py",
    SPEC: "tests/acceptance/test_docs.py",
    SERVE: "tests/acceptance/test_docs.py",
    DOCS / "how-to" / "use-a-reasoner.md": "tests/unit/test_reason_docs.py",
    DOCS / "tutorial" / "a-month.md": "tests/acceptance/test_month.py",
}
TYPED = {"python", "console", "sql", "sh"}


def typed_pages() -> list[Path]:
    """Every page with something to type."""
    return [page for page in pages() if any(block.language in TYPED for block in blocks(page))]


@pytest.mark.usefixtures("reader")
@pytest.mark.parametrize("page", [p for p in typed_pages() if p not in ELSEWHERE], ids=named)
def test_what_a_page_says_to_run_runs_and_prints_what_it_shows(page: Path) -> None:
    assert follow(page) > 0


@pytest.mark.parametrize("page", ELSEWHERE, ids=named)
def test_a_page_that_is_followed_elsewhere_is(page: Path) -> None:
    assert page in typed_pages()
    text = (ROOT / ELSEWHERE[page]).read_text("utf-8")
    assert page.name in text
    assert "follow(" in text


def test_no_code_hides_in_a_block_that_is_not_run() -> None:
    """Output, formulas and settings are shown as text; what can be typed is typed."""
    hidden = re.compile(r"^(?:\$ |(?:from|import|async|await|def|class|with) |\w+ = await )", re.M)
    found = [
        str(block)
        for page in pages()
        for block in blocks(page)
        if block.language not in TYPED and hidden.search(block.text)
    ]
    assert found == []
    assert not [page for page in pages() if re.search(r"^ +```", page.read_text("utf-8"), re.M)]


@pytest.mark.usefixtures("reader")
def test_the_model_is_installed_as_the_page_says(
    model_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the directory where this machine has it: the registry is not asked once more."""
    monkeypatch.setenv("IDETIC_MODEL_DIR", str(model_path))
    assert follow(MODEL) > 2


@pytest.mark.usefixtures("reader")
def test_a_spec_is_put_together_from_the_pages_blocks() -> None:
    parts = [block.text for block in blocks(SPEC) if block.language == "yaml"]
    Path("clerk.yaml").write_text("\n".join(parts))
    assert follow(SPEC) == 1


@pytest.mark.usefixtures("reader")
def test_a_spec_can_be_pointed_at_ones_own_tables(
    empty_database: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IDETIC_DSN", empty_database.dsn)
    assert follow(OWN_TABLES) > 5


def test_a_served_memory_is_used_from_elsewhere(
    database: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    with serving(database, "--demo") as process:
        key = next(each["key"] for each in process.keys if each["principal"] == "operator:ada")
        monkeypatch.setenv("IDETIC_URL", process.address)
        monkeypatch.setenv("IDETIC_KEY", key)
        assert follow(SERVE) > 2


def test_a_backup_is_restored_into_a_new_server(
    commands: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the real programs: dumped, the server gone, restored into another, verified."""
    with new_place() as place:
        monkeypatch.setenv("IDETIC_HOME", str(place / "home"))
        monkeypatch.chdir(place)
        try:
            assert follow(BACKUP) > 5
        finally:
            embedded.stop(place / "restored")


@pytest.mark.parametrize("page", [README, TUTORIAL, PERSONA], ids=named)
def test_every_python_block_can_be_pasted_at_a_prompt(page: Path) -> None:
    """At a prompt an empty line ends a block, so there is none inside one."""
    for block in blocks(page):
        if block.language == "python":
            assert not re.search(r"\n\n[ \t)\]}]", block.text), str(block)


# --- the pages ----------------------------------------------------------------------------------

_LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")
_HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def anchors(page: Path) -> set[str]:
    """The fragments that a page's headings can be reached by."""
    plain = (re.sub(r"[^\w\- ]", "", title.lower()) for title in _HEADING.findall(prose(page)))
    return {title.replace(" ", "-") for title in plain}


@pytest.mark.parametrize("page", pages(), ids=named)
def test_every_relative_link_leads_somewhere(page: Path) -> None:
    for link in _LINK.findall(prose(page)):
        if "://" in link:
            continue
        target, _, fragment = link.partition("#")
        path = (page.parent / target).resolve() if target else page
        assert path.exists(), link
        if fragment:
            assert fragment in anchors(path), link


def test_every_page_can_be_found_from_the_index() -> None:
    index = DOCS / "index.md"
    linked = {(DOCS / link).resolve() for link in _LINK.findall(prose(index)) if "://" not in link}
    assert {page for page in DOCS.rglob("*.md") if page != index} <= linked


def test_the_readme_is_short_and_names_commands_that_exist() -> None:
    text = README.read_text("utf-8")
    assert len(text.splitlines()) < 200
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE))
    shown = [block.text for block in blocks(README) if block.language == "console"]
    typed = set(re.findall(r"^\$ make (\w+)", "\n".join(shown), re.MULTILINE))
    assert {"demo", "test"} <= typed <= targets


# --- the lists ----------------------------------------------------------------------------------


def every_error() -> Iterator[type[IdeticError]]:
    """Every error of the package, wherever it is defined."""
    for found in pkgutil.walk_packages(idetic.__path__, "idetic."):
        if not found.name.endswith("__main__"):
            importlib.import_module(found.name)
    waiting: list[type[IdeticError]] = [IdeticError]
    while waiting:
        kind = waiting.pop()
        waiting += kind.__subclasses__()
        if kind.__module__.startswith("idetic."):
            yield kind


def error_row(kind: type[IdeticError]) -> str:
    meaning = (kind.__doc__ or "").strip().splitlines()[0]
    told = f"{kind.http_status} | {kind.exit_code} | {meaning} | {kind.remedy}"
    return f"| `{kind.code}` | `{kind.__name__}` | {told} |"


def test_the_error_reference_is_what_errors_py_says() -> None:
    own = [k for _, k in inspect.getmembers(errors, inspect.isclass) if issubclass(k, IdeticError)]
    rows = table_rows(ERRORS, "code")
    assert {error_row(kind) for kind in own} <= set(rows)
    assert sorted(rows) == sorted(map(error_row, every_error()))


def test_the_python_reference_has_every_public_name() -> None:
    text = PYTHON.read_text("utf-8")
    assert [name for name in idetic.__all__ if f"`{name}" not in text] == []


def public_methods(kind: type) -> Iterator[Callable[..., Any]]:
    for name, member in inspect.getmembers(kind, inspect.isroutine):
        if not name.startswith("_"):
            yield member


HANDLES = [
    *(Idetic, Keys, Agent, Memory, Session, Interaction, Worlds, Runbooks),
    *(PersonaAgent, PersonaMemory, Loop, ActorMemoryView, SubconsciousMemoryView),
]


@pytest.mark.parametrize("kind", HANDLES, ids=lambda kind: str(kind.__name__))
def test_the_python_reference_has_every_method_as_it_is_called(kind: type) -> None:
    text = PYTHON.read_text("utf-8")
    wanted = [signature(method) for method in public_methods(kind)]
    assert wanted
    assert [each for each in wanted if f"`{each}`" not in text] == []


NOUNS = [
    *(model.Entry, model.Receipt, model.LedgerRecord, model.Observation, model.Claim, model.Ref),
    *(model.Scope, model.Principal, model.Place, ApiKey, CreatedKey, Answered),
]


@pytest.mark.parametrize("noun", NOUNS, ids=lambda noun: str(noun.__name__))
def test_the_python_reference_has_every_field_of_every_noun(noun: type) -> None:
    section = PYTHON.read_text("utf-8").split(f"### `{noun.__name__}`", 1)[1].split("\n#", 1)[0]
    missing = [each.name for each in fields(noun) if f"`{each.name}`" not in section]
    assert missing == []


def test_the_architecture_names_every_primitive_and_only_files_that_exist() -> None:
    text = ARCHITECTURE.read_text("utf-8")
    assert [name for name in PRIMITIVES.values() if f"| {name} |" not in text] == []
    paths = re.findall(r"`([\w.-]+(?:/[\w.-]+)*/?)`", text)
    files = [p for p in paths if "/" in p or p.endswith((".py", ".sql", ".yaml", ".md", ".toml"))]
    assert len(files) > 40
    places = (ROOT, ROOT / "src" / "idetic")
    assert [p for p in files if not any((place / p).exists() for place in places)] == []


def test_the_schema_reference_has_every_table_and_column_and_only_what_exists(
    database: TestDatabase,
) -> None:
    text = SCHEMA.read_text("utf-8")
    family = Family(load("world_agent"))
    assert [table for table in family.tables() if f"| `{table}` |" not in text] == []
    with psycopg.connect(database.admin_dsn) as connection:
        rows = connection.execute(
            """SELECT relname FROM pg_class WHERE relnamespace = 'worlds'::regnamespace
               UNION SELECT proname FROM pg_proc WHERE pronamespace = 'worlds'::regnamespace"""
        ).fetchall()
        memory = connection.execute("SELECT * FROM worlds.world_agent_memory LIMIT 0")
    shown = set(re.findall(r"`(world_agent_\w+)`", text))
    assert shown - {name for (name,) in rows} == set()
    columns = {column.name for column in memory.description or ()} - set(family.keys)
    assert {name for name in columns if f"`{name}`" not in text} == set()


# --- the repository -----------------------------------------------------------------------------

# Spelt so that this file does not name them itself. A bare mention of root's home directory is
# about any machine; a path below it is about one.
_THIS_MACHINE = re.compile(r"(?<![\w.-])/(?:wor[k]\b|roo[t]/\w)")
_REGISTRIES = re.compile(
    r"pyp[i]\.org|pythonhoste[d]\.|anacond[a]\.(?:org|com)|npmj[s]\.|index-ur[l]"
)


@pytest.mark.parametrize("pattern", [_THIS_MACHINE, _REGISTRIES], ids=["paths", "registries"])
def test_no_file_names_this_machine_or_a_package_registry(pattern: re.Pattern[str]) -> None:
    found = {name: hit[0] for name, text in text_files() if (hit := pattern.search(text))}
    assert found == {}


def test_the_lock_file_pins_by_hash_and_says_nothing_of_where_packages_come_from() -> None:
    text = (ROOT / "requirements.lock").read_text("utf-8")
    assert "://" not in text
    pinned = re.split(r"^(?=\S)", text, flags=re.MULTILINE)[1:]
    assert [each for each in pinned if "==" not in each or "--hash=sha256:" not in each] == []
