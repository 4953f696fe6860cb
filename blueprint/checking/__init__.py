"""Checking: saved workbooks held against the outside witness, cell by cell, and what a difference is due to."""

from blueprint.checking.checked_file import Checked, compute_together
from blueprint.checking.verdicts import data, findings, line_of, quantities

__all__ = ["Checked", "compute_together", "data", "findings", "line_of", "quantities"]
