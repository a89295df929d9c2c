"""The spec: every agent's memory as declared answers to the primitives."""
