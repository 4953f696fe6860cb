"""How the settings of a file are options of PPO's page, and what the page finds by the names of blocks: for every kind of PPO."""

from math import inf

import torch
from torch import Tensor
from torch.nn.functional import pad

from blueprint.papers import metrics
from blueprint.papers.libraries.ppo import Experience, Kl, Loss, Options, Rollout, Tokens, Update, Whitening
from blueprint.witness.raw import Named, Raw

COUNTED = {"kl_new.used": "response"}
"""Results that mean something only where another block is 1."""


def number(raw: Raw, key: str, otherwise: float = 0.0) -> float:
    """Returns a number among the settings; a workbook without conventions has fewer of them."""
    return raw.number(key) if key in raw.settings else otherwise


def word(raw: Raw, key: str, otherwise: str = "off") -> str:
    """Returns the option of a switch; a workbook without conventions has fewer of them."""
    return raw.word(key) if key in raw.settings else otherwise


def temperature_of(raw: Raw) -> float:
    """Returns what logits are divided by."""
    return number(raw, "batch.temperature", 1.0) + number(raw, "batch.temperature_eps")


def options_of(raw: Raw) -> Options:
    """Returns the options that the settings of a file stand for; where it has none, those of the papers."""
    paid, how = word(raw, "reward.kl_in", "reward"), word(raw, "loss.aggregation", "token-mean")
    clip = number(raw, "clip_range", inf)
    return Options(
        all_slots=word(raw, "batch.response_mask") == "all",
        reward_kl=_kl(
            raw, "kl_estimator", "reward.kl_clamp", number(raw, "kl_coef") if paid in ("reward", "both") else 0
        ),
        kl_behind=word(raw, "reward.kl_at_first_pad") == "on",
        length_penalty=number(raw, "reward.length_penalty"),
        free_tokens=number(raw, "reward.free_tokens"),
        missing_eos=word(raw, "reward.missing_eos"),
        missing_eos_value=number(raw, "reward.missing_eos_value"),
        full_is_missing=word(raw, "reward.missing_eos_test") == "has_padding",
        score_clip=number(raw, "reward.score_clip", inf),
        score_slot=word(raw, "reward.score_slot", "last"),
        values_behind=int(number(raw, "advantage.tail_slots")),
        whitening=Whitening(
            over_pads=word(raw, "advantage.stats", "mask") == "all",
            ddof=number(raw, "advantage.ddof", 1.0),
            eps=number(raw, "whiten_eps"),
            form=word(raw, "advantage.eps_form", "rsqrt_var_plus"),
            mean_eps=number(raw, "advantage.mean_eps"),
            ddof_eps=number(raw, "advantage.ddof_eps"),
        ),
        whiten_rewards=word(raw, "reward.whiten") == "on",
        rezero=word(raw, "reward.whiten_rezero", "on") == "on",
        gamma=number(raw, "gamma"),
        lam=number(raw, "gae_lambda"),
        carry=word(raw, "advantage.gae_holes") == "carry",
        whiten_advantages=word(raw, "whiten_advantages"),
        log_ratio_clamp=number(raw, "loss.log_ratio_clamp", inf),
        clip_low=clip,
        clip_high=number(raw, "loss.clip_range_high", clip),
        dual_clip=number(raw, "loss.dual_clip", inf),
        only_ended=word(raw, "loss.sample_filter") == "ended",
        most_mean_ratio=number(raw, "loss.ratio_threshold", inf),
        value_clip=number(raw, "value_clip_range", inf),
        only_clipped=word(raw, "value.combine", "max") == "clipped_only",
        value_behind=number(raw, "value.tail") >= 1,
        value_factor=number(raw, "value.factor", 0.5),
        how=how,
        value_how="token-mean" if word(raw, "value.aggregation") == "token-mean" else how,
        entropy_how="token-mean" if word(raw, "loss.entropy_aggregation") == "token-mean" else how,
        agg_eps=number(raw, "loss.agg_eps"),
        seq_eps=number(raw, "loss.seq_eps"),
        value_coef=0.0 if apart(raw) else number(raw, "vf_coef"),
        entropy_coef=number(raw, "ent_coef"),
        policy_kl_coef=number(raw, "policy_kl_coef"),
        loss_kl=_kl(
            raw, "loss.kl_estimator", "loss.kl_clamp", number(raw, "loss.kl_coef") if paid in ("loss", "both") else 0
        ),
    )


def apart(raw: Raw) -> bool:
    """Returns whether the critic has an optimiser of its own, so that its loss is in no total."""
    return word(raw, "loss.joint", "on") == "off"


def _kl(raw: Raw, estimator: str, clamp: str, coef: float) -> Kl:
    chosen = word(raw, estimator, "k1")
    if word(raw, f"{clamp}_of", "all") == "k3" and chosen != "k3":
        return Kl(coef, chosen)
    return Kl(coef, chosen, number(raw, f"{clamp}_in", inf), number(raw, f"{clamp}_out", inf))


def with_end(x: Tensor) -> Tensor:
    """Adds the column behind the last position, where nothing is."""
    return pad(x, (0, 1))


def experience_rows(rollout: Rollout, before: Experience) -> Named:
    """Returns what the loss learns from by the names of blocks."""
    return {
        "response": before.response.to(before.kl.dtype),
        "kept": before.kept.to(before.kl.dtype),
        "kl.used": before.kl.where(rollout.slots, 0),
        "score.given": rollout.scores,
        "reward.penalty": before.penalty,
        "score.clipped": before.scores,
        "score.placed": before.placed,
        "score.response": before.placed.sum(1),
        "rewards.raw": before.rewards_raw,
        "rewards": before.rewards,
        "values.kept": with_end(before.values),
        "td_errors": before.deltas,
        "advantages": with_end(before.advantages),
        "returns": before.returns,
        "advantages_used": before.used,
    }


def token_rows(rollout: Rollout, found: Tokens) -> Named:
    """Returns the losses of tokens and the steps to them by the names of blocks."""
    return {
        "loss.counted": found.counted.to(found.ratio.dtype),
        "value.counted": found.value_counted.to(found.ratio.dtype),
        "log_ratio.free": found.log_ratio_free,
        "log_ratio": found.log_ratio,
        "ratio": found.ratio,
        "ratio.clipped": found.ratio_clipped,
        "surrogate.unclipped": -found.free,
        "surrogate.clipped": -found.clipped,
        "surrogate": -found.policy_losses,
        "value.square": found.value_free.where(found.value_counted, 0),
        "value.square_clipped": found.value_clipped.where(found.value_counted, 0),
        "value.word_loss": found.value_losses.where(found.value_counted, 0),
        "kl_new.used": found.kl.where(rollout.slots, 0),
    }


def loss_rows(use: Options, found: Loss, critic_coef: float) -> Named:
    """Returns the parts of the loss and their sum by the names of blocks.

    critic_coef: the weight of the value loss where the critic's slopes are shown.
    """
    rows = {
        "policy_loss": found.policy_loss,
        "value_loss": found.value_loss,
        "entropy": found.entropy,
        "policy_kl": found.policy_kl,
        "kl_loss": found.kl_loss,
    }
    numbers = {"loss.mean_ratio": found.mean_ratio, "critic_loss": critic_coef * found.value_loss}
    return rows | numbers | number_rows(use, rows) | {"total_loss": found.total}


def number_rows(use: Options, parts: Named) -> Named:
    """Returns what each part adds to the total by the names of blocks; without a weight it may be no number, and adds nothing."""
    weights = {
        "value_loss": use.value_coef,
        "entropy": -use.entropy_coef,
        "policy_kl": use.policy_kl_coef,
        "kl_loss": use.loss_kl.coef,
    }
    return {
        f"adds.{name}": weight * parts[name] if weight else torch.zeros_like(parts[name])
        for name, weight in weights.items()
        if name in parts
    }


def metric_rows(
    raw: Raw, rollout: Rollout, before: Experience, update: Update, found: Loss, of: Tensor | None
) -> Named:
    """Returns what is logged beside the losses by the names of blocks: over the tokens, and as the library in use logs it.

    of: [B], the responses of a minibatch, over which alone the update is watched.
    """
    mask, returns, dtype = rollout.mask, before.returns, before.kl.dtype
    words = mask if of is None else mask & of[:, None]
    wrote = mask.any(1).sum().to(dtype)
    mean_length, longest = metrics.lengths(mask, dtype)
    low, high = max(0.0, 1 - number(raw, "clip_range")), 1 + options_of(raw).clip_high
    rows = {
        "clip_fraction.loss": metrics.changed_fraction(found.free, found.clipped, words),
        "clip_fraction.ratio": metrics.outside_fraction(found.ratio, low, high, words),
        "approx_kl.k1": metrics.approx_kls(_watched(raw, found), words).k1,
        "approx_kl.k3": metrics.approx_kls(found.log_ratio, words).k3,
        "kl.per_word": metrics.mean(before.kl, mask),
        "kl.per_response": metrics.of_responses(before.kl, mask),
        "score.mean": before.placed.sum() / wrote,
        "non_score_reward": before.penalty.sum() / wrote,
        "response.mean_length": mean_length,
        "response.longest": longest,
        "advantage.mean_abs": metrics.mean(before.advantages.abs(), mask),
        "returns.mean": metrics.mean(returns, mask),
        "explained_variance": _where_returns_differ(
            raw, metrics.explained_variance(before.values, returns, mask), returns[mask], 0
        ),
    }
    return rows | _logged(raw, rollout, before, update, found, of)


def _watched(raw: Raw, found: Loss) -> Tensor:
    return found.log_ratio_free if word(raw, "metrics.log_ratio", "clamped") == "raw" else found.log_ratio


def _logged(raw: Raw, rollout: Rollout, before: Experience, update: Update, found: Loss, of: Tensor | None) -> Named:
    """Returns what the library in use logs, by its own forms."""
    eps, response = number(raw, "advantage.mean_eps"), before.response
    every = torch.ones_like(rollout.ended) if of is None else of
    tokens, slots = response & every[:, None], rollout.slots & every[:, None]
    over, over_eps = (slots, 0.0) if word(raw, "metrics.over", "mask") == "all" else (tokens, eps)
    kls = metrics.approx_kls(_watched(raw, found), over, over_eps)
    held = metrics.mean(found.ratio - 1 - found.log_ratio, over, over_eps)
    low, high = max(0.0, 1 - number(raw, "clip_range")), 1 + options_of(raw).clip_high
    clipped = metrics.changed_fraction(found.free, found.clipped, tokens, eps)
    if word(raw, "metrics.clip_fraction", "loss") == "ratio":
        clipped = metrics.outside_fraction(found.ratio, low, high, tokens, eps)
    floored = found.policy_losses < torch.max(found.free, found.clipped)
    statistic = metrics.of_responses(before.kl, response)
    if word(raw, "metrics.kl_stat", "seq_sum") == "token_mean":
        statistic = metrics.means_of_responses(before.kl, response, eps)
    return {
        "approx_kl.used": {"k1": kls.k1, "k2": kls.k2, "k3": held}[word(raw, "metrics.kl", "k3")],
        "ratio.mean": metrics.mean(found.ratio, over, over_eps),
        "entropy.watched": metrics.mean(update.entropy, over, over_eps),
        "clip_fraction.used": clipped,
        "clip_fraction.dual": metrics.mean(floored.to(found.ratio.dtype), tokens, eps),
        "clip_fraction.value": metrics.changed_fraction(
            found.value_free, found.value_clipped, found.value_counted, eps
        ),
        "kl.statistic": statistic,
        "ev.mse": metrics.mean((before.returns - update.values) ** 2, response),
        "ev.used": _explained(raw, before, update),
    }


def _explained(raw: Raw, before: Experience, update: Update) -> Tensor:
    """Returns the explained variance by the form in use."""
    form, ddof = word(raw, "metrics.explained", "var_old"), int(number(raw, "advantage.ddof", 1))
    returns, response, eps = before.returns, before.response, number(raw, "metrics.ev_eps")
    values = before.values if form == "var_old" else update.values
    by = metrics.explained_by_squares if form == "mse_new" else metrics.explained_variance
    return _where_returns_differ(raw, by(values, returns, response, ddof, eps), returns[response], ddof)


def _where_returns_differ(raw: Raw, explained: Tensor, returns: Tensor, ddof: int) -> Tensor:
    """Returns 0 where the returns vary by no more than the file says that rounding does; baselines has nan there."""
    return explained.where(metrics.variance(returns, ddof) > raw.tensor("explained_variance.floor"), 0)
