"""The sheets of DPO that show others again: one pair from top to bottom, and the pictures."""

from blueprint.workbooks.dpo.sheets.walk import walk_of

__all__ = ["walk_of"]
