"""A dump of a training step, whichever library wrote it and in whichever format, under neutral names."""

from blueprint.minibatch.batch import SCHEMA, Minibatch, MinibatchError, Raw

__all__ = ["SCHEMA", "Minibatch", "MinibatchError", "Raw"]
