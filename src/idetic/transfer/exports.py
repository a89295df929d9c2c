"""Export: a whole anchor as a file of one moment, JSON Lines between a header and a manifest.

docs/reference/export-format.md defines it. Everything is spelt in exactly one way, so that the
manifest need not be read: whoever reads a file computes it, and compares the bytes.
"""

from __future__ import annotations

import errno
import hashlib
import json
import os
import secrets
import time
from collections.abc import AsyncGenerator, AsyncIterator, Iterator, Mapping
from contextlib import aclosing
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Self

from anyio import to_thread

from idetic.engine import Binding
from idetic.errors import ExportRefused, InputError
from idetic.model import Capability, PlainData, plain
from idetic.store.audit_rows import chain_name
from idetic.store.export_rows import batches, count, leaving, row_kinds
from idetic.telemetry import finished
from idetic.verbs.arguments import Progress
from idetic.verbs.declaration import get, stream_verb, verb

FORMAT = "idetic-anchor"
VERSION = 1
LEDGER = "ledger"
# A row ends with a brace and a line feed.
END = b"}\n"
# A batch is handed over at either bound; a line beyond the last is no row of ours.
_ROWS, _BYTES = 500, 1 << 20
_LINE = 64 << 20
# Columns that came after the first exports; whoever takes such a row in knows what they were.
_LATER = frozenset({"piece"})
_NO_LINKS = (errno.EPERM, errno.ENOTSUP, errno.EMLINK)
# A file that nobody made before, and that no link leads elsewhere; only its owner can read it.
NEW = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW
_text = json.JSONEncoder(ensure_ascii=False).encode


@dataclass(frozen=True, slots=True)
class Header:
    """What a file says of itself: whose memory, under which spec, how many rows of each kind."""

    agent: str
    family: str
    anchor: Mapping[str, Any]
    spec_version: int
    spec_digest: str
    vectors: bool
    rows: Mapping[str, int]

    def line(self) -> bytes:
        """The first line."""
        said = {
            "format": FORMAT,
            "version": VERSION,
            "agent": self.agent,
            "family": self.family,
            "anchor": plain(self.anchor),
            "spec": {"version": self.spec_version, "digest": self.spec_digest},
            "vectors": self.vectors,
            "rows": dict(self.rows),
        }
        return f"{_text(said)}\n".encode()

    @classmethod
    def read(cls, line: bytes) -> Self:
        """The header that a first line says, or why it is none."""
        said = parsed(line)
        if not isinstance(said, dict) or said.get("format") != FORMAT:
            raise ExportRefused("This file is not an export of Idetic.")
        if said.get("version") != VERSION:
            raise ExportRefused(
                "This export is of another version of the format.",
                remedy=f"This release reads version {VERSION}. Nothing was written.",
            )
        try:
            spec = said["spec"]["version"], said["spec"]["digest"]
            whose = said["agent"], said["family"], said["anchor"]
            made = cls(*whose, *spec, said["vectors"], said["rows"])
            sound = all(type(n) is int for n in made.rows.values()) and made.line() == line
        except (KeyError, TypeError, AttributeError):
            sound = False
        if not sound:
            raise ExportRefused("The first line of this file is not an export's header.")
        return made

    @property
    def total(self) -> int:
        """How many rows the file has."""
        return sum(self.rows.values())


def framed(kind: str) -> bytes:
    """What stands before each row of a kind."""
    return f'{{"kind": {_text(kind)}, "row": '.encode()


def parsed(text: bytes) -> Any:
    """JSON, or a refusal that repeats nothing of it."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        raise ExportRefused("A line of this file is not JSON.") from None


def open_file(path: str | Path) -> BinaryIO:
    """The file of a path, for reading."""
    try:
        return Path(path).open("rb")
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else "its name is no path"
        raise InputError(f"The file cannot be read: {why}.") from None


@dataclass(slots=True)
class Seal:
    """Running hashes over the lines of a file, and the manifest that they come to."""

    whole: Any = field(default_factory=hashlib.sha256)
    kinds: dict[str, tuple[Any, int]] = field(default_factory=dict)
    position: int = 0
    head: str = ""

    def header(self, line: bytes, header: Header) -> None:
        """Take the first line."""
        self.whole.update(line)
        self.kinds = {kind: (hashlib.sha256(), 0) for kind in header.rows}

    def rows(self, kind: str, lines: bytes, count: int) -> None:
        """Take some lines of one kind."""
        self.whole.update(lines)
        digest, before = self.kinds[kind]
        digest.update(lines)
        self.kinds[kind] = (digest, before + count)

    def end(self, link: Mapping[str, Any]) -> None:
        """Take note of the last link of the chain: the head, for whoever kept one."""
        self.position, self.head = link["position"], str(link["hash"]).removeprefix("\\x")

    def counted(self) -> dict[str, int]:
        """How many rows of each kind were taken."""
        return {kind: count for kind, (_, count) in self.kinds.items()}

    def manifest(self) -> bytes:
        """The last line: a hash for each kind, the chain's head, a hash over all lines before."""
        kinds = {
            kind: {"rows": count, "sha256": digest.hexdigest()}
            for kind, (digest, count) in self.kinds.items()
        }
        head = {"position": self.position, "hash": self.head}
        said = {"kinds": kinds, "head": head, "sha256": self.whole.hexdigest()}
        return f"{_text({'manifest': said})}\n".encode()


class RowBatch(NamedTuple):
    """Some rows of one kind, as they stand in the file and as they were read."""

    kind: str
    texts: list[str]
    rows: list[dict[str, Any]]


class ExportFile:
    """One export, read from its beginning to its end, once; never much of it at a time.

    Every line is checked against the format, and the whole against its manifest.
    """

    def __init__(self, path: str | Path):
        self._file = open_file(path)
        self._seal = Seal()
        self._number = 1
        try:
            first = self._line()
            self.header = Header.read(first)
        except BaseException:
            self._file.close()
            raise
        self._seal.header(first, self.header)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *error: object) -> None:
        self._file.close()

    def batches(self, columns: Mapping[str, frozenset[str]]) -> Iterator[RowBatch]:
        """Every row, kind by kind; raises unless the file ends as its manifest says."""
        for kind, wanted in self.header.rows.items():
            yield from self._kind(kind, wanted, columns[kind])
        if self._line() != self._seal.manifest():
            raise ExportRefused(
                f"Line {self._number}: the manifest does not match the lines before it; the file "
                "was changed or damaged."
            )
        if self._file.read(1):
            raise ExportRefused("This file has more lines after its manifest.")

    def _kind(self, kind: str, wanted: int, columns: frozenset[str]) -> Iterator[RowBatch]:
        """The rows of one kind in batches of bounded size, each line sealed as it is read."""
        start, done = framed(kind), 0
        while done < wanted:
            lines: list[bytes] = []
            size = 0
            while len(lines) < min(_ROWS, wanted - done) and size < _BYTES:
                lines.append(self._line())
                size += len(lines[-1])
                if not lines[-1].startswith(start) or not lines[-1].endswith(END):
                    raise ExportRefused(f"Line {self._number} is not a row of {kind}.")
            texts = [line[len(start) : -len(END)] for line in lines]
            rows = [self._row(text, columns) for text in texts]
            self._seal.rows(kind, b"".join(lines), len(lines))
            done += len(lines)
            if kind == LEDGER:
                self._seal.end(rows[-1])
            yield RowBatch(kind, [text.decode() for text in texts], rows)

    def _row(self, text: bytes, columns: frozenset[str]) -> dict[str, Any]:
        """One row with the columns that its table has here, or had before some came."""
        row = parsed(text)
        if not isinstance(row, dict) or row.keys() not in (columns, columns - _LATER):
            raise ExportRefused(
                f"A row before line {self._number + 1} has other columns than expected.",
                remedy="Export and import with the same release. Nothing was written.",
            )
        return row

    def _line(self) -> bytes:
        """The next whole line; a file that ends too early, or a line without end, is refused."""
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
    with ExportFile(path) as file:
        first = next(iter(file.header.rows), None)
        if first != "specs":
            raise ExportRefused("This file names no spec.")
        found = file.batches({first: frozenset({"version", "digest", "spec"})})
        rows: list[dict[str, Any]] = []
        while len(rows) < file.header.rows[first]:
            rows += next(found).rows
        return file.header.agent, rows


# --- the export ---------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Exported(PlainData):
    """The numbers of an export, and the end of its chain."""

    rows: int
    entries: int
    links: int
    size: int
    position: int
    head: str


@stream_verb(
    capability=Capability.EXPORT,
    whole_anchor=True,
    http=get("/export", "moving", media_type="application/x-ndjson"),
    command=None,
)
async def export(
    binding: Binding, *, vectors: bool = False, progress: Progress | None = None
) -> AsyncIterator[bytes]:
    """Give the whole anchor with its history, as the bytes of a file, in pieces."""
    async with aclosing(_lines(binding, Seal(), vectors=vectors, progress=progress)) as lines:
        async for chunk in lines:
            yield chunk


@verb(capability=Capability.EXPORT, whole_anchor=True, command=None)
async def export_to(
    binding: Binding, path: str | Path, *, vectors: bool = False, progress: Progress | None = None
) -> Exported:
    """Write the export to a new file, which gets its name when it is complete."""
    place = free_path(path)
    # A name that nobody can lay a link at beforehand, and that no earlier run has left behind.
    part = place.with_name(f"{place.name}.{secrets.token_hex(8)}.part")
    seal, size = Seal(), 0
    try:
        opened = os.open(part, NEW, 0o600)
        with os.fdopen(opened, "wb") as file:
            async with aclosing(_lines(binding, seal, vectors=vectors, progress=progress)) as lines:
                async for chunk in lines:
                    size += await to_thread.run_sync(file.write, chunk)
            file.flush()
            await to_thread.run_sync(os.fsync, opened)
        _name(part, place)
    except FileExistsError:
        raise _taken() from None
    except OSError as error:
        raise InputError(f"The file cannot be written: {error.strerror}.") from None
    finally:
        part.unlink(missing_ok=True)
    rows = seal.counted()
    total = sum(rows.values())
    return Exported(total, rows["memory"], rows[LEDGER], size, seal.position, seal.head)


async def _lines(
    binding: Binding, seal: Seal, *, vectors: bool, progress: Progress | None
) -> AsyncGenerator[bytes]:
    """The file's bytes, in whole lines. Two exports of one state are equal."""
    scope, engine, started = binding.scope, binding.engine, time.perf_counter()
    async with leaving(engine.anchors, scope) as tx:
        kinds = await row_kinds(tx, vectors=vectors)
        rows = {kind.name: await count(tx, kind) for kind in kinds}
        whose = scope.agent, chain_name(tx.family), scope.anchor
        header = Header(*whose, engine.version, engine.spec.digest, vectors, rows)
        first = header.line()
        seal.header(first, header)
        yield first
        done = 0
        for kind in kinds:
            start, last = framed(kind.name), ""
            async for texts in batches(tx, kind):
                lines = b"".join(start + text.encode() + END for text in texts)
                seal.rows(kind.name, lines, len(texts))
                last = texts[-1]
                done += len(texts)
                if progress is not None:
                    progress(done, header.total)
                yield lines
            if kind.name == LEDGER and last:
                seal.end(parsed(last.encode()))
    finished("export", time.perf_counter() - started, None, scope=scope, rows=done)
    yield seal.manifest()


def _name(part: Path, place: Path) -> None:
    """Give a finished file its name, unless somebody has taken that meanwhile."""
    try:
        place.hardlink_to(part)
    except OSError as error:
        if error.errno not in _NO_LINKS:
            raise
        # A file system that knows one name for each file.
        part.rename(place)


def _taken() -> InputError:
    """The refusal to write over what is there."""
    return InputError(
        "There is a file of that name already.", remedy="Choose another name, or remove it first."
    )


def free_path(path: str | Path) -> Path:
    """The path as one that can be written to, where nothing is yet."""
    if not isinstance(path, str | Path) or not str(path) or "\x00" in str(path):
        raise InputError("An export needs the path of a file.")
    place = Path(path)
    if place.exists() or place.is_symlink():
        raise _taken()
    return place
