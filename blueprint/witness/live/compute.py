"""A file whose conventions are live, from what is typed to its last check."""

from __future__ import annotations

from blueprint.witness.batch import Batch, Rows, is_weights
from blueprint.witness.live import checks, from_logits, from_weights, libraries, watched
from blueprint.witness.live.rows import add_conventions, add_settings, options_of, texts_of
from blueprint.witness.rollout import Tie


def compute(batch: Batch, rows: Rows, numbers_of_files: list[int]) -> list[Tie]:
    """Adds every quantity of the files to the rows and returns the draws that are ties."""
    add_settings(batch, rows)
    weights = is_weights(batch.files[0])
    start = from_weights.compute(batch, rows, numbers_of_files) if weights else from_logits.compute(batch, rows)
    texts = texts_of(rows, start.mask)
    add_conventions(batch, rows, texts, options_of(batch))
    watched.add_diagnostics(batch, rows, start.mask)
    libraries.add_libraries(batch, rows, texts)
    watched.add_charts(batch, rows, start)
    checks.add_checks(batch, rows, start.mask)
    return start.ties
