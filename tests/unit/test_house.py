"""The house stays small and speaks one dialect: few files, few lines, no name twice.

Each rule has a control: a tree that breaks it, and that the rule finds.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import pytest

from tests.support import house
from tests.support.house import File

EXPLAINED = '"""A module."""\n\n# Why.\nVALUE = 1\n'


@pytest.fixture(scope="module")
def ours() -> list[File]:
    return house.files()


def tree(folder: Path, texts: Mapping[str, str]) -> list[File]:
    """A package made of these files, counted."""
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")
    return house.files(folder)


# --- size ---------------------------------------------------------------------------------------


def test_the_house_has_few_lines(ours: list[File]) -> None:
    assert sum(file.lines for file in ours) <= house.MOST_LINES


def test_the_house_has_few_files(ours: list[File]) -> None:
    assert len(ours) <= house.MOST_FILES


def test_control_every_line_of_every_file_is_counted(tmp_path: Path) -> None:
    many = {f"room/file_{n}.py": "VALUE = 1\n" * 190 for n in range(house.MOST_FILES + 1)}
    found = tree(tmp_path, many)
    assert len(found) > house.MOST_FILES
    assert sum(file.lines for file in found) == 190 * len(many) > house.MOST_LINES


# --- how it is written --------------------------------------------------------------------------


def test_the_code_is_explained(ours: list[File]) -> None:
    assert house.explained(ours) >= house.LEAST_EXPLAINED


def test_control_code_without_a_word_is_found(tmp_path: Path) -> None:
    assert house.explained(tree(tmp_path, {"silent.py": "VALUE = 1\n" * 9})) == 0
    # A docstring and a comment for one line of code; for twelve more, it is too little.
    assert house.explained(tree(tmp_path, {"silent.py": EXPLAINED})) == 2
    long = EXPLAINED + "VALUE = 1\n" * 12
    assert house.explained(tree(tmp_path, {"silent.py": long})) < house.LEAST_EXPLAINED


def test_functions_are_short(ours: list[File]) -> None:
    assert house.median_function(ours) <= house.MOST_OF_A_MEDIAN_FUNCTION


def test_control_long_functions_are_found(tmp_path: Path) -> None:
    body = "    VALUE = 1\n" * house.MOST_OF_A_MEDIAN_FUNCTION
    texts = {"long.py": f"def one():\n{body}\nasync def two():\n{body}\ndef three(): ...\n"}
    found = house.median_function(tree(tmp_path, texts))
    assert found == house.MOST_OF_A_MEDIAN_FUNCTION + 1


def test_control_each_line_is_counted_as_what_it_is(tmp_path: Path) -> None:
    text = (
        '"""A module.\n\nWith a paragraph.\n"""\n\nfrom a import (\n    b,\n)\n\n'
        '# Why.\n\n\ndef one():\n    """One."""\n    return b  # not a line of its own\n'
    )
    (file,) = tree(tmp_path, {"surfaces/http/one.py": text})
    assert (file.lines, file.docstrings, file.comments, file.blank) == (15, 5, 1, 4)
    assert (file.imports, file.code, file.functions) == (3, 5, (3,))
    assert file.room == "surfaces/http"


def test_no_run_of_logic_stands_in_two_places() -> None:
    assert house.repeated_runs() == []


def test_control_a_repeated_run_is_found_whatever_stands_around_it(tmp_path: Path) -> None:
    run = "".join(f"{{0}}value_{n} = {n}\n" for n in range(house.RUN))
    texts = {
        "one.py": f'def one():\n    """One."""\n{run.format("    ")}',
        "two.py": f"class Two:\n    def two():\n        # Why.\n\n{run.format('        ')}",
        "less.py": f"def less():\n{run.format('    ').rpartition('    ')[0]}",
    }
    tree(tmp_path, texts)
    assert house.repeated_runs(tmp_path) == ["one.py:3 ~ two.py:5"]


# --- names --------------------------------------------------------------------------------------


def test_no_public_class_has_the_name_of_another(ours: list[File]) -> None:
    assert house.classes_twice(ours) == {}


def test_control_two_classes_of_one_name_are_found(tmp_path: Path) -> None:
    texts = {
        "a/one.py": "class Verdict: ...\nclass _Own: ...\n",
        "b/two.py": "class Verdict: ...\nclass _Own: ...\nclass Other: ...\n",
    }
    assert house.classes_twice(tree(tmp_path, texts)) == {"Verdict": ["a/one.py", "b/two.py"]}


def test_no_file_has_a_name_that_says_nothing(ours: list[File]) -> None:
    assert house.common_stems(ours) == {}


def test_control_a_file_name_in_four_places_is_found(tmp_path: Path) -> None:
    rooms = [f"room_{n}" for n in range(house.MOST_PLACES_OF_A_STEM + 1)]
    names = ("errors", "__init__", "app")
    found = house.common_stems(
        tree(tmp_path, {f"{room}/{name}.py": "" for room in rooms for name in names})
    )
    assert found == {"errors": [f"{room}/errors.py" for room in rooms]}


def test_the_table_has_every_room_and_adds_up(ours: list[File]) -> None:
    head, *rows, total = (line.split() for line in house.table(ours))
    assert head[:3] == ["room", "files", "lines"]
    assert {row[0] for row in rows} == {file.room for file in ours}
    assert [sum(int(row[n]) for row in rows) for n in range(1, 8)] == list(map(int, total[1:]))
    assert len(list(house.summary(ours))) > 3
