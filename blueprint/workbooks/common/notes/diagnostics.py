"""Notes on the sheets Diagnostics and Checks."""

NOTES: dict[str, str] = {
    "clip_fraction.loss": (
        "0 in the first step of the first epoch. A large share says that many words no longer teach. TRL 0.11.4 "
        "and 1.12, OpenRLHF 0.11.2 and verl 0.9.1 count like this."
    ),
    "clip_fraction.ratio": (
        "Never below the one above, often far above it. Compare it with CleanRL fe8d8a0 or Stable-Baselines3 "
        "2.9.2, not with TRL 0.11.4 or verl 0.9.1."
    ),
    "approx_kl.k1": (
        "May be negative, so it is a poor rule for stopping early (stable-baselines3#417). OpenRLHF 0.11.2 and "
        "TRL 0.11.4 (policykl) take it as it is, verl 0.9.1 clamps d to ±20 first."
    ),
    "approx_kl.k3": (
        "Never negative. Stable-Baselines3 2.9.2 stops the epochs at 1.5 times its target_kl, if one is set. TRL "
        "0.11.4 and 1.12 log a third number as approxkl, ½ · mean d²; 1.12 averages it over the padding too, "
        "which makes it smaller."
    ),
    "kl.per_word": (
        "Per word, as OpenRLHF 0.11.2 and verl 0.9.1 report it. Multiply by the length before you compare it "
        "with TRL 0.11.4."
    ),
    "kl.response": "The sum over its words: with k1 it is the log-ratio of the whole text, ln π_old − ln π_ref.",
    "kl.per_response": (
        "As TRL 0.11.4 and lm-human-preferences cbfd210 report it (objective/kl): the number that their target "
        "of 6 nats is about."
    ),
    "response.wrote": "An episode whose prompt leaves no room writes nothing and is not counted as a response.",
    "response.count": "Divides the sums per response; the means per word divide by N.",
    "score.mean": (
        "What RLHF is about: it should rise while the KL to the reference stays small. If both rise together, "
        "read some responses."
    ),
    "score.response": "Compare it with the sum of the rewards: the difference is what the KL cost.",
    "non_score.response": (
        "With k1 above 0 where the response is likelier under the reference: then the penalty is a bonus."
    ),
    "non_score_reward": (
        "What the drift costs per response, in units of the score. If it eats up the gain in mean score, β is "
        "high. TRL 1.12 logs it per response, as here; TRL 0.11.4 under nearly the same name per word."
    ),
    "response.mean_length": "Rising together with the score, it may mean that length is being rewarded.",
    "response.longest": "Equal to max_new_tokens it says that responses are being cut.",
    "advantage.abs": "Size without sign, before whitening: which words surprised the critic.",
    "advantage.mean_abs": (
        "Shrinks while the critic learns to foresee the returns. Whitening hides its size from the loss, which "
        "is why it is watched."
    ),
    "returns.mean": (
        "The critic's targets on average. Compare it with the mean of V_old: a gap between the two is a constant "
        "error of the critic."
    ),
    "returns.centred": "The part of the return that a constant could not foresee.",
    "returns.variance": (
        "What there is to explain. By N, as in CleanRL fe8d8a0 and Stable-Baselines3 2.9.2; verl 0.9.1 divides "
        "by N − 1."
    ),
    "value.residual": "The raw advantage again, since R = A + V_old.",
    "value.residual_mean": ("Not 0 means that the critic is off by a constant. Explained variance does not see that."),
    "value.residual.centred": "What remains unforeseen once a constant error is forgiven.",
    "value.residual.variance": "What is left to explain. Compare it with the variance of the returns.",
    "explained_variance.floor": (
        "Equal returns leave a variance of about 1e-32 instead of 0, and dividing by it would print nonsense."
    ),
    "explained_variance": (
        "1: all foreseen; 0: no better than a constant; below 0: worse. Old critic: CleanRL fe8d8a0, "
        "Stable-Baselines3 2.9.2; new critic: TorchRL 0.14.1. TRL 0.11.4 takes 1 − mse/var, which also counts a "
        "constant error."
    ),
    **dict.fromkeys(
        (
            "mean.old.logprobs",
            "mean.reference.logprobs",
            "mean.policy.logprobs",
            "mean.rewards",
            "mean.old_critic.values",
            "mean.td_errors",
            "mean.advantages",
            "mean.advantages_used",
            "mean.returns",
            "mean.ratio",
            "mean.kl.used",
            "mean.surrogate.unclipped",
            "mean.surrogate",
        ),
        "Over the response words of the batch, where the mask is 1. The sheet Start shows it as the row's one number.",
    ),
    "check.master": (
        "Says OK only if every line below does. LOOK is no matter of taste: a formula was overwritten, or "
        "something was typed that cannot be."
    ),
    ".worst": "About 1e-16 is rounding, 1e-7 beside float32. The row of distances shows where a larger one arises.",
    ".tolerance": (
        "Typed, so it can be made tighter. 1e-9 is far above rounding and far below anything one would see."
    ),
    ".failed": "Counts on from line to line; the verdict on top reads the last one.",
    "check.returns": (
        "True for every γ and λ. With λ = 0 row A must also equal row δ, and with γ = λ = 1 row R the sum of the "
        "rewards to come: try both on Inputs."
    ),
    "check.ratio": "Speaks only when update_step is 0; otherwise it shows 0. Set the step to 0 to use it.",
    "check.total": (
        "One side is a sum of four means, the other runs over the words. They meet only if every part is "
        "averaged over the same words."
    ),
    "check.k3": "e^x is never below 1 + x, so a negative k3 can only be an error.",
    "check.exact_kl": "A KL is 0 or more for any two distributions; below 0, one of them does not sum to 1.",
}
