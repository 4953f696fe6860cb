"""From rewards and values to advantages over several episodes in a row, and their normalisation.

Source: Schulman et al. 2016 (High-Dimensional Continuous Control Using GAE), eq. 11 and 16, with the episode's end as a
factor: nothing behind it counts. Tensors are [F, N, T]: file, environment, step; settings [F, 1, 1] or plain numbers.
"""

from __future__ import annotations

import torch
from torch import Tensor

from blueprint.witness.gae import masked_sums
from blueprint.witness.models import Named
from blueprint.witness.signal import Number, with_end


def td_errors(rewards: Tensor, values: Tensor, stop: Tensor, gamma: Number) -> Tensor:
    """Returns δ = r + γ·V(next)·(1 − stop) − V; `values` [F, N, T + 1] end with the value behind the last step."""
    return rewards + gamma * values[..., 1:] * (1 - stop) - values[..., :-1]


def gae_rows(rewards: Tensor, values: Tensor, ends: tuple[Tensor, Tensor], gamma: Number, decay: Number) -> Named:
    """Returns TD errors, advantages (0 behind the last step) and returns; `decay` is γ·λ.

    ends: where V(next) is cut off, and where an episode is over, which later advantages do not cross.
    """
    stop, done = ends
    deltas = td_errors(rewards, values, stop, gamma)
    advantages = masked_sums(deltas, decay, 1 - done)
    return {"td_errors": deltas, "advantages": with_end(advantages), "returns": advantages + values[..., :-1]}


def normalised_rows(advantages: Tensor, eps: Tensor) -> Named:
    """Returns the advantages less their mean, over σ + ε or over the larger of both; σ² over N − 1, each [F, N, T] or [F].

    A single step has σ = 0.
    """
    count = advantages[0].numel()
    mean = advantages.mean(dim=(-2, -1))
    centred = advantages - mean[:, None, None]
    variance = centred.square().sum(dim=(-2, -1)) / max(count - 1, 1)
    deviation = variance.sqrt()
    return {
        "advantage.mean": mean,
        "advantage.centred": centred,
        "advantage.variance": variance,
        "advantage.deviation": deviation,
        "advantage.std_plus": deviation + eps.flatten(),
        "advantage.std_max": torch.maximum(deviation, eps.flatten()),
    }
