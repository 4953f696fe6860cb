"""A dump of a training step, whichever library wrote it and in whichever format, under neutral names."""

from blueprint.dumps.batch import SCHEMA, Array, Dump, Minibatch, MinibatchError, Moments, Raw
from blueprint.dumps.formats import metadata_of
from blueprint.dumps.formats.writing import save
from blueprint.dumps.inspecting import Inspection, inspect
from blueprint.dumps.place import Place
from blueprint.dumps.read import read_dump, read_minibatch
from blueprint.dumps.share import Share

__all__ = [
    "SCHEMA",
    "Array",
    "Dump",
    "Inspection",
    "Minibatch",
    "MinibatchError",
    "Moments",
    "Place",
    "Raw",
    "Share",
    "inspect",
    "metadata_of",
    "read_dump",
    "read_minibatch",
    "save",
]
