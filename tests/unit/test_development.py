"""What helps people develop is true: the Makefile's help, the workflow, the hooks, the notice."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path
from typing import Any

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

from tests.support.docs import ROOT

MAKEFILE = (ROOT / "Makefile").read_text("utf-8")
WORKFLOW = yaml.safe_load((ROOT / ".github/workflows/test.yml").read_text("utf-8"))
HOOKS = yaml.safe_load((ROOT / ".pre-commit-config.yaml").read_text("utf-8"))

# --- the Makefile -------------------------------------------------------------------------------

_NAMES = """
from typing import Annotated
from idetic.engine import Binding
from idetic.model import Capability, Entry
from idetic.verbs.arguments import Between
from idetic.verbs.declaration import VERBS, McpTool, get, verb
"""

# What others need first; nobody types them to see something.
STEPS = {"help", "setup", "model", "browser", "pooler", "style"}


def targets() -> set[str]:
    listed = re.search(r"^\.PHONY: (.+?)\n\n", MAKEFILE, re.MULTILINE | re.DOTALL)
    assert listed is not None
    return set(listed[1].replace("\\\n", " ").split())


def test_the_help_names_every_target() -> None:
    assert set(re.findall(r'@echo "make ([\w-]+)', MAKEFILE)) == targets() - STEPS
    assert set(re.findall(r"^([\w-]+):(?!=)", MAKEFILE, re.MULTILINE)) == targets()


@pytest.mark.parametrize("failing", ["nothing", "ruff", "lint-imports", "mypy", "python"])
def test_whatever_fails_fails_the_whole(tmp_path: Path, failing: str) -> None:
    """Also what runs beside the tests, whose end nobody waits for by itself."""
    for name in ("ruff", "lint-imports", "mypy", "idetic", "python"):
        program = tmp_path / name
        program.write_text(f"#!/bin/sh\necho {name} ran\nexit {int(name == failing)}\n")
        program.chmod(0o755)
    done = subprocess.run(
        ["make", "-o", "setup", "-o", "browser", "-o", "pooler", "test",
         f"BIN={tmp_path}", f"TYPES={tmp_path}/told"],
        # Its own flags: what is typed for the run that this test is part of is none of them.
        env={**os.environ, "MAKEFLAGS": ""},
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert (done.returncode == 0) is (failing == "nothing"), done.stdout + done.stderr
    told = ["mypy ran", "python ran"] if failing not in ("ruff", "lint-imports") else []
    assert [line for line in told if line not in done.stdout] == []


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "SECURITY.md"])
def test_a_page_at_the_root_names_only_targets_that_exist(page: str) -> None:
    typed = set(re.findall(r"[`$] ?make ([a-z-]+)", (ROOT / page).read_text("utf-8")))
    assert typed
    assert typed <= targets()


@pytest.mark.parametrize("page", ["CONTRIBUTING.md", "SECURITY.md", "docs/how-to/release.md"])
def test_a_page_for_developers_names_only_files_that_exist(page: str) -> None:
    text = (ROOT / page).read_text("utf-8")
    named = re.findall(r"`((?:src|tests|docs|bench)/[\w./-]+|[\w-]+\.(?:toml|lock|md))", text)
    assert [path for path in named if not (ROOT / path).exists()] == []


def test_the_example_of_a_verb_is_one() -> None:
    """In a process of its own: a verb is declared for everybody in it."""
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8").split("## How to add a verb", 1)[1]
    example = "\n".join(re.findall(r"^    (.*)", text.partition("\n1. ")[0], re.MULTILINE))
    code = (
        f"{_NAMES}\n{example}\nprint(VERBS['newest'].summary, newest.parameters['limit'].default)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=False, timeout=60
    )
    assert done.stdout == "List the newest current entries. 10\n", done.stderr


# --- the workflow and the hooks -----------------------------------------------------------------


def steps() -> Iterator[dict[str, Any]]:
    for job in WORKFLOW["jobs"].values():
        yield from job["steps"]


def test_the_workflow_calls_only_the_makefile() -> None:
    called = [shlex.split(step["run"]) for step in steps() if "run" in step]
    assert [words for words in called if words[0] != "make" or words[1] not in targets()] == []
    assert ["make", "test"] in called
    assert {step["uses"].partition("@")[0] for step in steps() if "uses" in step} == {
        "actions/checkout"
    }


def test_the_workflow_tries_every_version_that_is_supported() -> None:
    project = metadata.metadata("idetic").get_all("Classifier") or []
    python = [each.rpartition(" ")[2] for each in project if "Python :: 3." in each]
    matrices = [job["strategy"]["matrix"] for job in WORKFLOW["jobs"].values()]
    assert [matrix["python"] for matrix in matrices] == [python] * len(matrices)
    (servers,) = (matrix["postgres"] for matrix in matrices if "postgres" in matrix)
    assert servers == ["15", "16", "17", "18"]


def test_the_folders_that_the_workflow_names_exist() -> None:
    (named,) = (
        word for step in steps() for word in shlex.split(step.get("run", "")) if "T=" in word
    )
    folders = named.removeprefix("T=").split()
    assert len(folders) > 3
    assert [folder for folder in folders if not (ROOT / folder).is_dir()] == []


def test_the_hooks_are_local_and_run_what_the_makefile_runs() -> None:
    (local,) = HOOKS["repos"]
    assert local["repo"] == "local"
    for hook in local["hooks"]:
        command = hook["entry"].replace(".venv/bin", "$(BIN)")
        assert re.search(rf"^\t{re.escape(command)}\b", MAKEFILE, re.MULTILINE), hook["id"]


# --- the notice ---------------------------------------------------------------------------------

_ASKS = re.compile(r"GPL|MPL|Lesser General|Mozilla")
# Extras that only developers install.
_DEVELOPING = {"bench", "dev", "docs"}


def installed(extras: set[str]) -> set[str]:
    """The packages that Idetic brings with these extras, by what those here say of themselves."""
    seen: set[tuple[str, str]] = set()
    waiting = [("idetic", extra) for extra in ("", *extras)]
    while waiting:
        name, extra = waiting.pop()
        if (name, extra) in seen or not _is_here(name):
            continue
        seen.add((name, extra))
        for needed in map(Requirement, metadata.requires(name) or ()):
            if needed.marker is None or needed.marker.evaluate({"extra": extra}):
                own = canonicalize_name(needed.name)
                waiting += [(own, each) for each in ("", *needed.extras)]
    return {name for name, _ in seen} - {"idetic"}


def _is_here(name: str) -> bool:
    try:
        metadata.distribution(name)
    except metadata.PackageNotFoundError:
        return False
    return True


def licence(name: str) -> str:
    """What a package says its licence is, in any of the three ways."""
    said = metadata.metadata(name)
    stated = said.get_all("License-Expression") or said.get_all("License") or [""]
    classifiers = [c for c in said.get_all("Classifier") or () if c.startswith("License")]
    return " ".join([stated[0].partition("\n")[0], *classifiers])


def test_the_notice_lists_the_packages_whose_licences_ask_for_something() -> None:
    extras = set(metadata.metadata("idetic").get_all("Provides-Extra") or ()) - _DEVELOPING
    found = installed(extras)
    assert {"psycopg", "pydantic", "nicegui"} <= found, "control: core and extras are looked into"
    notice = (ROOT / "NOTICE").read_text("utf-8")
    tables = notice.partition("Programs that are not Python")[0]
    listed = set(re.findall(r"^  ([a-z0-9-]+)  ", tables, re.MULTILINE)) - {"package"}
    assert listed == {name for name in found if _ASKS.search(licence(name))}
