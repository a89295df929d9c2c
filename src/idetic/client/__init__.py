"""The library's verbs over HTTP: `async with connect(url, key) as memory`."""

from idetic.client.connect import connect, connect_sync
from idetic.client.handles import RemoteInteraction, RemoteMemory, RemoteSession

__all__ = ["RemoteInteraction", "RemoteMemory", "RemoteSession", "connect", "connect_sync"]
