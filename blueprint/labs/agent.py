"""The agent: a policy with logits of two actions and a critic with one number, each a small network with tanh.

The details that matter are those of CleanRL and Stable-Baselines3: separate networks, orthogonal weights (√2 in the hidden
layers, 0.01 for the policy's head, 1 for the critic's), biases 0 (Huang et al. 2022, The 37 Implementation Details of PPO, 2 and
13).
Everything is float64, so that a workbook can be held against it.
"""

from dataclasses import dataclass
from itertools import pairwise
from math import sqrt

import torch
from torch import Tensor

from blueprint.labs.settings import Settings
from blueprint.papers.models import Distribution, distribution

Module = torch.nn.Module
POLICY_GAIN, CRITIC_GAIN = 0.01, 1.0
"""How large the heads begin: a policy that finds all actions alike, and a critic that says something."""


@dataclass(frozen=True)
class Agent:
    """Two networks; with a shared trunk their hidden layers are the same, and each has a head of its own.

    policy: from observations [..., D] to logits [..., A]. critic: from observations [..., D] to [..., 1].
    """

    policy: torch.nn.Sequential
    critic: torch.nn.Sequential

    @property
    def weights(self) -> list[Tensor]:
        """Every weight once."""
        return list({id(each): each for net in (self.policy, self.critic) for each in net.parameters()}.values())

    def logits(self, observations: Tensor) -> Tensor:
        """Returns the policy's logits, [..., A]."""
        found: Tensor = self.policy(observations)
        return found

    def values(self, observations: Tensor) -> Tensor:
        """Returns the critic's values, [...]."""
        found: Tensor = self.critic(observations)[..., 0]
        return found

    def says(self, observations: Tensor, actions: Tensor) -> Distribution:
        """Returns log-probs of the actions taken, and entropies; observations [B, T, D], actions [B, T]."""
        return distribution(self.logits(observations), actions)


def agent_of(use: Settings, observed: int, actions: int, generator: torch.Generator) -> Agent:
    """Makes an agent whose weights are drawn. observed, actions: how many numbers it sees, and how many actions there are."""
    widths = [observed, *use.hidden]

    def hidden() -> list[Module]:
        layers: list[Module] = []
        for below, above in pairwise(widths):
            layers += [_linear(below, above, sqrt(2), use.init, generator), torch.nn.Tanh()]
        return layers

    of_policy = hidden()
    of_critic = of_policy if use.shared_trunk else hidden()
    policy_head = _linear(widths[-1], actions, POLICY_GAIN, use.init, generator)
    critic_head = _linear(widths[-1], 1, CRITIC_GAIN, use.init, generator)
    return Agent(torch.nn.Sequential(*of_policy, policy_head), torch.nn.Sequential(*of_critic, critic_head))


def _linear(below: int, above: int, gain: float, init: str, generator: torch.Generator) -> Module:
    """Makes a layer; `torch` is how torch.nn.Linear begins: uniform between ±1/√(units below), biases too."""
    layer = torch.nn.Linear(below, above, dtype=torch.float64)
    with torch.no_grad():
        if init == "orthogonal":
            torch.nn.init.orthogonal_(layer.weight, gain, generator=generator)
            layer.bias.zero_()
        else:
            for weight in (layer.weight, layer.bias):
                weight.uniform_(-1 / sqrt(below), 1 / sqrt(below), generator=generator)
    return layer
