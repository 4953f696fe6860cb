"""Files as arrays, under their former name, for tests of other methods."""

from tests.rows import Array, arrays

__all__ = ["Array", "arrays"]
