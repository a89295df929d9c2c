"""Background work: named jobs, the worker that runs them, and the sweeps that find what is due."""
