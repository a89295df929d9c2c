"""Recall: signals, fusion, decay, explanation, and the context they end up in."""
