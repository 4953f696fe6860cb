"""Files of tensors as they are, one module per format; which format is told by the content, not by the ending."""

from blueprint.dumps.formats.opening import head_of, metadata_of, open_raw
from blueprint.dumps.formats.raw import SCHEMA, Array, MinibatchError, Raw, require, said_shape, same_numbers
from blueprint.dumps.formats.writing import save

__all__ = [
    "SCHEMA",
    "Array",
    "MinibatchError",
    "Raw",
    "head_of",
    "metadata_of",
    "open_raw",
    "require",
    "said_shape",
    "same_numbers",
    "save",
]
