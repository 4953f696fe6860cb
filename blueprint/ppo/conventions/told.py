"""What each convention is called: its symbol, its meaning, and the decimals that it is shown with."""

from blueprint.ppo.settings import TOLD as SETTINGS_TOLD

TOLD: dict[str, tuple[str, str, int]] = {
    "batch.temperature": ("τ", "logits are divided by it", 3),
    "batch.temperature_eps": ("ε_τ", "added to the temperature", 10),
    "batch.response_mask": ("mask_is", "which slots count as response", 0),
    "reward.kl_clamp_in": ("k1_max", "log-ratio to the reference stays within ±", 1),
    "reward.kl_clamp_out": ("KL_max", "KL estimate stays within ±", 1),
    "reward.kl_in": ("KL_in_is", "where the KL is paid", 0),
    "reward.kl_at_first_pad": ("KL_tail_is", "whether the first pad pays its KL too", 0),
    "reward.score_slot": ("at_score_is", "where the score lands", 0),
    "reward.score_clip": ("s_max", "score stays within ±", 1),
    "reward.missing_eos": ("eos_is", "rule for a score without an end word", 0),
    "reward.missing_eos_value": ("s_miss", "what that rule subtracts or sets", 2),
    "reward.missing_eos_test": ("done_is", "what counts as an end", 0),
    "reward.whiten": ("r_is", "whether rewards are whitened", 0),
    "reward.whiten_rezero": ("r_pad_is", "whitened rewards: 0 behind the response", 0),
    "advantage.tail_slots": ("tail", "slots behind that keep value and reward", 0),
    "advantage.gae_holes": ("holes_is", "holes in the mask: 0, or passed over", 0),
    "advantage.stats": ("stats_is", "what whitening counts", 0),
    "advantage.ddof": ("ddof", "variance is by N − this", 0),
    "advantage.eps_form": ("σ_is", "how ε_w keeps from dividing by 0", 0),
    "advantage.mean_eps": ("ε_mean", "added to N in masked means", 10),
    "advantage.ddof_eps": ("ε_ddof", "added to N in n/(n − 1)", 10),
    "loss.sample_filter": ("filter_is", "which responses the policy loss drops", 0),
    "loss.log_ratio_clamp": ("d_max", "log-ratio stays within ±", 1),
    "loss.clip_range_high": ("ε_up", "clip above: ratio counts up to 1 + this", 3),
    "loss.dual_clip": ("c", "dual clip: for Â < 0 not below c · Â", 1),
    "loss.ratio_threshold": ("ρ_max", "above this mean ratio both losses are 0", 1),
    "loss.aggregation": ("agg_is", "how words are averaged", 0),
    "loss.agg_eps": ("ε_N", "added to N in the token mean", 10),
    "loss.seq_eps": ("ε_n", "added to n_i in the response mean", 10),
    "loss.joint": ("joint_is", "one optimiser for policy and critic", 0),
    "loss.entropy_aggregation": ("agg_H_is", "how the entropy is averaged", 0),
    "value.factor": ("f", "factor of the value loss", 3),
    "value.tail": ("tail_V", "1: the value loss counts one slot more", 0),
    "value.combine": ("v_loss_is", "the larger square, or the clipped one", 0),
    "value.aggregation": ("agg_V_is", "how the value loss is averaged", 0),
    "metrics.kl": ("aKL_is", "estimate of the approximate KL", 0),
    "metrics.log_ratio": ("aKL_d_is", "log-ratio that the approximate KL reads", 0),
    "metrics.over": ("watch_is", "whether pads count in what is watched", 0),
    "metrics.clip_fraction": ("cf_is", "what counts as clipped", 0),
    "metrics.explained": ("EV_is", "form of the explained variance", 0),
    "metrics.ev_eps": ("ε_ev", "added to the variance of the returns", 10),
    "metrics.kl_stat": ("KL_ref_is", "statistic of the KL to the reference", 0),
}
"""By key: (symbol, meaning, decimals)."""

LIVE_TOLD = SETTINGS_TOLD | TOLD
"""Every setting of a workbook whose conventions are live."""
