"""Importing Idetic is cheap: what a program does not use is not loaded."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

HEAVY = ("onnxruntime", "numpy", "rich", "typer", "tokenizers", "click", "hypothesis", "pytest")


def loaded_by(statement: str) -> set[str]:
    """The top-level modules that a fresh interpreter holds after a statement."""
    code = f"import json, sys\n{statement}\nprint(json.dumps(sorted(sys.modules)))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, timeout=60
    )
    return {name.split(".", 1)[0] for name in json.loads(done.stdout)}


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
