"""The two forms of the tool that the SDK knows, blocking and not, over the same files."""

from __future__ import annotations

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

from idetic.errors import IdeticError
from idetic.library.handles import Memory
from idetic.surfaces.anthropic.files import MemoryFiles
from idetic.surfaces.bridge import Bridge
from idetic.surfaces.documents import Shelf
from idetic.verbs.handle import SyncHandle


class _Files:
    """What both forms do with a command: carry it out, and tell a refusal as the SDK wants it."""

    def __init__(self, memory: Memory | SyncHandle):
        self._bridge = Bridge(memory)
        self._files = MemoryFiles(Shelf(self._bridge.memory))

    async def awaited(self, command: BetaMemoryTool20250818Command | None) -> str:
        try:
            return await self._bridge.awaited(lambda: self._done(command))
        except IdeticError as error:
            raise ToolError(error.message) from None

    def blocking(self, command: BetaMemoryTool20250818Command | None) -> str:
        try:
            return self._bridge.blocking(lambda: self._done(command))
        except IdeticError as error:
            raise ToolError(error.message) from None

    async def _done(  # noqa: PLR0911 - one for each command
        self, command: BetaMemoryTool20250818Command | None
    ) -> str:
        files = self._files
        match command:
            case None:
                return await files.clear()
            case BetaMemoryTool20250818ViewCommand():
                return await files.view(command.path, command.view_range)
            case BetaMemoryTool20250818CreateCommand():
                return await files.create(command.path, command.file_text)
            case BetaMemoryTool20250818StrReplaceCommand():
                return await files.str_replace(command.path, command.old_str, command.new_str)
            case BetaMemoryTool20250818InsertCommand():
                return await files.insert(command.path, command.insert_line, command.insert_text)
            case BetaMemoryTool20250818DeleteCommand():
                return await files.delete(command.path)
            case BetaMemoryTool20250818RenameCommand():
                return await files.rename(command.old_path, command.new_path)
        assert_never(command)


class IdeticAsyncMemoryTool(BetaAsyncAbstractMemoryTool):
    """The memory tool for `AsyncAnthropic`. The scope is the memory's; a path cannot leave it."""

    def __init__(self, memory: Memory | SyncHandle):
        super().__init__()
        self._files = _Files(memory)

    async def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """View a file or a directory."""
        return await self._files.awaited(command)

    async def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Create a file."""
        return await self._files.awaited(command)

    async def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text in a file."""
        return await self._files.awaited(command)

    async def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert a text into a file."""
        return await self._files.awaited(command)

    async def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Archive a file or a directory."""
        return await self._files.awaited(command)

    async def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Move a file or a directory."""
        return await self._files.awaited(command)

    async def clear_all_memory(self) -> str:
        """Archive every file."""
        return await self._files.awaited(None)


class IdeticMemoryTool(BetaAbstractMemoryTool):
    """The memory tool for `Anthropic`: the same, for code that cannot await."""

    def __init__(self, memory: Memory | SyncHandle):
        super().__init__()
        self._files = _Files(memory)

    def view(self, command: BetaMemoryTool20250818ViewCommand) -> str:
        """View a file or a directory."""
        return self._files.blocking(command)

    def create(self, command: BetaMemoryTool20250818CreateCommand) -> str:
        """Create a file."""
        return self._files.blocking(command)

    def str_replace(self, command: BetaMemoryTool20250818StrReplaceCommand) -> str:
        """Replace a text in a file."""
        return self._files.blocking(command)

    def insert(self, command: BetaMemoryTool20250818InsertCommand) -> str:
        """Insert a text into a file."""
        return self._files.blocking(command)

    def delete(self, command: BetaMemoryTool20250818DeleteCommand) -> str:
        """Archive a file or a directory."""
        return self._files.blocking(command)

    def rename(self, command: BetaMemoryTool20250818RenameCommand) -> str:
        """Move a file or a directory."""
        return self._files.blocking(command)

    def clear_all_memory(self) -> str:
        """Archive every file."""
        return self._files.blocking(None)
