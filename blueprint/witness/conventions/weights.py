"""How the losses of words become one number: the weight of every word, for each way of aggregation.

Sources: verl 0.9.1, core_algos.py:1140 (agg_loss); OpenRLHF and NeMo-RL for token and sequence level.
"""

from __future__ import annotations

import torch
from torch import Tensor

from blueprint.witness.conventions.options import AGGREGATIONS, Options
from blueprint.witness.models import Held, Named


def weight_rows(name: str, counted: Tensor, mode: Tensor, most: Tensor, options: Options) -> Named:
    """Returns the weights of words [F, N, T] that count, by the number of the mode [F], and the steps to them.

    B' is the number of responses with a word, n_i that of words in one, N that of all words. `most` [F] is the largest
    number of slots.
    """
    length, eps = counted.sum(dim=-1), options.number("loss.agg_eps", 1)
    wrote = (length > 0).to(length.dtype)
    words, responses = options.sums.total(f"{name}.words", length), options.sums.total(f"{name}.wrote", wrote)
    of_files, of_responses = whole_weights(words, responses, most, eps), torch.zeros_like(length)
    mean = wrote / (of_files["rows"][:, None] * (length.clamp(min=1) + options.number("loss.seq_eps", 2)))
    names = ("token_mean", "token_sum", "seq_sum", "seq_norm")
    for number, each in enumerate([*(of_files[way][:, None] for way in names), mean]):
        of_responses = torch.where(mode[:, None] == number, each, of_responses)
    found = {"length": length, "wrote": wrote} | of_files | {"seq_mean": mean, "chosen": of_responses}
    found["row"] = counted * of_responses[..., None]
    return {f"{name}.weight.{row}": each for row, each in found.items()}


def whole_weights(words: Tensor, responses: Tensor, most: Tensor, eps: Tensor) -> Named:
    """Returns B' + ε and the weights that every word of a file shares; all are [F], the first two counts N and B'."""
    rows = responses.clamp(min=1) + eps
    return {
        "rows": rows,
        "token_mean": 1 / (words.clamp(min=1) + eps),
        "token_sum": torch.ones_like(rows),
        "seq_sum": 1 / rows,
        "seq_norm": 1 / (rows * most),
    }


def mode_rows(options: Options) -> Named:
    """Returns the number of the way in which the value loss and the entropy are aggregated, [F]."""
    own, token_mean = options.number("loss.aggregation", 1), float(AGGREGATIONS.index("token-mean"))
    switches = {"value.mode": "value.aggregation", "entropy.mode": "loss.entropy_aggregation"}
    return {row: torch.where(options.says(name, "as-policy", 1), own, token_mean) for row, name in switches.items()}


def all_weight_rows(rows: Held, options: Options) -> Named:
    """Returns the weights of the policy loss, the value loss and the entropy.

    The entropy counts the policy loss's words: NeMo-Aligner af2b3bd, megatron_gpt_ppo_actor.py, gives both the same mask.
    """
    ways = {
        "policy": (rows["loss.counted"], options.number("loss.aggregation", 1)),
        "value": (rows["value.counted"], rows["value.mode"]),
        "entropy": (rows["loss.counted"], rows["entropy.mode"]),
    }
    found: Named = {}
    for name, (counted, mode) in ways.items():
        found |= weight_rows(name, counted, mode, rows["most"], options)
    return found
