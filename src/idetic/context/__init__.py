"""Canonical contexts that ship with Idetic as references for users' own."""
