"""Dumps of steps of GRPO and its family: their names, their groups, and what a library's own words say of its conventions."""

from blueprint.workbooks.grpo.dumps.groups import NO_GROUP
from blueprint.workbooks.grpo.dumps.read import DUMPS, NAMES
from blueprint.workbooks.grpo.dumps.step import GroupedStep

__all__ = ["DUMPS", "NAMES", "NO_GROUP", "GroupedStep"]
