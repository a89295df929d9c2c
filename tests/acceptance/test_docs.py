"""The documentation is true: its links lead somewhere, its lists are complete."""

from __future__ import annotations

import importlib
import inspect
import pkgutil
import re
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest

import idetic
from idetic import IdeticError, errors, model
from idetic.spec.loader import load
from idetic.spec.problems import PRIMITIVES
from idetic.store.family import Family
from tests.conftest import TestDatabase
from tests.support import python_page
from tests.support.docs import (
    DOCS,
    ROOT,
    blocks,
    pages,
    prose,
    table_rows,
    text_files,
)

README = ROOT / "README.md"
PYTHON = DOCS / "reference" / "python.md"
SCHEMA = DOCS / "reference" / "schema.md"
ERRORS = DOCS / "reference" / "errors.md"
ARCHITECTURE = DOCS / "architecture.md"


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


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


_IMPORT = re.compile(r"from (idetic[\w.]*) import \(?([\w, ]+)")


@pytest.mark.parametrize("page", pages(), ids=named)
def test_every_name_that_a_page_imports_is_there(page: Path) -> None:
    """Also in blocks that nobody runs."""
    for module, names in _IMPORT.findall(page.read_text("utf-8")):
        found = importlib.import_module(module)
        assert [name for name in names.replace(",", " ").split() if not hasattr(found, name)] == []


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


def test_every_figure_of_the_readme_is_a_benchmarks_with_its_command() -> None:
    measured = (DOCS / "benchmarks.md").read_text("utf-8")
    rows = table_rows(README, "figure")
    assert rows
    for row in rows:
        (command,) = re.findall(r"`((?:python -m|make) [\w. =]+)`", row)
        assert command in measured, row
        assert [n for n in re.findall(r"\d+\.\d+", row) if n not in measured] == []


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


def test_the_python_reference_is_what_the_docstrings_say() -> None:
    """`make reference` writes it anew."""
    page = PYTHON.read_text("utf-8")
    assert python_page.written(page) == page


def test_control_a_changed_docstring_shows_in_the_reference(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    page = PYTHON.read_text("utf-8")
    monkeypatch.setattr(model.Receipt, "__doc__", "Another text.")
    assert python_page.written(page) != page


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
