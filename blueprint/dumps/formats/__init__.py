"""Files of tensors as they are; which format is told by the content, not by the ending."""

from blueprint.dumps.formats.open_and_save import head_of, metadata_of, open_raw, save
from blueprint.dumps.formats.raw import SCHEMA, Array, MinibatchError, Raw, require, said_shape, same_numbers
from blueprint.dumps.formats.relax_bundle import is_bundle

__all__ = [
    "SCHEMA",
    "Array",
    "MinibatchError",
    "Raw",
    "head_of",
    "is_bundle",
    "metadata_of",
    "open_raw",
    "require",
    "said_shape",
    "same_numbers",
    "save",
]
