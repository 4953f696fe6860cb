"""The notation: what may be written, what it means, and how it is spelled."""
