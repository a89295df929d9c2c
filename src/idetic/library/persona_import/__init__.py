"""Bringing an existing CHAOS layout, a SQLite file, into persona memory."""
