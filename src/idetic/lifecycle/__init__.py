"""Primitives 6 to 11 at work: scope close, promotion, conflict, consolidation, retention."""
