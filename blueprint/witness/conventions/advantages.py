"""Advantages by GAE over the slots, with what is kept of values behind the last word, and their whitening.

Sources: Schulman et al. 2016 (Generalized Advantage Estimation), eq. 16; verl 0.9.1, core_algos.py:216, and NeMo-RL,
advantage_estimator.py, for slots that V and A are carried over. Tensors are [F, N, T].
"""

from __future__ import annotations

import torch

from blueprint.witness.conventions.options import Options
from blueprint.witness.conventions.texts import Texts
from blueprint.witness.conventions.whitening import moment_rows
from blueprint.witness.gae import masked_sums
from blueprint.witness.models import Held, Named
from blueprint.witness.signal import with_end


def gae_rows(texts: Texts, rows: Held, options: Options) -> Named:
    """Returns δ_t = r_t + γ·V_{t+1} − V_t, A_t = δ_t + γλ·A_{t+1} and the returns A + V.

    A slot that is passed over has no δ: V and A of the slot behind it stand there, for the slot before it.
    """
    slots, gamma, decay = texts.slots, options.number("gamma"), options.number("gae_lambda") * options.number("gamma")
    values = rows["kept"] * texts.old_values
    over = options.says("advantage.gae_holes", "carry") * slots * (1 - rows["kept"])
    ahead = with_end(masked_sums((1 - over) * values, 1.0, over))
    deltas = slots * (1 - over) * (rows["rewards"] + gamma * ahead[..., 1:] - values)
    advantages = masked_sums(deltas, torch.where(over > 0, 1.0, decay), slots)
    return {
        "values.kept": with_end(values),
        "gae.over": over,
        "gae.ahead": ahead,
        "td_errors": deltas,
        "advantages": with_end(advantages),
        "returns": slots * (advantages + values),
    }


def whitened_rows(texts: Texts, rows: Held, options: Options) -> Named:
    """Returns the advantages whitened, with their mean added back (torchtune), and those in use, 0 outside the response."""
    raw = rows["advantages"][..., :-1]
    counted = torch.where(options.says("advantage.stats", "all"), texts.slots, rows["response"])
    found = moment_rows("advantage", raw, counted, options)
    mean, divisor = (found[f"advantage.{each}"][:, None, None] for each in ("mean", "divisor"))
    centred = counted * (raw - mean)
    whitened = centred / divisor
    shifted = whitened + counted * mean
    used = options.pick("whiten_advantages", {"on": whitened, "off": raw, "keep_mean": shifted})
    return found | {
        "advantage.centred": centred,
        "advantage.whitened": whitened,
        "advantage.shifted": shifted,
        "advantages_used": rows["response"] * used,
    }
