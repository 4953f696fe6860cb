"""What each function of docs/companions.md gives, by what the page calls it: the same number as the workbook's row, found apart."""

from __future__ import annotations

from collections.abc import Callable

from torch import Tensor

from blueprint.book import Book
from tests.companions import critics
from tests.companions.published import (
    Rollouts,
    accumulated,
    by_constant,
    by_sequence,
    by_token,
    centred,
    cispo,
    clipped,
    gspo,
    in_all,
    k3,
    others,
    over_the_mean,
    reinforce,
    rollouts,
    sapo,
    sequence_clip,
    sequence_level,
    standardised,
    truncated_weight,
    without_clip,
)


def A(r: Rollouts, eps: float = 1e-4) -> Tensor:
    """Returns the advantages with which `by-hand-grpo` begins (nothing is added to the std there), or another eps."""
    return standardised(r, eps)


# by-hand-grpo types group.eps = 0; the lines that name another eps type that.
HAND = 0.0

OF_ROLLOUTS: dict[str, Callable[[Rollouts], Tensor]] = {
    # CS336, 2025
    "compute_group_normalized_rewards(advantage_eps=1e-6, normalize_by_std=True)": lambda r: A(r, 1e-6),
    "compute_group_normalized_rewards(normalize_by_std=False)": centred,
    "compute_naive_policy_gradient_loss(raw_rewards)": lambda r: reinforce(r, r.rewards),
    "compute_naive_policy_gradient_loss(advantages)": lambda r: reinforce(r, A(r, HAND)),
    "compute_grpo_clip_loss(cliprange=0.2)": lambda r: clipped(r, A(r, HAND)),
    "GRPO-No-Clip": lambda r: without_clip(r, A(r, HAND)),
    "masked_mean(dim=None)": lambda r: by_token(clipped(r, A(r, HAND)), r.mask),
    "masked_mean(dim=1).mean()": lambda r: by_sequence(clipped(r, A(r, HAND)), r.mask),
    "masked_normalize(normalize_constant=2, dim=1).mean()": lambda r: by_constant(clipped(r, A(r, HAND)), r.mask, 2),
    'grpo_microbatch_train_step(loss_type="no_baseline")': lambda r: by_sequence(reinforce(r, r.rewards), r.mask),
    'grpo_microbatch_train_step(loss_type="reinforce_with_baseline")': lambda r: by_sequence(
        reinforce(r, A(r, HAND)), r.mask
    ),
    'grpo_microbatch_train_step(loss_type="grpo_clip", gradient_accumulation_steps=2)': lambda r: accumulated(
        r, by_sequence, clipped(r, A(r, HAND)), 2
    ),
    "get_response_log_probs": lambda r: r.new,
    "compute_entropy": lambda r: -(_logits(r).softmax(-1) * _logits(r).log_softmax(-1)).sum(-1),
    # CS336, 2026
    'compute_group_normalized_rewards(baseline="none", advantage_normalizer="none")': lambda r: r.rewards,
    'compute_group_normalized_rewards(baseline="mean", advantage_normalizer="mean", advantage_eps=1e-6)': lambda r: (
        over_the_mean(r, 1e-6)
    ),
    'compute_policy_gradient_loss(importance_reweighting_method="none")': lambda r: reinforce(r, A(r, HAND)),
    'compute_policy_gradient_loss(importance_reweighting_method="noclip")': lambda r: without_clip(r, A(r, HAND)),
    'compute_policy_gradient_loss(importance_reweighting_method="grpo", cliprange=0.2)': lambda r: clipped(
        r, A(r, HAND)
    ),
    'compute_policy_gradient_loss(importance_reweighting_method="gspo", cliprange=0.2)': lambda r: gspo(r, A(r, HAND)),
    "CISPO, an upper end alone, 1.2": lambda r: cispo(r, A(r, HAND), None, 0.2),
    'aggregate_loss_across_microbatch(loss_normalization="sequence")': lambda r: by_sequence(
        clipped(r, A(r, HAND)), r.mask
    ),
    'aggregate_loss_across_microbatch(loss_normalization="constant", normalization_constant=8)': lambda r: in_all(
        clipped(r, A(r, HAND)), r.mask, 8
    ),
    # The RLHF Book
    'ReinforceLoss, loss="reinforce"': lambda r: by_sequence(reinforce(r, r.rewards), r.mask),
    "compute_loo_advantages": others,
    'ReinforceLoss, loss="rloo"': lambda r: by_sequence(reinforce(r, others(r)), r.mask),
    "RLOO, the chapter's equation": lambda r: sequence_level(r, others(r)),
    "compute_standardized_advantages(eps=1e-8)": lambda r: A(r, 1e-8),
    "compute_maxrl_advantages": lambda r: over_the_mean(r, 0),
    "Strategy 1: per-sequence": lambda r: by_sequence(clipped(r, A(r, HAND)), r.mask),
    "Strategy 2: per-token": lambda r: by_token(clipped(r, A(r, HAND)), r.mask),
    "Strategy 3: fixed-length, L_max = 2": lambda r: by_constant(clipped(r, A(r, HAND)), r.mask, 2),
    "Example: GRPO, beta = 0.04": lambda r: by_sequence(clipped(r, A(r, 1e-4)) + 0.04 * k3(r), r.mask),
    'GRPOLoss, loss="drgrpo"': lambda r: by_sequence(clipped(r, centred(r)), r.mask),
    "DAPOLoss(clip_eps_lo=0.2, clip_eps_hi=0.28)": lambda r: by_token(clipped(r, A(r, HAND), 0.2, 0.28), r.mask),
    "GSPOLoss(clip_eps_lo=0.2, clip_eps_hi=0.2)": lambda r: by_sequence(gspo(r, A(r, HAND)), r.mask),
    "CISPOLoss(clip_eps_lo=0.2, clip_eps_hi=0.4)": lambda r: by_sequence(cispo(r, A(r, HAND), 0.2, 0.4), r.mask),
    "CISPO, the chapter's equation": lambda r: by_token(cispo(r, A(r, HAND), 0.2, 0.2), r.mask),
    "SAPOLoss(sapo_temp_pos=1.0, sapo_temp_neg=1.05)": lambda r: by_sequence(sapo(r, A(r, HAND), 1.0, 1.05), r.mask),
    "Truncated importance sampling, C = 2": lambda r: by_token(clipped(r, A(r, 1e-4)) * truncated_weight(r, 2), r.mask),
    # Reasoning from Scratch
    "compute_advantage_stats": lambda r: A(r, 1e-4),
    "compute_grpo_loss, chapter 6": lambda r: sequence_level(r, A(r, 1e-4)),
    "compute_grpo_loss, section 7.4, clip_eps=10": lambda r: sequence_clip(r, A(r, 1e-4), 10),
}


def _logits(r: Rollouts) -> Tensor:
    assert r.logits is not None
    return r.logits


def _ppo(e: critics.Episodes) -> Tensor:
    advantages = critics.gae(critics.rewards(e, 0), e, 1.0, 0.98)
    value = critics.value_loss(e, advantages + e.values_old, 0.4)
    return critics.ppo_policy_loss(e, advantages, 0.2) + 0.5 * value


def _critic(e: critics.Episodes) -> Tensor:
    to_come = critics.gae(critics.rewards(e, 0.1), e, 1.0, 1.0) + e.values_old
    return critics.value_loss(e, to_come, 0.2)


OF_EPISODES: dict[str, Callable[[critics.Episodes], Tensor]] = {
    "compute_gae(gamma=1.0, lam=0.98)": lambda e: critics.gae(critics.rewards(e, 0), e, 1.0, 0.98),
    "PPOLoss(clip_eps_lo=0.2, clip_eps_hi=0.2, clip_eps_val=0.4, vf_coef=0.5)": _ppo,
    "Basic PPO critic targets & loss": _critic,
}
OF_BOOKS: dict[str, Callable[[Book], Tensor]] = {
    "sft_microbatch_train_step(normalize_constant=1)": critics.sft_loss,
    "compute_per_instance_dpo_loss(beta=0.1)": lambda book: critics.dpo_losses("by-hand-dpo", 0.1),
}
CALLED = {*OF_ROLLOUTS, *OF_EPISODES, *OF_BOOKS}


def expected(called: str, book: Book) -> tuple[Tensor, Tensor, Tensor | None]:
    """Returns what a function gives on the numbers typed into a workbook, the mask, and the leaf of its gradient, if any."""
    if called in OF_ROLLOUTS:
        r = rollouts(book)
        return OF_ROLLOUTS[called](r), r.mask, r.new
    if called in OF_EPISODES:
        e = critics.episodes(book)
        return OF_EPISODES[called](e), e.mask, e.new
    found = OF_BOOKS[called](book)
    return found, found.new_ones(found.shape).bool(), None
