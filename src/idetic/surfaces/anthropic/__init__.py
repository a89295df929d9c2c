"""Anthropic's memory tool on Idetic."""

from idetic.surfaces.anthropic.tool import IdeticAsyncMemoryTool, IdeticMemoryTool

__all__ = ["IdeticAsyncMemoryTool", "IdeticMemoryTool"]
