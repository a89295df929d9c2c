"""The gateway: the only write path."""
