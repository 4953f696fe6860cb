"""Dumps of steps of DPO and its relatives: their names, their pairs, and what a library's own words say of its conventions."""

from blueprint.workbooks.dpo.dumps.read import DUMPS, NAMES
from blueprint.workbooks.dpo.dumps.step import PairStep

__all__ = ["DUMPS", "NAMES", "PairStep"]
