"""A dump of a training step, whichever library wrote it and in whichever format, under neutral names."""

from blueprint.dumps.batch import SCHEMA, Dump, Minibatch, MinibatchError, Raw
from blueprint.dumps.formats import metadata_of
from blueprint.dumps.formats.writing import save
from blueprint.dumps.inspecting import Inspection, inspect
from blueprint.dumps.place import Place
from blueprint.dumps.read import read_dump, read_minibatch

__all__ = [
    "SCHEMA",
    "Dump",
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
