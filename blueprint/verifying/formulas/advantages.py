"""From rewards and values to advantages and returns, and the advantages whitened.

Sources: Schulman et al. 2016 (Generalized Advantage Estimation), eq. 16; verl 0.9.1, core_algos.py:216, and NeMo-RL,
advantage_estimator.py, for response positions that V and A are carried over. Tensors are [F, N, T], options [F, 1, 1].
"""

import torch

from blueprint.verifying.formulas.options import Options
from blueprint.verifying.formulas.tensors import Held, Named, Number, sums_from, wide


def gae(
    rewards: torch.Tensor, values: torch.Tensor, ahead: torch.Tensor, inside: Number, gamma: Number, decay: torch.Tensor
) -> Named:  # fmt: skip
    """Returns δ_t = r_t + γ·V_{t+1} − V_t, A_t = δ_t + decay_t·A_{t+1} with an edge, and the returns A + V.

    ahead: V_{t+1}, 0 where an episode is over. inside: 1 where there is a δ. decay: γλ, 0 where later advantages do not
    count.
    """
    deltas = inside * (rewards + gamma * ahead - values)
    advantages = sums_from(deltas, decay)
    return {"td_errors": deltas, "advantages": advantages, "returns": advantages[..., :-1] + values}


def gae_rows(slots: torch.Tensor, rows: Held, options: Options) -> Named:
    """Returns TD errors, advantages and returns over the response positions; the values have what stands behind the last position.

    A response position that is passed over has no δ: V and A of the one behind it stand there, for the one before it.
    """
    gamma, values = options.number("gamma"), rows["values.kept"]
    over = options.says("advantage.gae_holes", "carry") * slots * (1 - rows["kept"])
    ahead = sums_from((1 - over) * values[..., :-1], over, values[..., -1])
    decay = slots * torch.where(over > 0, 1.0, gamma * options.number("gae_lambda"))
    return {"gae.over": over, "gae.ahead": ahead} | gae(
        rows["rewards"], values[..., :-1], ahead[..., 1:], slots * (1 - over), gamma, decay
    )


def moment_rows(name: str, values: torch.Tensor, counted: torch.Tensor, options: Options) -> Named:
    """Returns count, mean and variance of values [F, N, T] where `counted` is 1, each [F].

    The sums of a mean are divided by N + mean_eps; a variance with ddof is multiplied by n/(n − ddof), n = N + ddof_eps.
    """
    count = options.sums.total(f"{name}.count", counted)
    divided_by = count.clamp(min=1) + options.number("advantage.mean_eps", 1)
    mean = options.sums.total(f"{name}.sum", counted * values) / divided_by
    squares = options.sums.squares(f"{name}.squares", counted, values, mean)
    free = count + options.number("advantage.ddof_eps", 1)
    bessel = free.clamp(min=1) / (free - options.number("advantage.ddof", 1)).clamp(min=1)
    return {"count": count, "mean": mean, "bessel": bessel, "variance": bessel * squares / divided_by}


def divisors(variance: torch.Tensor, eps: torch.Tensor) -> Named:
    """Returns every form of what is divided by: √(σ² + ε), √max(σ², ε), σ + ε, max(σ, ε), each [F]."""
    deviation = variance.sqrt()
    return {
        "rsqrt_var_plus": (variance + eps).sqrt(),
        "clamp": variance.maximum(eps).sqrt(),
        "std_plus": deviation + eps,
        "std_max": deviation.maximum(eps),
    }


def scaled_rows(name: str, raw: torch.Tensor, over: tuple[torch.Tensor, torch.Tensor], options: Options) -> Named:
    """Returns the tokens that count, their mean, variance and what is divided by, and the numbers less the mean.

    over: every response position, and the tokens that count where the statistics are masked ones.
    """
    counted = torch.where(options.says("advantage.stats", "all"), *over)
    moments = moment_rows(name, raw, counted, options)
    forms, mean = divisors(moments["variance"], options.number("whiten_eps", 1)), moments["mean"]
    # The centred numbers come before the variance, which a workbook makes of them.
    found = {"counted": counted, "mean": mean, "centred": counted * (raw - wide(mean))} | moments | forms
    found |= {"divisor": options.pick("advantage.eps_form", forms)}
    return {f"{name}.{row}": each for row, each in found.items()}


def whitened_rows(slots: torch.Tensor, rows: Held, options: Options) -> Named:
    """Returns the advantages whitened, with their mean added back (torchtune), and those in use, 0 outside the response."""
    raw, response = rows["advantages"][..., :-1], rows["response"]
    found = scaled_rows("advantage", raw, (slots, response), options)
    whitened = found["advantage.centred"] / wide(found["advantage.divisor"])
    shifted = whitened + found["advantage.counted"] * wide(found["advantage.mean"])
    used = options.pick("whiten_advantages", {"on": whitened, "off": raw, "keep_mean": shifted})
    return found | {
        "advantage.whitened": whitened,
        "advantage.shifted": shifted,
        "advantages_used": response * used,
    }
