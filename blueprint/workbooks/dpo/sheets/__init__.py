"""The sheets of DPO that show others again: one pair from top to bottom, and the pictures."""

from blueprint.workbooks.dpo.sheets.charts import charts_of
from blueprint.workbooks.dpo.sheets.steps import of_pairs, step_sheets
from blueprint.workbooks.dpo.sheets.walk import walk_of

__all__ = ["charts_of", "of_pairs", "step_sheets", "walk_of"]
