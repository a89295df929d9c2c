"""Reasoners behind the port: background work only, never on the write path."""
