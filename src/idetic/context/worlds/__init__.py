"""The reference canonical context of the World Agent: worlds, rules and their versions."""

from idetic.context.worlds.worlds import Worlds

__all__ = ["Worlds"]
