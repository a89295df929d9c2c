"""Benchmarks: one task a module, `python -m bench.<task>`."""
