"""Background work: named jobs, the worker that runs them, the sweeps that find what is undone."""
