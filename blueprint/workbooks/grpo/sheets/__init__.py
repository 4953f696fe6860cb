"""The sheets of GRPO on which nothing new is computed: one token from top to bottom, and the pictures."""

from blueprint.workbooks.grpo.sheets.charts import charts_of
from blueprint.workbooks.grpo.sheets.walk import walk_of

__all__ = ["charts_of", "walk_of"]
