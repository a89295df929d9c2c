"""A run in several processes begins with its longest files, and leaves nothing out."""

from __future__ import annotations

import subprocess
import sys

import pytest

from tests.support.docs import ROOT
from tests.support.long_files import LAST, LONGEST, LongestFirst, place_of
from tests.support.together import TOGETHER, unit_of


def test_each_of_them_is_there() -> None:
    assert [name for name in (*LONGEST, LAST) if not (ROOT / "tests" / name).is_file()] == []
    assert len(set(LONGEST)) == len(LONGEST)


def test_they_come_first_and_the_others_keep_their_order(request: pytest.FixtureRequest) -> None:
    names = (LAST, "unit/test_ids.py", LONGEST[3], "unit/test_keys.py", LONGEST[0])
    files = [ROOT / "tests" / name for name in names]
    assert sorted(files, key=place_of) == [files[4], files[2], files[1], files[3], files[0]]
    items = list(request.session.items)
    LongestFirst().pytest_collection_modifyitems(items)
    assert {item.nodeid for item in items} == {item.nodeid for item in request.session.items}


def test_files_that_use_the_same_costly_thing_are_one_unit() -> None:
    assert [name for name in TOGETHER if not (ROOT / name).exists()] == []
    files = ["tests/console/test_pages.py", "tests/acceptance/test_docs_run.py"]
    assert {unit_of(file) for file in files} == {"together"}
    assert unit_of("tests/unit/test_ids.py") == "tests/unit/test_ids.py"


def test_one_process_keeps_the_order_that_was_typed() -> None:
    paths = ["tests/unit/test_ids.py", f"tests/{LONGEST[-1]}"]
    listed = subprocess.run(
        [sys.executable, "-m", "pytest", "--collect-only", "-q", *paths],
        cwd=ROOT, capture_output=True, text=True, check=True, timeout=120,
    )  # fmt: skip
    found = [line.partition("::")[0] for line in listed.stdout.splitlines() if "::" in line]
    assert list(dict.fromkeys(found)) == paths
