"""Holds everything the package writes and says against what it wrote and said before: `python -m tests.same`."""
