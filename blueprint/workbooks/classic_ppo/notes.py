"""What a row's note adds to its meaning and source: why the quantity is there, and where libraries differ."""

NOTES: dict[str, str] = {
    "preset": (
        "Only the column “preset” follows it; what is typed under “yours” stays. rlax 0.1.9 leaves γ, λ and ε to the caller: "
        "the numbers here are those it was run with."
    ),
    "value_clip_range": (
        "CleanRL fe8d8a0 has one number for this and for ε; here they are two. In units of reward, so 0.2 is tight for large "
        "returns and idle for small ones. Stable-Baselines3 2.9.2 and TorchRL 0.14.1: off."
    ),
    "clip_more": "0: the same reach on both sides, as in the paper. TorchRL 0.14.1 takes a pair of ε as well.",
    "value_factor": (
        "½ in CleanRL fe8d8a0, 1 in Stable-Baselines3 2.9.2, and both then weigh it by 0.5: the critic is trained twice as "
        "hard by the latter."
    ),
    "bootstrap": (
        "At a time limit the task goes on although the episode ends. With “done” the value is cut off there too; "
        "Stable-Baselines3 2.9.2 then adds γ·V(next) to the reward, CleanRL fe8d8a0 does not. TorchRL 0.14.1 has both words."
    ),
    "whiten_advantages": (
        "On, the size of an update does not depend on the scale of the rewards. CleanRL fe8d8a0 and Stable-Baselines3 2.9.2 "
        "do it per minibatch; all steps are one minibatch here. TorchRL 0.14.1 only if asked."
    ),
    "value_combine": (
        "The larger one keeps the critic from hiding an error behind the clip. Stable-Baselines3 2.9.2 takes the clipped one "
        "alone, so that a value beyond the clip has no gradient."
    ),
    "done": (
        "Marks the last step of an episode; the column to its right belongs to the next one. CleanRL fe8d8a0 stores the flag "
        "one step later, at the first step of the new episode."
    ),
    "terminated": (
        "Equal to done unless time limits are told apart. At a time limit V(next) should be that of the last state, not of "
        "the state after the reset; the row holds only one of them."
    ),
    "values.old": (
        "Read before the step. In the end column stands V of the state after the last step: the rollout stops there, but the "
        "episode goes on."
    ),
    "td_errors": (
        "What the step earned, plus what is expected after it, less what was expected before it. Behind an end nothing is "
        "expected."
    ),
    "advantages": (
        "The four libraries agree on this row to the last bits (4e-16). Without (1 − done) the luck of the next episode "
        "would be credited to this one."
    ),
    "returns": "Made of the raw A, before whitening, and constant while the critic is trained.",
    "advantage.divisor": (
        "Both guards against σ = 0 leave ordinary batches alone: σ + 1e-8 and max(σ, 1e-6) part in the ninth digit here."
    ),
    "ratio": "Exactly 1 everywhere before the first update: the best single test of a training loop (learning rate 0, no dropout).",
    "surrogate": (
        "For A > 0 it stops growing above the range, for A < 0 below it. TorchRL 0.14.1 clips the log-ratio instead, "
        "with the same result."
    ),
    "clip_fraction": (
        "By the ratio, whatever the sign of A. RLHF libraries count only the steps whose loss the clip changed, which are fewer."
    ),
    "approx_kl.k1": "May be negative. Early stopping on it went wrong (sb3#417); Stable-Baselines3 2.9.2 has k3 instead.",
    "approx_kl.k3": "Never negative. Stable-Baselines3 2.9.2 stops an epoch when it exceeds 1.5 · target_kl.",
    "ratio.effective": "1 if all ratios are equal; 1/N if one step has all the weight.",
    "explained_variance.old": (
        "At 1 the critic foresaw every return, at 0 it did no better than their mean; below 0 worse, as on the built-in numbers."
    ),
    "value_norm": (
        "Smooth L1 grows like the square up to an error of 1, beyond it in a straight line: one absurd return does less harm."
    ),
}
"""By block name."""
