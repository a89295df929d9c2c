"""The figures of the house: how much Python there is, in which rooms, and how it is written.

`make figures` prints them by room. `tests/unit/test_house.py` bounds them, with the same functions;
a bound is a decision (docs/decisions/0033-one-house.md), and a change that needs more says why.
"""

from __future__ import annotations

import ast
import statistics
import sys
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeGuard

ROOT = Path(__file__).parents[2] / "src" / "idetic"

# The aim was 36,000 and 280 (decision 0033), before memory of conversations (0036), guarantees
# without holes (0037), the word index, convoys and questions together (0038 to 0040), tier models
# (0041), proposals with their outbox (0042), the core of memory, the person's page, framing (0045),
# canonical change (0046), sameness (0047), `spec migrate` (0011) and the workshop came in; then
# what a process keeps (0049), more wordings of extraction, answers of a spec that are refused; and
# then checks of imports, texts that are read beside the loop, users of an app in the demo world.
# This is where the house stands with them, and it only goes down.
MOST_LINES = 68_000
MOST_FILES = 376
LEAST_EXPLAINED = 0.18
MOST_OF_A_MEDIAN_FUNCTION = 8
MOST_PLACES_OF_A_STEM = 3
# Every package has the first, every surface may have the others.
_STEMS_OF_ALL = {"__init__", "__main__", "app"}

# So many identical lines of logic are one function that was not written.
RUN = 6

_Function = ast.FunctionDef | ast.AsyncFunctionDef
_Documented = ast.Module | ast.ClassDef | _Function


@dataclass(frozen=True)
class File:
    """One file of the package, counted. Each line is code, explanation or blank."""

    path: Path
    lines: int
    docstrings: int
    comments: int
    blank: int
    imports: int
    functions: tuple[int, ...]
    classes: tuple[str, ...]

    @property
    def code(self) -> int:
        """Lines that are neither explanation nor blank; imports are code."""
        return self.lines - self.docstrings - self.comments - self.blank

    @property
    def room(self) -> str:
        """The first folder; of the surfaces, the first two. A file beside the rooms has none."""
        parts = self.path.parts[:-1]
        return "/".join(parts[:2] if parts[:1] == ("surfaces",) else parts[:1]) or "."


def files(root: Path = ROOT) -> list[File]:
    """Every Python file below a folder, counted."""
    return [counted(path.relative_to(root), path.read_text("utf-8")) for path in _python(root)]


def _python(root: Path) -> list[Path]:
    return sorted(root.rglob("*.py"))


def counted(path: Path, text: str) -> File:
    """Count one file."""
    tree = ast.parse(text)
    nodes = list(ast.walk(tree))
    docstrings = _lines_of(node.body[0] for node in nodes if _has_docstring(node))
    imports = _lines_of(node for node in nodes if isinstance(node, ast.Import | ast.ImportFrom))
    lines = [line.strip() for line in text.splitlines()]
    comments = sum(line.startswith("#") for line in lines)
    # An empty line within a docstring is a line of it.
    blank = sum(not line for number, line in enumerate(lines, 1) if number not in docstrings)
    return File(
        path,
        text.count("\n"),
        len(docstrings),
        comments,
        blank,
        len(imports),
        tuple(len(_lines_of([node])) for node in nodes if isinstance(node, _Function)),
        tuple(node.name for node in tree.body if isinstance(node, ast.ClassDef)),
    )


def _has_docstring(node: ast.AST) -> TypeGuard[_Documented]:
    if not isinstance(node, _Documented) or not node.body:
        return False
    first = node.body[0]
    return (
        isinstance(first, ast.Expr)
        and isinstance(first.value, ast.Constant)
        and isinstance(first.value.value, str)
    )


def _lines_of(nodes: Iterable[ast.stmt]) -> set[int]:
    return {
        line for node in nodes for line in range(node.lineno, (node.end_lineno or node.lineno) + 1)
    }


# --- what is bounded ----------------------------------------------------------------------------


def explained(counted: Sequence[File]) -> float:
    """Lines of docstrings and comments for each line of code."""
    return sum(f.docstrings + f.comments for f in counted) / sum(f.code for f in counted)


def median_function(counted: Sequence[File]) -> float:
    """The length of the middle function, in lines."""
    return statistics.median(length for file in counted for length in file.functions)


def classes_twice(counted: Sequence[File]) -> dict[str, list[str]]:
    """Public classes whose name another one has, and where each of them is."""
    places = _places((name, f.path) for f in counted for name in f.classes if name[0] != "_")
    return {name: found for name, found in places.items() if len(found) > 1}


def common_stems(counted: Sequence[File]) -> dict[str, list[str]]:
    """Names of files that stand in too many places to say anything."""
    places = _places((f.path.stem, f.path) for f in counted if f.path.stem not in _STEMS_OF_ALL)
    return {stem: found for stem, found in places.items() if len(found) > MOST_PLACES_OF_A_STEM}


def _places(named: Iterable[tuple[str, Path]]) -> dict[str, list[str]]:
    places: dict[str, list[str]] = defaultdict(list)
    for name, path in named:
        places[name].append(path.as_posix())
    return places


def repeated_runs(root: Path = ROOT) -> list[str]:
    """Where six lines of a function stand in another place, to the letter but for their indent.

    Blank lines, comments and docstrings are no logic; nor are signatures and declarations.
    """
    places: dict[tuple[str, ...], list[str]] = defaultdict(list)
    for path in _python(root):
        for body in _bodies(path.read_text("utf-8")):
            for first in range(len(body) - RUN + 1):
                run = tuple(line for _, line in body[first : first + RUN])
                places[run].append(f"{path.relative_to(root).as_posix()}:{body[first][0]}")
    return [" ~ ".join(found) for found in places.values() if len(found) > 1]


def _bodies(text: str) -> Iterator[list[tuple[int, str]]]:
    """The logic of each function, with what is nested in it: numbered lines."""
    lines = [line.strip() for line in text.splitlines()]
    waiting: list[ast.AST] = [ast.parse(text)]
    while waiting:
        node = waiting.pop()
        if not isinstance(node, _Function):
            waiting += ast.iter_child_nodes(node)
            continue
        body = node.body[1:] if _has_docstring(node) else node.body
        numbers = sorted(_lines_of(body))
        yield [(n, lines[n - 1]) for n in numbers if lines[n - 1][:1] not in ("", "#")]


# --- the table ----------------------------------------------------------------------------------

_COLUMNS = ("files", "lines", "doc", "comment", "blank", "import", "code")


def table(counted: Sequence[File]) -> Iterator[str]:
    """The figures by room, the longest first, and those of the whole house."""
    rooms: dict[str, list[File]] = defaultdict(list)
    for file in counted:
        rooms[file.room].append(file)
    yield _row("room", _COLUMNS)
    for room, inside in sorted(rooms.items(), key=lambda item: -sum(f.lines for f in item[1])):
        yield _row(room, _sums(inside))
    yield _row("all", _sums(counted))


def _row(room: str, cells: Sequence[object]) -> str:
    return f"{room:24}" + "".join(f"{cell:>9}" for cell in cells)


def _sums(inside: Sequence[File]) -> list[int]:
    each = [(1, f.lines, f.docstrings, f.comments, f.blank, f.imports, f.code) for f in inside]
    return [sum(column) for column in zip(*each, strict=True)]


def summary(counted: Sequence[File]) -> Iterator[str]:
    """The figures that are no sums."""
    sizes = [file.lines for file in counted]
    lengths = sorted(length for file in counted for length in file.functions)
    share = sum(file.imports for file in counted) / sum(sizes)
    p95 = lengths[int(len(lengths) * 0.95)]
    yield f"file: median {statistics.median(sizes):g}, {sum(s < 60 for s in sizes)} under 60 lines"
    yield f"file: largest {max(sizes)}, imports {share:.1%} of all lines"
    yield f"function: median {statistics.median(lengths):g}, p95 {p95}, longest {lengths[-1]}"
    yield f"docstrings and comments per code line: {explained(counted):.3f}"
    yield f"public class names in several places: {sorted(classes_twice(counted)) or 'none'}"
    yield f"file names in more than three places: {sorted(common_stems(counted)) or 'none'}"


def main(root: Path) -> None:
    """Print the table."""
    counted = files(root)
    print(*table(counted), "", *summary(counted), sep="\n")
    print(f"runs of {RUN} lines in several places: {repeated_runs(root) or 'none'}")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else ROOT)
