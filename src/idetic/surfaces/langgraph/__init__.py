"""LangGraph on Idetic: the store, and the checkpointer in a schema of its own."""

from idetic.surfaces.langgraph.saver import open_saver, prune, thread
from idetic.surfaces.langgraph.store import IdeticStore

__all__ = ["IdeticStore", "open_saver", "prune", "thread"]
