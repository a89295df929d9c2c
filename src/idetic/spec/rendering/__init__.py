"""The sections of a rendered spec, one per primitive."""
