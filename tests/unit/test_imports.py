"""Importing Idetic is cheap: what a program does not use is not loaded."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = ("onnxruntime", "numpy", "rich", "typer", "tokenizers", "click", "hypothesis", "pytest")


def modules_after(statement: str) -> set[str]:
    """The modules that a fresh interpreter holds after a statement."""
    code = f"import json, sys\n{statement}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    return set(json.loads(done.stdout))


def loaded_by(statement: str) -> set[str]:
    """The top-level modules among them."""
    return {name.split(".", 1)[0] for name in modules_after(statement)}


@pytest.fixture(scope="module")
def loaded() -> set[str]:
    return loaded_by("import idetic")


@pytest.mark.parametrize("heavy", HEAVY)
def test_importing_idetic_does_not_load(loaded: set[str], heavy: str) -> None:
    assert "idetic" in loaded
    assert heavy not in loaded


def test_control_what_is_loaded_is_seen() -> None:
    assert "rich" in loaded_by("import rich")


def test_every_public_name_is_there() -> None:
    """In a fresh interpreter, one by one: lazy loading must not lose any."""
    code = (
        "import idetic\nfor name in idetic.__all__: assert getattr(idetic, name) is not None, name"
    )
    assert "idetic" in loaded_by(code)


def test_using_the_library_still_loads_no_surface() -> None:
    loaded = loaded_by("from idetic import Idetic, open_sync, Principal\nIdetic.open('host=x')")
    assert loaded.isdisjoint({"rich", "typer", "onnxruntime", "numpy"})


# --- the names that everybody imports first -----------------------------------------------------

# What takes most of a start. `Idetic.open` loads it, and no import before that.
DEFERRED = {"anyio", "asyncio", "procrastinate", "psutil", "psycopg", "psycopg_pool", "pydantic"}
LIGHT = {
    "Idetic": {"idetic", "idetic.errors", "idetic.ids", "idetic.library", "idetic.library.idetic"},
    "remember": {
        "idetic", "idetic.errors", "idetic.ids", "idetic.library", "idetic.library.idetic",
        "idetic.library.blocking", "idetic.library.remember", "idetic.verbs", "idetic.verbs.handle",
    },
}  # fmt: skip


@pytest.mark.parametrize("name", LIGHT)
def test_what_everybody_imports_first_loads_only_itself(name: str) -> None:
    loaded = modules_after(f"from idetic import {name}")
    assert {module for module in loaded if module.split(".")[0] == "idetic"} == LIGHT[name]
    assert loaded.isdisjoint(DEFERRED | {"yaml", "numpy", "onnxruntime"})


def test_control_opening_a_database_loads_what_was_deferred() -> None:
    loaded = modules_after("from idetic import Idetic\nIdetic.open('host=x')")
    assert {"anyio", "idetic.recall.embedding"} <= loaded


def test_an_agent_is_made_without_the_code_of_personas_and_of_surfaces() -> None:
    loaded = modules_after("import idetic.library.handles, idetic.library.composition")
    unused = (
        "persona.agent",
        "persona.learning",
        "persona.log_import",
        "persona.notes",
        "surfaces",
    )
    assert {
        name for name in loaded if name.startswith(tuple(f"idetic.{u}" for u in unused))
    } == set()


def test_the_wordings_of_extraction_are_compiled_when_they_are_used() -> None:
    code = "from idetic.extract.wordings import wordings\nprint(wordings.cache_info().currsize, {})"
    load = "import idetic.library.handles, idetic.extract"
    assert "idetic.extract.rule_extractor" in modules_after(load)
    done = subprocess.run(
        [sys.executable, "-c", f"{load}\n{code.format('len(wordings()) > 50')}"],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    assert done.stdout == "0 True\n"
