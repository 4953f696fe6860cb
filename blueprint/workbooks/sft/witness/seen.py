"""What the charts draw: cost and pull over the probability of a label, a dot for each label that counts, and words below bars."""

import numpy as np
import torch

from blueprint.witness import Batch, Held, Named, Rows, block, norm_bars


def chart_rows(batch: Batch, rows: Held) -> Named:
    """Returns curves, dots and the bars of norms, where a file has such charts."""
    file, found = batch.files[0], dict[str, torch.Tensor]()
    if "curve.p" in file:
        likely, counts = batch.typed("curve.p")[0], rows["label.counts"] > 0
        found = {
            "curve.cost": likely.reciprocal().log(),
            "curve.pull": 1 - likely,
            "dot.p": rows["policy.logprobs"].exp().where(counts, torch.tensor(-1.0, dtype=likely.dtype)),
            "dot.cost": torch.zeros_like(rows["policy.logprobs"]).where(~counts, -rows["policy.logprobs"]),
        }
    return found | norm_bars(batch, rows)


def add_words(batch: Batch, rows: Rows, counts: torch.Tensor) -> None:
    """Adds the words below the bars: those of labels that count. counts: 1 where one does, [B, T]."""
    if "bar.word" in batch.files[0]:
        words = block(batch.files[0], "word_written")[:, -counts.shape[1] :]
        rows.add_words("bar.word", [np.where(counts.cpu().numpy() > 0, words, "")])
