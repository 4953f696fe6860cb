"""What the loss learns from, in the columns of a window: KL, score, reward, advantages; statistics are the whole batch's.

Sources: as in the conventions; Schulman et al. 2016 (Generalized Advantage Estimation), eq. 16. Tensors are [F, N, T].
"""

from __future__ import annotations

import torch
from torch import Tensor

from blueprint.witness.conventions import kl, rewards
from blueprint.witness.conventions.whitening import divisors
from blueprint.witness.gae import masked_sums
from blueprint.witness.models import Named
from blueprint.witness.signal import with_end
from blueprint.workbooks.minibatch.witness.window import Window


def add_signal(window: Window) -> None:
    """Adds everything from the beginning of a file to the advantages that its loss uses."""
    begins = window.kind.begins
    if begins in ("score.given", "score.placed"):
        add_rewards(window)
    if window.kind.kept:
        values = window["kept"] * window.texts.old_values
        window.add({"values.kept": behind(values, window["after.ahead"]) if window.kind.advantages else values})
    if window.kind.advantages:
        window.add(gae_rows(window))
        window.add(used_rows(window))


def add_rewards(window: Window) -> None:
    """Adds the KL to the reference, the score on its slot, and the rewards."""
    window.add(estimate_rows(window, "kl", "old"))
    if window.kind.begins == "score.given":
        window.add({"score.place": rewards.score_place(window, window.options)})
        window.add(rewards.score_rows(window.texts, window, window.options))
    prices = kl.price_rows(window, window.options)
    window.add({name: each for name, each in prices.items() if name != "kl_coef.loss"})
    window.add(rewards.reward_rows(window))
    window.add(whitened_reward_rows(window))


def estimate_rows(window: Window, name: str, policy: str) -> Named:
    """Returns the estimates of a policy's KL to the reference, of the log-probs as they are typed, padding included."""
    log_ratio = window[f"{policy}.logprobs"] - window["reference.logprobs"]
    return kl.estimate_rows(name, log_ratio, torch.zeros_like(log_ratio), window.options)


def whitened_reward_rows(window: Window) -> Named:
    """Returns the rewards less the mean of the batch, divided by its deviation, with the mean put back, and those in use."""
    raw, slots, kept, options = window["rewards.raw"], window.texts.slots, window["kept"], window.options
    counted = torch.where(options.says("advantage.stats", "all"), slots, kept)
    mean = _wide(window["reward.mean"])
    found = {"reward.counted": counted, "reward.centred": counted * (raw - mean)} | divisor_rows(window, "reward")
    whitened = (raw - mean) / _wide(found["reward.divisor"])
    stays = torch.where(options.says("reward.whiten_rezero", "on"), kept, slots)
    shifted = stays * slots * (whitened + mean)
    used = options.pick("reward.whiten", {"off": raw, "on": shifted})
    return found | {"reward.whitened": whitened, "reward.shifted": shifted, "rewards": used}


def gae_rows(window: Window) -> Named:
    """Returns δ_t = r_t + γ·V_{t+1} − V_t, A_t = δ_t + γλ·A_{t+1} and the returns A + V.

    The sums go on with the value and the advantage that enter behind the last column. A slot that is passed over has no δ:
    V and A of the slot behind it stand there.
    """
    options, slots, values = window.options, window.texts.slots, window["values.kept"][..., :-1]
    gamma, decay = options.number("gamma"), options.number("gamma") * options.number("gae_lambda")
    over = options.says("advantage.gae_holes", "carry") * slots * (1 - window["kept"])
    ahead = entering((1 - over) * values, 1.0, over, window["after.ahead"])
    deltas = slots * (1 - over) * (window["rewards"] + gamma * ahead[..., 1:] - values)
    advantages = entering(deltas, torch.where(over > 0, 1.0, decay), slots, window["after.advantages"])
    return {
        "gae.over": over,
        "gae.ahead": ahead,
        "td_errors": deltas,
        "advantages": advantages,
        "returns": advantages[..., :-1] + values,
    }


def used_rows(window: Window) -> Named:
    """Returns the advantages whitened by the batch's statistics, and those that the loss uses, 0 outside the response."""
    raw, options = window["advantages"][..., :-1], window.options
    counted = torch.where(options.says("advantage.stats", "all"), window.texts.slots, window["response"])
    mean = _wide(window["advantage.mean"])
    centred = counted * (raw - mean)
    found = {"advantage.counted": counted, "advantage.centred": centred} | divisor_rows(window, "advantage")
    whitened = centred / _wide(found["advantage.divisor"])
    shifted = whitened + counted * mean
    used = options.pick("whiten_advantages", {"on": whitened, "off": raw, "keep_mean": shifted})
    used = window["response"] * used
    return found | {"advantage.whitened": whitened, "advantage.shifted": shifted, "advantages_used": used}


def divisor_rows(window: Window, name: str) -> Named:
    """Returns every form of what is divided by, and the one in use, of the variance of the whole batch."""
    found = divisors(window[f"{name}.variance"], window.options)
    return {f"{name}.{row}": each for row, each in found.items()}


def behind(values: Tensor, after: Tensor) -> Tensor:
    """Returns rows [F, N, T] with what stands behind their last column [F, N]."""
    return torch.cat([values, after[..., None]], dim=-1)


def entering(values: Tensor, decay: Tensor | float, passes: Tensor, after: Tensor) -> Tensor:
    """Returns S_t = x_t + p_t·decay·S_{t+1} of rows [F, N, T], where S behind the last column is given; [F, N, T + 1]."""
    return masked_sums(behind(values, after), 1.0, with_end(passes * decay))


def _wide(number: Tensor) -> Tensor:
    return number[:, None, None]
