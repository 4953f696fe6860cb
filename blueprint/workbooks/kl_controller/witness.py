"""The adaptive KL controller: β follows the KL of the responses, batch after batch.

Source: Ziegler et al. 2019 (Fine-Tuning Language Models from Human Preferences), sec. 2.2: e = clip(KL/target − 1, ±0.2),
β ← β·(1 + K_β·e); openai/lm-human-preferences has K_β = n/horizon. Tensors are [F, U] or [F, U, I]: file, update, response.
"""

from collections.abc import Sequence

import torch

from blueprint.witness import Batch, KindWitness, Named, Rows, Tie, add_settings, add_verdicts, picked, within


def compute(batch: Batch, rows: Rows) -> Sequence[Tie]:
    """Adds every quantity of the files to the rows."""
    add_settings(batch, rows)
    rows.add(fed_rows(batch), whole=True)
    rows.add(beta_rows(batch, rows["kl.fed"]), whole=True)
    add_verdicts(batch, rows, distances(batch, rows))
    return ()


def fed_rows(batch: Batch) -> Named:
    """Returns the KL of a batch, per response and per word, and the one that is fed."""
    sums, lengths = batch.typed("responses.kl"), batch.typed("responses.length")
    per_word = sums / lengths
    means = torch.stack([sums.mean(dim=-1), per_word.mean(dim=-1)])
    fed = picked(batch.option("kl_stat", ("seq_sum", "token_mean")), list(means))
    return {
        "responses.count": torch.full_like(sums[:, 0, 0], sums.shape[-1]),
        "kl.seq_sum": means[0],
        "responses.kl_per_word": per_word,
        "kl.token_mean": means[1],
        "kl.fed": fed,
    }


def beta_rows(batch: Batch, kl: torch.Tensor) -> Named:
    """Returns error, factor and β of every update; β after u updates is its first value times u factors."""
    target, horizon, steps, most, first = (
        batch.setting(name)[..., 0] for name in ("target", "horizon", "n_steps", "error_clip", "kl_coef")
    )
    raw = (kl - target) / target
    error = within(raw, most)
    factor = 1 + error * steps / horizon
    product = torch.cat([torch.ones_like(first), factor], dim=-1).cumprod(dim=-1)
    updates = torch.full_like(first[:, 0], kl.shape[-1])
    beta = first * product
    return {
        "error.raw": raw,
        "error": error,
        "factor": factor,
        "kl_coef.after": beta,
        "kl_coef.before": beta[..., :-1],
        "updates": updates,
        "last_update": updates - 1,
        "final_kl_coef": beta[..., -1],
        "identity.product": product,
    }


def distances(batch: Batch, rows: Rows) -> Named:
    """Returns how far factors, directions, signs, lengths, settings and the product of all factors are from what they must be."""
    most = (batch.setting("error_clip") * batch.setting("n_steps") / batch.setting("horizon"))[..., 0]
    target, first = batch.setting("target")[..., 0], batch.setting("kl_coef")[..., 0]
    after = rows["kl_coef.after"][..., 1:]
    return {
        "check.factor": ((rows["factor"] - 1).abs() - most).clamp(min=0),
        "check.way": (-rows["error"] * (rows["kl.fed"] - target)).clamp(min=0),
        "check.positive": (-after).clamp(min=0),
        "check.length": (1 - batch.typed("responses.length")).clamp(min=0),
        "check.settings": batch.outside_all,
        "check.product": (first * rows["identity.product"][..., 1:] - after).abs(),
    }


WITNESS = KindWitness(("responses.kl",), ("responses.kl",), compute)
