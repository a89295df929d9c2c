"""Audit: verify that a chain is whole, and explain what an action rested on."""
