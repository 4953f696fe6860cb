"""From log-probs, scores and values to rewards, advantages, and returns; and the advantages whitened."""

from types import MappingProxyType

import torch

from blueprint.verifying.formulas.options import (
    Held,
    Named,
    Number,
    Options,
    Texts,
    sums_from,
    wide,
    with_end,
    with_start,
    with_weight,
)


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


def whitened_advantages(slots: torch.Tensor, rows: Held, options: Options) -> Named:
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


def score_rows(texts: Texts, rows: Held, options: Options) -> Named:
    """Returns the score less the price of its length, after the rule of the missing end token, then clipped, [F, N], and at its
    position, [F, N, T].
    """
    beyond = (texts.mask.sum(dim=-1) - options.number("reward.free_tokens", 2)).clamp(min=0)
    score = texts.score - options.number("reward.length_penalty", 2) * beyond
    ended = options.pick(
        "reward.missing_eos_test", {"token": rows["response.ended"], "has_padding": rows["response.padded"]}
    )
    value = options.number("reward.missing_eos_value", 2)
    replaced = torch.where(ended > 0, score, value)
    subtracted = score - (1 - ended) * value
    corrected = options.pick("reward.missing_eos", {"off": score, "subtract": subtracted, "set": replaced})
    clipped = within(corrected, options.number("reward.score_clip", 2))
    return {
        "score.beyond": beyond,
        "score.shortened": score,
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


def whitened_rewards(slots: torch.Tensor, rows: Held, options: Options) -> Named:
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
