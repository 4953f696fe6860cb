"""Name what numbers are made of: arrays, settings, rows of different lengths."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Settings = dict[str, float | str]
Ragged = tuple[tuple[float, ...], ...]
