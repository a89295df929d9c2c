"""The queues: what waits for somebody's decision, and the deciding."""
