"""Background work on procrastinate: what a worker does, and what may enqueue it."""
