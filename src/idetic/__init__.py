"""Idetic: governed memory for AI agents, on PostgreSQL."""

__version__ = "0.1.0"
