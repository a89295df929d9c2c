"""The demo world: stories of two organisations, what plays them, and who is in it."""

from idetic.world.organisations import Domain, Login, Organisation, World, WorldAction, WorldPersona
from idetic.world.player import load_world

__all__ = [
    "Domain",
    "Login",
    "Organisation",
    "World",
    "WorldAction",
    "WorldPersona",
    "load_world",
]
