"""The way back on a workbook's pages: every sheet between the loss and the weights ends with the adjoints of what it holds."""

from dataclasses import replace

from blueprint.language.gradient import Gradient
from blueprint.page.outline import Blueprint
from blueprint.workbooks.common.sheets.backward.drawn import with_charts
from blueprint.workbooks.common.sheets.backward.sections import with_sections
from blueprint.workbooks.common.sheets.backward.walked import with_walk
from blueprint.workbooks.common.sheets.backward.watched import with_watched


def with_backward(blueprint: Blueprint, made: Gradient) -> Blueprint:
    """Adds the gradient of its loss to a workbook."""
    shown = with_charts(with_walk(with_watched(with_sections(blueprint, made)), made))
    return replace(shown, facts={**shown.facts, "gradients": "on"})
