"""Primitive 14: transformations at a boundary. A gate says what it changed; it never guesses."""
