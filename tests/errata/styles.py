"""A policy chooses one of five styles of answer; does a KL penalty keep it near its reference? `python -m tests.errata.styles`

The notebook's gradient is `reward − β·KL` at the style drawn and 0 elsewhere. That of log π is e_a − π, and the KL is that of
the style drawn: `log π(a) − log π_ref(a)`. Beside both stands the exact optimum, π_ref·e^{r/β} over its sum. Runs are rows: [B].
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

REFERENCE = np.array([0.20, 0.30, 0.15, 0.25, 0.10])
"""How likely the reference finds each style."""
REWARDS = np.array([0.3, 0.8, -0.2, 0.9, -0.5])
STEPS, RATE, SEEDS = 5_000, 0.1, 20


def optimum(beta: float) -> Array:
    """Returns the policy that is best for reward less β·KL, [5]."""
    weights: Array = REFERENCE * np.exp((REWARDS - REWARDS.max()) / beta)
    return weights / float(weights.sum())


def kl(policy: Array) -> Array:
    """Returns KL(π‖π_ref) in nats of policies [..., 5]."""
    terms: Array = policy * (np.log(np.maximum(policy, 1e-300)) - np.log(REFERENCE))
    return np.asarray(terms.sum(axis=-1))


def softmax(logits: Array) -> Array:
    """Returns probabilities of logits [..., 5]."""
    exponentials: Array = np.exp(logits - logits.max(axis=-1, keepdims=True))
    return np.asarray(exponentials / exponentials.sum(axis=-1, keepdims=True))


def trained(beta: float, *, corrected: bool) -> Array:
    """Trains one policy for each seed, one draw a step, and returns them, [SEEDS, 5].

    corrected: whether the gradient is (r(a) − β·log π(a)/π_ref(a))·(e_a − π), or the notebook's (r(a) − β·KL)·e_a.
    """
    draws = np.stack([np.random.default_rng(seed).random(STEPS) for seed in range(SEEDS)])
    logits = np.tile(np.log(REFERENCE), (SEEDS, 1))
    rows = np.arange(SEEDS)
    for step in range(STEPS):
        policy = softmax(logits)
        drawn = (policy.cumsum(axis=1) < draws[:, step, None]).sum(axis=1).clip(max=4)
        if corrected:
            worth = REWARDS[drawn] - beta * (np.log(policy[rows, drawn]) - np.log(REFERENCE[drawn]))
            logits -= RATE * worth[:, None] * policy
        else:
            worth = REWARDS[drawn] - beta * kl(policy)
        logits[rows, drawn] += RATE * worth
    return softmax(logits)


def main() -> None:
    """Prints, for each β, where the runs end by both gradients, and the exact optimum."""
    print("  β      as printed: KL  collapsed     corrected: KL  collapsed     exact optimum: KL  E r")
    for beta in (0, 0.1, 1):
        cells = []
        for corrected in (False, True):
            policies = trained(beta, corrected=corrected)
            distances, collapsed = kl(policies), int((policies.max(axis=1) > 0.95).sum())
            cells.append(f"{distances.min():9.2f} to {distances.max():.2f}   {collapsed:2d} of {SEEDS}    ")
        best = optimum(beta) if beta else np.eye(5)[REWARDS.argmax()]
        print(f"{beta:3.1f} {''.join(cells)}{kl(best):15.3f}  {best @ REWARDS:.3f}")


if __name__ == "__main__":
    main()
