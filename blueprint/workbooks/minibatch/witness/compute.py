"""A file of a minibatch, from what is typed to its last check."""

from __future__ import annotations

from blueprint.witness.batch import Batch, Rows
from blueprint.witness.live.rows import add_settings
from blueprint.workbooks.minibatch.witness.beside import add_charts, add_checks, add_logged, add_means
from blueprint.workbooks.minibatch.witness.loss import add_loss
from blueprint.workbooks.minibatch.witness.signal import add_signal
from blueprint.workbooks.minibatch.witness.window import Window, add_places


def compute(batch: Batch, rows: Rows) -> None:
    """Adds every quantity of the files to the rows. Raises WitnessError for a mask other than 0 and 1."""
    add_settings(batch, rows)
    window = Window(batch, rows)
    add_places(window)
    add_signal(window)
    add_loss(window)
    add_means(window)
    add_logged(window)
    add_charts(window, rows)
    add_checks(window, rows)
