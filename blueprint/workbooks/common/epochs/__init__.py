"""Several steps of an optimiser on one batch, of any kind of workbook that has weights and a total loss: what is typed of them
(`PARTS`, `update_of`), the sheets of each step (`with_epochs`), and all steps side by side (`side_by_side`)."""

from blueprint.workbooks.common.epochs.beside import Beside, Drawn, side_by_side
from blueprint.workbooks.common.epochs.sheets import Epoch
from blueprint.workbooks.common.epochs.steps import Repeated, repeated, with_epochs
from blueprint.workbooks.common.epochs.update import (
    ABOUT,
    PARTS,
    RANGES,
    RATES,
    TYPED,
    Update,
    rate,
    rates_of,
    refuse_typed,
    update_in,
    update_of,
    values_of,
)

__all__ = [
    "ABOUT", "PARTS", "RANGES", "RATES", "TYPED", "Beside", "Drawn", "Epoch", "Repeated", "Update", "rate", "rates_of",
    "refuse_typed", "repeated", "side_by_side", "update_in", "update_of", "values_of", "with_epochs",
]  # fmt: skip
