"""Surfaces: thin, without rules and without SQL."""
