"""Audit: whether a chain is whole, and what an action rested on."""
