"""The routes, one module for each kind of work; each route is one call of the library."""
