"""An agent, and what it lives through in gymnasium's cart-pole, and the minibatches that are cut of it.

The agent is a policy with logits of two actions and a critic with one number, each a small network with tanh. The details that
matter are those of CleanRL and Stable-Baselines3: separate networks, orthogonal weights (√2 in the hidden layers, 0.01 for the
policy's head, 1 for the critic's), biases 0 (Huang et al. 2022, The 37 Implementation Details of PPO, 2 and 13). Everything is
float64, so that a workbook can be held against it.

A time limit is no end: the pole still stands. So at a step that only the limit cut off, γ·V(what would have come) is added to the
reward, as Stable-Baselines3 does (Pardo et al. 2018, Time Limits in Reinforcement Learning: bootstrapping at the end of a partial
episode). The step on which the pole falls has reward 1 like every other one.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from importlib.util import find_spec
from itertools import pairwise
from math import sqrt
from typing import Any, NamedTuple

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from blueprint.labs.settings import LabError, Settings
from blueprint.papers.classic_ppo import gae
from blueprint.papers.models import Distribution, distribution, drawn

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


CART_POLE = "CartPole-v1"
OBSERVED = ("x", "ẋ", "θ", "θ̇")
"""What is observed: place of the cart, its speed, angle of the pole, its speed."""
ACTIONS = ("left", "right")
NO_LIMIT = 2**31
"""Steps of an episode that no run of ours has."""
SEEDS_APART = 1_000
"""How far the environments' seeds of two runs lie apart; there are fewer environments."""


class Ended(NamedTuple):
    """An episode that ended: after how many steps of all environments together, and how long it was."""

    steps: int
    length: int


@dataclass(frozen=True)
class Rollout:
    """What N environments gave in T steps, [N, T]; values have one column more, V of what comes next.

    observations: [N, T, 4]. logits: of the policy that acted, [N, T, A]. rewards: with γ·V(next) at a time limit.
    done: the episode ended after the step. terminated: the pole fell. counts: the step was taken; where whole episodes are played,
    the shorter ones have none behind their end.
    """

    observations: Tensor
    actions: Tensor
    logits: Tensor
    logp: Tensor
    values: Tensor
    rewards: Tensor
    done: Tensor
    terminated: Tensor
    counts: Tensor
    advantages: Tensor
    returns: Tensor


@dataclass(frozen=True)
class Minibatch:
    """Some steps of a rollout, each with all that the loss needs of it, [M] or [M, …].

    Each is an episode of one step, whose reward is its return: what GAE gathered behind it, r + γ·((1 − λ)·V(next) + λ·return).
    So less V it is the advantage, and a page that makes advantages of rewards needs no second door.
    """

    observations: Tensor
    actions: Tensor
    logits: Tensor
    logp: Tensor
    values: Tensor
    returns: Tensor


@dataclass
class Environments:
    """Cart-poles side by side, which go on where they were; a pole that fell begins anew at once."""

    use: Settings
    observed: NDArray[Any] = field(init=False)
    lengths: NDArray[np.int64] = field(init=False)
    steps: int = 0

    def __post_init__(self) -> None:
        """Opens them. Raises LabError where gymnasium is missing."""
        limit = NO_LIMIT if self.use.time_limit == "off" else self.use.time_limit
        self.vector = opened(self.use.environments, limit)
        self.begin(self.use.seed * SEEDS_APART)

    def begin(self, seed: int | None = None) -> None:
        """Begins every episode anew; seed: of the first environment, the next one has one more; without it draws go on."""
        self.observed, _ = self.vector.reset(seed=seed)
        self.lengths = np.zeros(self.use.environments, np.int64)

    def step(self, actions: NDArray[Any], counted: NDArray[np.bool_]) -> tuple[Any, Any, Any, Any, list[Ended]]:
        """Takes a step in each; returns rewards, falls, time limits, the observations before any new beginning, and what ended."""
        self.observed, rewards, terminated, truncated, told = self.vector.step(actions)
        self.lengths += 1
        self.steps += int(counted.sum())
        ends, last = terminated | truncated, self.observed.copy()
        for n in np.flatnonzero(ends):
            last[n] = told["final_obs"][n]
        ended = [Ended(self.steps, int(self.lengths[n])) for n in np.flatnonzero(ends & counted)]
        self.lengths[ends] = 0
        return rewards, terminated, truncated, last, ended


def opened(number: int, limit: int) -> Any:
    """Opens cart-poles side by side. Raises LabError where gymnasium is missing."""
    need_gymnasium()
    import gymnasium
    from gymnasium.vector import AutoresetMode

    return gymnasium.make_vec(
        CART_POLE,
        num_envs=number,
        vectorization_mode="sync",
        max_episode_steps=limit,
        vector_kwargs={"autoreset_mode": AutoresetMode.SAME_STEP},
    )


def need_gymnasium() -> None:
    """Raises LabError where gymnasium is missing."""
    if find_spec("gymnasium") is None:
        raise LabError(
            'cart-pole is an environment of gymnasium, which is not installed: python -m pip install ".[torch,lab]"'
        )


def of_numpy(array: NDArray[Any]) -> Tensor:
    """Returns an array as a tensor of float64."""
    return torch.as_tensor(array, dtype=torch.float64)


@torch.no_grad()
def play(agent: Agent, environments: Environments, generator: torch.Generator) -> tuple[Rollout, list[Ended]]:
    """Lets an agent act for one iteration, by actions that are drawn; returns what it lived through, and the episodes that ended.

    PPO and A2C: `rollout_steps` of each environment, which go on where they were. REINFORCE: one whole episode of each, with V = 0.
    """
    use, kept, ended = environments.use, list[tuple[Any, ...]](), list[Ended]()
    whole = use.method == "reinforce"
    if whole:
        environments.begin()
    running = np.ones(use.environments, np.bool_)
    while running.any() if whole else len(kept) < use.rollout_steps:
        seen, counted = of_numpy(environments.observed), running.copy()
        logits = agent.logits(seen)
        actions = drawn(logits, torch.rand(len(seen), dtype=torch.float64, generator=generator))
        rewards, terminated, truncated, last, new = environments.step(actions.numpy(), counted)
        ended += new
        rewards = of_numpy(rewards)
        if truncated.any() and not whole:  # what the time limit cut off
            rewards += use.gamma * agent.values(of_numpy(last)).where(torch.as_tensor(truncated & ~terminated), 0)
        kept.append((seen, actions, logits, rewards, terminated, terminated | truncated, counted))
        if whole:
            running &= ~(terminated | truncated)
    seen, actions, logits, rewards = (torch.stack(each, 1) for each in list(zip(*kept, strict=True))[:4])
    terminated, done, counts = (torch.as_tensor(np.stack(each, 1)) for each in list(zip(*kept, strict=True))[4:])
    behind = of_numpy(environments.observed)[:, None]
    values = agent.values(torch.cat([seen, behind], dim=1))
    values = torch.zeros_like(values) if whole else values
    _, advantages = gae(rewards, values, done, gamma=use.gamma, lam=use.gae_lambda)
    logp = agent.says(seen, actions).logp
    returns = advantages + values[:, :-1]
    rollout = Rollout(seen, actions, logits, logp, values, rewards, done, terminated, counts, advantages, returns)
    return rollout, ended


def minibatches(rollout: Rollout, use: Settings, generator: torch.Generator) -> list[Minibatch]:
    """Cuts a rollout into minibatches for one epoch: its steps in a drawn order; the whole rollout keeps its own.

    A last step that would be alone is left out, since one advantage has no spread to be whitened by.
    """
    steps = rollout.counts.flatten().nonzero()[:, 0]
    size = len(steps) if use.minibatch == "all" else use.minibatch
    if size < len(steps):
        steps = steps[torch.randperm(len(steps), generator=generator)]
    kept = (
        rollout.observations, rollout.actions, rollout.logits, rollout.logp, rollout.values[:, :-1], rollout.returns,
    )  # fmt: skip
    flat = [each.flatten(0, 1) for each in kept]
    return [Minibatch(*(each[at] for each in flat)) for at in torch.split(steps, size) if len(at) > 1]


def evaluate(policy: Any, seed: int, episodes: int = 100, limit: int = 500) -> NDArray[np.int64]:
    """Returns how long new episodes are, [episodes], each in an environment of its own with a seed that no training had.

    policy: from observations [N, 4] to actions [N], both numpy arrays.
    """
    vector = opened(episodes, limit)
    observed, _ = vector.reset(seed=10_000_000 + seed * SEEDS_APART)
    lengths, running = np.zeros(episodes, np.int64), np.ones(episodes, np.bool_)
    while running.any():
        observed, _, terminated, truncated, _ = vector.step(policy(observed))
        lengths += running
        running &= ~(terminated | truncated)
    vector.close()
    return lengths
