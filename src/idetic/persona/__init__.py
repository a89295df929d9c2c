"""Persona memory: a perfect log, its long-term mirror, loops, and an Actor that cannot peek."""
