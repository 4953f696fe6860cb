"""Whose step is it, when policy and values share a trunk? `python -m tests.errata.trunk`

One rollout of cart-pole by an untrained network as the notebook has it: two layers of 64 that a policy head and a value head share,
GAE with γ 0.99 and λ 0.95, whitened advantages, a value loss times 0.5, and one norm of 0.5 for all weights. In the first minibatch
of 64 the gradient that reaches the trunk is split into the policy's part and the value loss's.
Constants of the cart and its pole, and Euler's step from the old values, are those of gymnasium's CartPole-v1.
"""

from __future__ import annotations

import math
import random
from dataclasses import dataclass

import torch
from torch import Tensor, nn

STEPS, MINIBATCH = 2_048, 64
GAMMA, LAMBDA, VF_COEF, MAX_NORM = 0.99, 0.95, 0.5, 0.5


def cart_pole(state: tuple[float, ...], push_right: bool) -> tuple[tuple[float, ...], bool]:
    """Returns the next position, speed, angle and its speed, and whether the pole is down."""
    x, speed, angle, turning = state
    force, total, pole = (10.0 if push_right else -10.0), 1.1, 0.1 * 0.5
    push = (force + pole * turning**2 * math.sin(angle)) / total
    turn = (9.8 * math.sin(angle) - math.cos(angle) * push) / (0.5 * (4 / 3 - 0.1 * math.cos(angle) ** 2 / total))
    run = push - pole * turn * math.cos(angle) / total
    after = (x + 0.02 * speed, speed + 0.02 * run, angle + 0.02 * turning, turning + 0.02 * turn)
    return after, abs(after[0]) > 2.4 or abs(after[2]) > math.radians(12)


class Shared(nn.Module):
    """A trunk of two layers of 64, a policy head and a value head: 4,675 weights."""

    def __init__(self) -> None:
        super().__init__()
        self.trunk = nn.Sequential(nn.Linear(4, 64), nn.Tanh(), nn.Linear(64, 64), nn.Tanh())
        self.policy, self.value = nn.Linear(64, 2), nn.Linear(64, 1)

    def forward(self, states: Tensor) -> tuple[Tensor, Tensor]:
        """Returns log-probs [N, 2] and values [N] of states [N, 4]."""
        seen = self.trunk(states)
        return self.policy(seen).log_softmax(-1), self.value(seen)[:, 0]


@dataclass(frozen=True)
class Rollout:
    """What was seen. states: [N, 4]; actions, and ends, whether the pole fell: [N]; values: [N + 1]."""

    states: Tensor
    actions: Tensor
    ends: Tensor
    values: Tensor


def rollout(network: Shared, draws: random.Random) -> Rollout:
    """Lets the network balance for STEPS steps; an episode ends when the pole is down."""
    states: list[tuple[float, ...]] = []
    actions: list[int] = []
    ends: list[bool] = []
    values: list[float] = []
    state = _upright(draws)
    with torch.no_grad():
        for _ in range(STEPS):
            logprobs, value = network(torch.tensor([state]))
            action = int(draws.random() > math.exp(logprobs[0, 0].item()))
            after, down = cart_pole(state, action == 1)
            states.append(state)
            actions.append(action)
            ends.append(down)
            values.append(value.item())
            state = _upright(draws) if down else after
        values.append(network(torch.tensor([state]))[1].item())
    return Rollout(torch.tensor(states), torch.tensor(actions), torch.tensor(ends), torch.tensor(values))


def _upright(draws: random.Random) -> tuple[float, ...]:
    return tuple(draws.uniform(-0.05, 0.05) for _ in range(4))


def advantages(seen: Rollout) -> Tensor:
    """Returns GAE, [N]: a step earns 1, that on which the pole falls 0, as in the notebook."""
    found, A = torch.zeros(STEPS), torch.tensor(0.0)
    for t in reversed(range(STEPS)):
        goes_on = 1.0 - float(seen.ends[t])
        A = goes_on + GAMMA * goes_on * seen.values[t + 1] - seen.values[t] + GAMMA * LAMBDA * goes_on * A
        found[t] = A
    return found


def shares(seed: int) -> tuple[float, float, float, float]:
    """Splits the gradient of the first minibatch.

    Returns the value loss; the norms, on the trunk, of the policy's gradient and of the value loss's times 0.5; and the share of
    both that one norm of 0.5 over all weights leaves.
    """
    torch.manual_seed(seed)
    network = Shared()
    seen = rollout(network, random.Random(seed))
    A = advantages(seen)
    returns, A = A + seen.values[:-1], (A - A.mean()) / (A.std() + 1e-8)
    rows = torch.randperm(STEPS)[:MINIBATCH]
    logprobs, values = network(seen.states[rows])
    chosen = logprobs.gather(1, seen.actions[rows, None])[:, 0]
    policy_loss = -((chosen - chosen.detach()).exp() * A[rows]).mean()  # on the first minibatch every ratio is 1
    value_loss = (values - returns[rows]).square().mean()
    trunk = (
        norm_of(policy_loss, list(network.trunk.parameters())),
        norm_of(VF_COEF * value_loss, list(network.trunk.parameters())),
    )
    both = norm_of(policy_loss + VF_COEF * value_loss, list(network.parameters()))
    return value_loss.item(), *trunk, min(1.0, MAX_NORM / both)


def norm_of(loss: Tensor, weights: list[nn.Parameter]) -> float:
    """Returns the norm of the gradient of a loss over some weights."""
    slopes = torch.autograd.grad(loss, weights, retain_graph=True)
    return float(torch.cat([slope.reshape(-1) for slope in slopes]).norm())


def main() -> None:
    """Prints, for three seeds, the two gradients that meet in the trunk, and what one norm leaves of the policy's."""
    for seed in range(3):
        value_loss, policy, value, left = shares(seed)
        of_trunk = f"on the trunk the policy's gradient {policy:.2f}, the value loss's {value:5.1f}"
        print(f"seed {seed}: value loss {value_loss:5.1f}; {of_trunk}; one norm leaves {left:.1%} of both")


if __name__ == "__main__":
    main()
