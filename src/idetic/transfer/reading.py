"""Reading an export: every line against the format, and the whole against its manifest."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, NamedTuple, Self

from idetic.errors import ExportRefused, InputError
from idetic.transfer.format import END, LEDGER, Header, Seal, framed, parsed, read_header

# A batch is handed over at either bound; a line beyond the last is no row of ours.
_ROWS, _BYTES = 500, 1 << 20
_LINE = 64 << 20


class Batch(NamedTuple):
    """Some rows of one kind, as they stand in the file and as they were read."""

    kind: str
    texts: list[str]
    rows: list[dict[str, Any]]


class ExportFile:
    """One export, read from its beginning to its end, once; never much of it at a time."""

    def __init__(self, path: str | Path):
        try:
            self._file = Path(path).open("rb")  # noqa: SIM115 - closed by __exit__
        except (OSError, ValueError) as error:
            why = error.strerror if isinstance(error, OSError) else "its name is no path"
            raise InputError(f"The file cannot be read: {why}.") from None
        self._seal = Seal()
        self._number = 1
        try:
            first = self._line()
            self.header: Header = read_header(first)
        except BaseException:
            self._file.close()
            raise
        self._seal.header(first, self.header)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._file.close()

    @property
    def head(self) -> tuple[int, str]:
        """The end of the chain in the file, once it was read."""
        return self._seal.position, self._seal.head

    def batches(self, columns: Mapping[str, frozenset[str]]) -> Iterator[Batch]:
        """Every row, kind by kind; raises unless the file ends as its manifest says."""
        for kind, wanted in self.header.rows.items():
            yield from self._kind(kind, wanted, columns[kind])
        if self._line() != self._seal.manifest():
            raise ExportRefused(
                f"Line {self._number}: the manifest does not fit what stands before it; the file "
                "was changed or damaged."
            )
        if self._file.read(1):
            raise ExportRefused("Something follows the manifest of this file.")

    def _kind(self, kind: str, wanted: int, columns: frozenset[str]) -> Iterator[Batch]:
        start, done = framed(kind), 0
        while done < wanted:
            lines: list[bytes] = []
            size = 0
            while len(lines) < min(_ROWS, wanted - done) and size < _BYTES:
                lines.append(self._line())
                size += len(lines[-1])
                if not lines[-1].startswith(start) or not lines[-1].endswith(END):
                    raise ExportRefused(f"Line {self._number} is not a row of {kind}.")
            made = [self._row(line[len(start) : -len(END)], columns) for line in lines]
            self._seal.rows(kind, b"".join(lines), len(lines))
            done += len(lines)
            if kind == LEDGER:
                self._seal.end(made[-1][1])
            yield Batch(kind, [text for text, _ in made], [row for _, row in made])

    def _row(self, text: bytes, columns: frozenset[str]) -> tuple[str, dict[str, Any]]:
        row = parsed(text)
        if not isinstance(row, dict) or row.keys() != columns:
            raise ExportRefused(
                f"A row before line {self._number + 1} does not have the columns that it has here.",
                remedy="Export and import with the same release. Nothing was written.",
            )
        return text.decode(), row

    def _line(self) -> bytes:
        line = self._file.readline(_LINE)
        self._number += 1
        if not line.endswith(b"\n"):
            raise ExportRefused(
                "The file ends before its manifest; it was cut off, or is still being written."
                if len(line) < _LINE
                else f"Line {self._number} is longer than any row can be."
            )
        return line


def spec_rows(path: str | Path) -> tuple[str, list[dict[str, Any]]]:
    """The agent that a file names, and its versions of the spec; the rest is not looked at."""
    wanted = {"version", "digest", "spec"}
    with ExportFile(path) as file:
        first = next(iter(file.header.rows), None)
        if first != "specs":
            raise ExportRefused("This file names no spec.")
        batches = file.batches({first: frozenset(wanted)})
        rows: list[dict[str, Any]] = []
        while len(rows) < file.header.rows[first]:
            rows += next(batches).rows
        return file.header.agent, rows
