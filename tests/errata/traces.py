"""What does the picture "variance of GAE grows with λ" measure? `python -m tests.errata.traces`

The notebook draws one trace of 20 rewards and values, and takes the variance of its twenty advantages: over *time*. The variance of
an estimator is over *traces*: the same values, other rewards, the advantage of the first step again and again.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]

T, GAMMA, LAMBDAS, TRACES = 20, 0.99, (0.0, 0.5, 0.95, 1.0), 4_000


def gae(rewards: Array, values: Array, lam: float) -> Array:
    """Returns advantages of traces of rewards [..., T]; values [T + 1] go one step further."""
    advantages, A = np.zeros_like(rewards), np.zeros(rewards.shape[:-1])
    for t in reversed(range(T)):
        A = rewards[..., t] + GAMMA * values[t + 1] - values[t] + GAMMA * lam * A
        advantages[..., t] = A
    return advantages


def notebook_trace() -> tuple[Array, Array]:
    """Returns its rewards [20] and values [21]: numpy's legacy generator with the seed 42."""
    draws = np.random.RandomState(42)
    rewards = 0.5 * draws.randn(T) + 0.5
    values = 5 + np.cumsum(0.3 * draws.randn(T))
    return rewards, np.append(values, values[-1] + 0.1)


def main() -> None:
    """Prints, for each λ, what the picture shows, and what 4,000 traces give."""
    rewards, values = notebook_trace()
    traces = 0.5 * np.random.RandomState(0).randn(TRACES, T) + 0.5
    print("λ      one trace: A_1   variance over time     4,000 traces: mean of A_1   sd of A_1")
    for lam in LAMBDAS:
        one, first = gae(rewards, values, lam), gae(traces, values, lam)[:, 0]
        print(f"{lam:<8}{one[0]:13.3f}{one.var():18.2f}{first.mean():28.2f}{first.std():12.2f}")


if __name__ == "__main__":
    main()
