"""The HTTP surface: it authenticates, binds the key's scope, calls the library, tells errors."""
