"""From log-probs and scores to rewards: places in a response, the KL to the reference, the score, and what is paid.

Sources: Schulman, Approximating KL Divergence, 2020 (k1, k2, k3); Ziegler et al. 2019 (penalty in the reward); NeMo-RL and
verl for the clamps before and behind the estimate. Tensors are [F, N, T]. T of the papers is the number of response positions of a
response, A that of its tokens up to the last one.
"""

from types import MappingProxyType

import torch

from blueprint.verifying.formulas.advantages import scaled_rows
from blueprint.verifying.formulas.options import Options, Texts
from blueprint.verifying.formulas.tensors import Held, Named, Number, wide, with_end, with_start, with_weight

ESTIMATED = MappingProxyType(
    {"kl": ("kl_estimator", "reward.kl_clamp"), "kl_new": ("loss.kl_estimator", "loss.kl_clamp")}
)
"""By name of the estimates, the switch that chooses among them, and how the names of their clamps begin."""


def later(values: torch.Tensor) -> torch.Tensor:
    """Returns what stands one position before."""
    return with_start(values)[..., :-1]


def place_rows(slots: torch.Tensor, mask: torch.Tensor) -> Named:
    """Returns 0/1 rows of the places where a score may land, each with the edges that its row has.

    One past is min(A, T − 1) and two past min(A + 1, T − 1), counted from 0; so with A = 0, where TRL 1.12.0 has its
    `sequence_lengths` at −1, one past is response position 0.
    """
    until = mask.flip(-1).cummax(dim=-1).values.flip(-1)
    last = until - with_end(until)[..., 1:]
    empty = 1 - mask.amax(dim=-1, keepdim=True)
    end = slots * (1 - with_end(slots)[..., 1:])
    first = slots * torch.cat([empty, last[..., :-1]], dim=-1)
    one_past = first + end * last
    return {
        "place.until": with_end(until),
        "place.last": torch.cat([empty, last], dim=-1),
        "place.end": end,
        "place.first_past": with_start(first),
        "place.one_past": with_start(one_past),
        "place.second_past": slots * later(first),
        "place.two_past": slots * later(one_past) + end * one_past,
    }


def response_rows(slots: torch.Tensor, mask: torch.Tensor, options: Options) -> Named:
    """Returns the places, what counts as response, and what is kept beside it, [F, N, T]."""
    places, tail = place_rows(slots, mask), options.number("advantage.tail_slots")
    counts = torch.where(options.says("batch.response_mask", "all"), slots, mask)
    kept = torch.maximum(counts, (tail >= 1) * places["place.first_past"][..., 1:])
    return places | {"response": counts, "kept": torch.maximum(kept, (tail >= 2) * places["place.second_past"])}


def ending_rows(texts: Texts, rows: Held, options: Options) -> Named:
    """Returns how many positions each response has, how it ended, [F, N], and the largest number of them, [F]."""
    each = texts.slots.sum(dim=-1)
    left_over = (texts.slots * (1 - rows["place.until"][..., :-1])).sum(dim=-1)
    return {
        "response.slots": each,
        "response.ended": texts.ended,
        "response.padded": (left_over > 0).to(each.dtype),
        "response.most": options.sums.largest("most", each).clamp(min=1),
    }


def within(values: torch.Tensor, limit: torch.Tensor, around: Number = 0.0) -> torch.Tensor:
    """Returns values cut to a point ± a limit; an infinite one cuts nothing."""
    return torch.clamp(values, around - limit, around + limit)


def estimates(log_ratio: torch.Tensor) -> Named:
    """Returns k1 = log π − log π_ref, k2 = k1²/2, k3 = e^(−k1) − 1 + k1 and |k1|, in nats."""
    return {
        "k1": log_ratio,
        "k2": log_ratio.square() / 2,
        "k3": torch.exp(-log_ratio) - 1 + log_ratio,
        "abs": log_ratio.abs(),
    }


def estimate_rows(name: str, log_ratio: torch.Tensor, exact: torch.Tensor, options: Options) -> Named:
    """Returns the estimates from log π − log π_ref of the tokens written, the chosen one and that one clamped.

    k3 is made of the log-ratio after its clamp; so are the others, unless only k3 is clamped, as in verl: then they are of
    the log-ratio as it is, and their results are not clamped either. "full" is the exact KL, which has no log-ratio.
    """
    estimator, clamp = ESTIMATED[name]
    held = within(log_ratio, options.number(f"{clamp}_in"))
    alone = options.says(f"{clamp}_of", "k3")
    is_k3 = options.says(estimator, "k3")
    found = estimates(torch.where(alone, log_ratio, held)) | {"k3": estimates(held)["k3"]}
    chosen = options.pick(estimator, found | {"full": exact})
    clamped = within(chosen, options.number(f"{clamp}_out"))
    holds = ~alone | is_k3
    used = {"used": torch.where(holds, clamped, chosen), "holds": holds.to(chosen.dtype).flatten()}
    found = {"free": log_ratio, "held": held} | found | {"chosen": chosen, "clamped": clamped} | used
    return {f"{name}.{row}": each for row, each in found.items()}


def kl_rows(texts: Texts, options: Options) -> Named:
    """Returns the estimates for the old policy, which the reward pays, and for the new one, which a loss pays."""
    of_old, of_new = (
        texts.slots * each - texts.slots * texts.reference_logprobs for each in (texts.old_logprobs, texts.logprobs)
    )
    return {
        **estimate_rows("kl", of_old, texts.slots * texts.kl_old_reference, options),
        **estimate_rows("kl_new", of_new, texts.slots * texts.kl_new_reference, options),
    }


def price_rows(rows: Held, options: Options) -> Named:
    """Returns where the KL is paid, [F, N, T], and its price in the reward and in the loss, [F]."""
    both = options.says("reward.kl_in", "both", 1)
    at_first_pad = options.says("reward.kl_at_first_pad", "on") * rows["place.first_past"][..., 1:]
    paid = {place: options.says("reward.kl_in", place, 1) | both for place in ("reward", "loss")}
    return {
        "kl.support": torch.maximum(rows["response"], at_first_pad),
        "kl_coef.reward": paid["reward"] * options.number("kl_coef", 1),
        "kl_coef.loss": paid["loss"] * options.number("loss.kl_coef", 1),
    }


def statistic_rows(rows: Held, options: Options) -> Named:
    """Returns what a controller of the price is fed with: the mean over responses of their sums or their means, [F].

    A response without a token does not count.
    """
    length = rows["response"].sum(dim=-1)
    wrote = (length > 0).to(length.dtype)
    summed = (rows["response"] * rows["kl.used"]).sum(dim=-1)
    mean = summed / (length.clamp(min=1) + options.number("advantage.mean_eps", 2))
    used = options.pick("metrics.kl_stat", {"seq_sum": summed, "token_mean": mean})
    return {
        "kl.response_sum": summed,
        "kl.response_mean": mean,
        "kl.response_used": used,
        "kl.wrote": wrote,
        "kl.statistic": options.sums.total("kl.statistic", used) / options.sums.total("kl.wrote", wrote).clamp(min=1),
    }


def score_place(rows: Held, options: Options) -> torch.Tensor:
    """Returns 1 at the position of each response where its score lands, [F, N, T]."""
    places = {"end": rows["place.end"], "two_past": rows["place.two_past"]}
    places |= {place: rows[f"place.{place}"][..., 1:] for place in ("last", "one_past")}
    return options.pick("reward.score_slot", places)


def score_rows(score: torch.Tensor, rows: Held, options: Options) -> Named:
    """Returns the score after the rule of the missing end token, then clipped, [F, N], and at its position, [F, N, T]."""
    ended = options.pick(
        "reward.missing_eos_test", {"token": rows["response.ended"], "has_padding": rows["response.padded"]}
    )
    value = options.number("reward.missing_eos_value", 2)
    replaced = torch.where(ended > 0, score, value)
    subtracted = score - (1 - ended) * value
    corrected = options.pick("reward.missing_eos", {"off": score, "subtract": subtracted, "set": replaced})
    clipped = within(corrected, options.number("reward.score_clip", 2))
    return {
        "score.ended": ended,
        "score.subtracted": subtracted,
        "score.replaced": replaced,
        "score.corrected": corrected,
        "score.clipped": clipped,
        "score.placed": rows["score.place"] * clipped[..., None],
    }


def reward_rows(rows: Held) -> Named:
    """Returns penalty and reward, r_t = −β·kl_t + score_t, [F, N, T]."""
    penalty = -with_weight(wide(rows["kl_coef.reward"]), rows["kl.support"] * rows["kl.used"])
    return {"reward.penalty": penalty, "rewards.raw": penalty + rows["score.placed"]}


def whitened_rows(slots: torch.Tensor, rows: Held, options: Options) -> Named:
    """Returns the rewards divided by their deviation, the mean kept (shift_mean=False), and the rewards in use.

    TRL 0.11.4 does not set the pads to 0 again: there (0 − μ)/σ + μ enters the advantages.
    """
    raw, kept = rows["rewards.raw"], rows["kept"]
    found = scaled_rows("reward", raw, (slots, kept), options)
    whitened = (raw - wide(found["reward.mean"])) / wide(found["reward.divisor"])
    stays = torch.where(options.says("reward.whiten_rezero", "on"), kept, slots)
    shifted = stays * slots * (whitened + wide(found["reward.mean"]))
    return found | {
        "reward.whitened": whitened,
        "reward.shifted": shifted,
        "rewards": options.pick("reward.whiten", {"off": raw, "on": shifted}),
    }
