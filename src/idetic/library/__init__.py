"""The Python surface: handles that bind a scope and call the rooms below."""
