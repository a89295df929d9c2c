"""Anthropic's memory tool on Idetic: the files below `/memories`, kept as documents.

The sentences are those that the tool documents.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import assert_never

from anthropic.lib.tools import (
    BetaAbstractMemoryTool,
    BetaAsyncAbstractMemoryTool,
    ToolError,
)
from anthropic.types.beta import (
    BetaMemoryTool20250818Command,
    BetaMemoryTool20250818CreateCommand,
    BetaMemoryTool20250818DeleteCommand,
    BetaMemoryTool20250818InsertCommand,
    BetaMemoryTool20250818RenameCommand,
    BetaMemoryTool20250818StrReplaceCommand,
    BetaMemoryTool20250818ViewCommand,
)

from idetic.errors import IdeticError, InputError, NotFound
from idetic.library.handles import Memory
from idetic.surfaces.bridge import Bridge
from idetic.surfaces.documents import Namespace, Put, StoredDocument
from idetic.surfaces.shelf import Shelf
from idetic.verbs.handle import SyncHandle

ROOT = "memories"
_UNITS = "BKMG"
_LISTED = "Here're the files and directories up to 2 levels deep in {path}, excluding hidden items:"
_EDITED = (
    "The memory file has been edited. Here is the snippet showing the change (with line numbers):"
)


class MemoryFiles:
    """Views and edits files; every version that an edit replaced is kept."""

    def __init__(self, shelf: Shelf):
        self._shelf = shelf

    async def view(self, path: str, view_range: Sequence[int] | None = None) -> str:
        """A file with its lines numbered, or what lies in a directory, two levels deep."""
        where = _parsed(path)
        file = await self._file(where)
        if file is not None:
            first, lines = 1, _text(file).split("\n")
            if view_range and len(view_range) == 2:
                first, last = max(1, view_range[0]), view_range[1]
                lines = lines[first - 1 : None if last == -1 else last]
            return "\n".join(
                [f"Here's the content of {path} with line numbers:", *_numbered(first, lines)]
            )
        below = await self._below(where)
        # Memory without any file is an empty directory, not a missing one.
        if not below and where != (ROOT,):
            raise _missing(path)
        return "\n".join([_LISTED.format(path=path), *_listing(where, below)])

    async def create(self, path: str, text: str) -> str:
        """A new file; one that is there is not overwritten."""
        where = _parsed(path)
        # Whatever lies there: a store may have put something that is no file.
        if (await self._shelf.get_many([(where[:-1], where[-1])]))[0] is not None:
            raise InputError(f"File {path} already exists")
        await self._write(where, text)
        return f"File created successfully at: {path}"

    async def str_replace(self, path: str, old: str, new: str) -> str:
        """Replace a text that stands in the file exactly once."""
        where, text = await self._read(path)
        count = text.count(old) if old else 0
        if count == 0:
            raise InputError(
                f"No replacement was performed, old_str `{old}` did not appear verbatim in {path}."
            )
        if count > 1:
            starts = [n for n in range(len(text)) if text.startswith(old, n)]
            at = ", ".join(str(text[:n].count("\n") + 1) for n in starts)
            raise InputError(
                f"No replacement was performed. Multiple occurrences of old_str `{old}` in lines: "
                f"{at}. Please ensure it is unique"
            )
        line = text[: text.index(old)].count("\n")
        changed = text.replace(old, new)
        await self._write(where, changed)
        first = max(0, line - 2)
        shown = changed.split("\n")[first : line + 3]
        return "\n".join([_EDITED, *_numbered(first + 1, shown)])

    async def insert(self, path: str, line: int, text: str) -> str:
        """Insert a text after so many lines."""
        where, before = await self._read(path)
        lines = before.splitlines()
        if not 0 <= line <= len(lines):
            raise InputError(
                f"Invalid `insert_line` parameter: {line}. "
                f"It should be within the range [0, {len(lines)}]."
            )
        # Every line is given its end below; a text that has one would end twice.
        lines.insert(line, text.removesuffix("\n"))
        await self._write(where, "\n".join(lines) + "\n")
        return f"The file {path} has been edited."

    async def delete(self, path: str) -> str:
        """Archive a file, or all that lies in a directory."""
        where = _parsed(path)
        if where == (ROOT,):
            raise InputError("Cannot delete the /memories directory itself")
        files = await self._all(where)
        if not files:
            raise NotFound(f"The path {path} does not exist")
        await self._shelf.delete_many([(d.namespace, d.key) for d in files])
        return f"Successfully deleted {path}"

    async def rename(self, old_path: str, new_path: str) -> str:
        """Move a file or a directory to a path that is free."""
        old, new = _parsed(old_path), _parsed(new_path)
        if new[: len(old)] == old:
            raise InputError(f"Cannot move {old_path} into itself")
        files = await self._all(old)
        if not files:
            raise NotFound(f"The path {old_path} does not exist")
        if await self._all(new):
            raise InputError(f"The destination {new_path} already exists")
        moved = [(*new, *_whole(each)[len(old) :]) for each in files]
        # Written before the old ones go: an interruption leaves two copies, never none.
        await self._shelf.put_many(
            Put(path[:-1], path[-1], each.value) for path, each in zip(moved, files, strict=True)
        )
        await self._shelf.delete_many([(d.namespace, d.key) for d in files], "renamed")
        return f"Successfully renamed {old_path} to {new_path}"

    async def clear(self) -> str:
        """Archive every file."""
        files = await self._below((ROOT,))
        await self._shelf.delete_many([(d.namespace, d.key) for d in files], "cleared")
        return "All memory cleared"

    async def _file(self, where: Namespace) -> StoredDocument | None:
        """The file at a path; None for a directory and for a path where nothing lies."""
        (document,) = await self._shelf.get_many([(where[:-1], where[-1])])
        return document if document is not None and _is_file(document) else None

    async def _below(self, where: Namespace) -> list[StoredDocument]:
        """Every file in a directory, at any depth."""
        return [d async for page in self._shelf.pages(where) for d in page if _is_file(d)]

    async def _all(self, where: Namespace) -> list[StoredDocument]:
        """The file at a path, if there is one, and every file below it."""
        file = await self._file(where)
        return [*([] if file is None else [file]), *await self._below(where)]

    async def _read(self, path: str) -> tuple[Namespace, str]:
        """A file's place and its text; raises NotFound where there is no file."""
        where = _parsed(path)
        file = await self._file(where)
        if file is None:
            raise _missing(path)
        return where, _text(file)

    async def _write(self, where: Namespace, text: str) -> None:
        """Put a text at a path, which must name a file and not `/memories` itself."""
        if len(where) < 2:
            raise InputError("A file needs a name below /memories")
        await self._shelf.put_many([Put(where[:-1], where[-1], {"text": text})])

    async def run(self, command: BetaMemoryTool20250818Command) -> str:
        """Carry a command of the tool out."""
        match command:
            case BetaMemoryTool20250818ViewCommand():
                return await self.view(command.path, command.view_range)
            case BetaMemoryTool20250818CreateCommand():
                return await self.create(command.path, command.file_text)
            case BetaMemoryTool20250818StrReplaceCommand():
                return await self.str_replace(command.path, command.old_str, command.new_str)
            case BetaMemoryTool20250818InsertCommand():
                return await self.insert(command.path, command.insert_line, command.insert_text)
            case BetaMemoryTool20250818DeleteCommand():
                return await self.delete(command.path)
            case BetaMemoryTool20250818RenameCommand():
                return await self.rename(command.old_path, command.new_path)
        assert_never(command)


class IdeticAsyncMemoryTool(BetaAsyncAbstractMemoryTool):
    """The memory tool for `AsyncAnthropic`. The scope is the memory's; a path cannot leave it."""

    def __init__(self, memory: Memory | SyncHandle):
        super().__init__()
        self._bridge = Bridge(memory)
        self._files = MemoryFiles(Shelf(self._bridge.memory))

    async def _run(self, command: BetaMemoryTool20250818Command) -> str:
        """Run a command; a refusal is raised as the SDK's own error."""
        with _told_as_the_sdk_wants():
            return await self._bridge.awaited(lambda: self._files.run(command))

    view = create = str_replace = insert = delete = rename = _run

    async def clear_all_memory(self) -> str:
        """Archive every file."""
        with _told_as_the_sdk_wants():
            return await self._bridge.awaited(self._files.clear)


class IdeticMemoryTool(BetaAbstractMemoryTool):
    """The memory tool for `Anthropic`: the same, for code that cannot await."""

    def __init__(self, memory: Memory | SyncHandle):
        super().__init__()
        self._bridge = Bridge(memory)
        self._files = MemoryFiles(Shelf(self._bridge.memory))

    def _run(self, command: BetaMemoryTool20250818Command) -> str:
        """Run a command; a refusal is raised as the SDK's own error."""
        with _told_as_the_sdk_wants():
            return self._bridge.blocking(lambda: self._files.run(command))

    view = create = str_replace = insert = delete = rename = _run

    def clear_all_memory(self) -> str:
        """Archive every file."""
        with _told_as_the_sdk_wants():
            return self._bridge.blocking(self._files.clear)


@contextmanager
def _told_as_the_sdk_wants() -> Iterator[None]:
    """Raise our errors as the SDK's `ToolError`, with the sentence alone."""
    try:
        yield
    except IdeticError as error:
        raise ToolError(error.message) from None


def _parsed(path: str) -> Namespace:
    """The path's names. None is a file of this machine; a path that climbs is refused anyway."""
    names = path.removesuffix("/").split("/") if isinstance(path, str) else []
    if names[:2] != ["", ROOT]:
        raise InputError(f"Path must start with /memories, got: {path}")
    if any(name in ("", ".", "..") for name in names[1:]):
        raise InputError(f"Path {path} would escape /memories directory")
    return tuple(names[1:])


def _missing(path: str) -> NotFound:
    """The error for a path where nothing lies, in the tool's own words."""
    return NotFound(f"The path {path} does not exist. Please provide a valid path.")


def _is_file(document: StoredDocument) -> bool:
    """Whether a document is a file: a store may have put something else in its place."""
    return document.value.keys() == {"text"} and isinstance(document.value["text"], str)


def _text(file: StoredDocument) -> str:
    """A file's text, which its document holds under `text`."""
    text: str = file.value["text"]
    return text


def _whole(file: StoredDocument) -> Namespace:
    """A file's whole path: its directories and its name."""
    return (*file.namespace, file.key)


def _numbered(first: int, lines: Sequence[str]) -> list[str]:
    """Lines as a view shows them: the number in six columns, a tab, the text."""
    return [f"{number:6d}\t{line}" for number, line in enumerate(lines, start=first)]


def _listing(where: Namespace, files: Sequence[StoredDocument]) -> list[str]:
    """The directory, and what lies in it two levels deep, each after its size."""
    sizes: dict[Namespace, int] = {where: 0}
    folders = {where}
    for each in files:
        path, size = _whole(each), len(_text(each).encode())
        if any(name.startswith(".") for name in path[len(where) :]):
            continue
        for depth in range(len(where), min(len(path), len(where) + 2) + 1):
            sizes[path[:depth]] = sizes.get(path[:depth], 0) + size
            if depth < len(path):
                folders.add(path[:depth])
    return [
        f"{_size(size)}\t/{'/'.join(path)}{'/' if path in folders and path != where else ''}"
        for path, size in sorted(sizes.items())
    ]


def _size(count: int) -> str:
    """A number of bytes in the largest unit that fits, such as 1.5K."""
    unit, size = 0, float(count)
    while size >= 1024 and unit < len(_UNITS) - 1:
        unit, size = unit + 1, size / 1024
    return f"{size:.1f}".removesuffix(".0") + _UNITS[unit]
