"""The demo world: stories of two organisations, what plays them, and who is in it."""

from idetic.world.loading import load_world
from idetic.world.places import Action, Domain, Login, Organisation, PersonaAgent, World

__all__ = ["Action", "Domain", "Login", "Organisation", "PersonaAgent", "World", "load_world"]
