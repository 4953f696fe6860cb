"""Files of tensors as they are, one module per format; which format is told by the content, not by the ending."""

from blueprint.dumps.formats.opening import metadata_of, open_raw

__all__ = ["metadata_of", "open_raw"]
