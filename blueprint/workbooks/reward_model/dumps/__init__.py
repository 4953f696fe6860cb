"""Dumps of steps of a reward model: their names, their pairs, and what a library's own words say of its conventions."""

from blueprint.workbooks.reward_model.dumps.read import DUMPS, NAMES
from blueprint.workbooks.reward_model.dumps.step import ScoredPairs

__all__ = ["DUMPS", "NAMES", "ScoredPairs"]
