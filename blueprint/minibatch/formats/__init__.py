"""Files of tensors as they are, one module per format; which format is told by the content, not by the ending."""

from blueprint.minibatch.formats.opening import open_raw

__all__ = ["open_raw"]
