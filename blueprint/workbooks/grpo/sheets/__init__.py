"""The sheets of GRPO: the steps in order, one token from top to bottom, and the pictures."""

from blueprint.workbooks.grpo.sheets.charts import charts_of
from blueprint.workbooks.grpo.sheets.steps import step_sheets
from blueprint.workbooks.grpo.sheets.walk import walk_of

__all__ = ["charts_of", "step_sheets", "walk_of"]
