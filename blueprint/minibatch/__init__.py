"""A dump of a training step, whichever library wrote it and in whichever format, under neutral names."""

from blueprint.minibatch.batch import SCHEMA, Minibatch, MinibatchError, Raw
from blueprint.minibatch.formats import metadata_of
from blueprint.minibatch.inspecting import Inspection, inspect
from blueprint.minibatch.place import Place
from blueprint.minibatch.read import read_dump, read_minibatch
from blueprint.minibatch.save import save

__all__ = [
    "SCHEMA",
    "Inspection",
    "Minibatch",
    "MinibatchError",
    "Place",
    "Raw",
    "inspect",
    "metadata_of",
    "read_dump",
    "read_minibatch",
    "save",
]
