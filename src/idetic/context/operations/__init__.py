"""The reference canonical context of the operator agent: runbooks and their versions."""

from idetic.context.operations.runbooks import Runbooks

__all__ = ["Runbooks"]
