"""A run on cart-pole: play, learn by the page's loss, watch, and again, until the steps are used up.

PPO, A2C and REINFORCE differ in settings alone. A2C is PPO with one epoch, one minibatch and no clip, since the slope of Â·ratio is
that of Â·log π where the ratio is 1 (Huang et al. 2022, A2C is a special case of PPO); REINFORCE is A2C of whole episodes with
V = 0 and λ = 1. The loss is `papers/classic_ppo.py` for all three.

>>> from blueprint.labs.settings import settings
>>> run = trained(settings("ppo", steps=512))
>>> run.frame()["steps"].tolist()
[256, 512]
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from copy import deepcopy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from blueprint.labs.agent_and_rollout import (
    ACTIONS,
    OBSERVED,
    Agent,
    Ended,
    Environments,
    Minibatch,
    Rollout,
    agent_of,
    evaluate,
    minibatches,
    of_numpy,
    play,
)
from blueprint.labs.settings import LabError, Settings
from blueprint.papers.classic_ppo import ClassicPpo, classic_ppo
from blueprint.papers.metrics import explained_variance
from blueprint.papers.models import Optimiser, drawn, take_step

if TYPE_CHECKING:
    from pandas import DataFrame

ADAM_EPS = 1e-5
"""As in CleanRL and Stable-Baselines3 (37 details, detail 3)."""
WATCHED = {
    "length": "mean length of the last episodes that ended",
    "ended": "episodes that ended in the iteration",
    "kl": "KL of the whole update by k3, after the last epoch",
    "clip_fraction": "share of ratios outside 1 ± ε, after the last epoch",
    "entropy": "entropy of the policy, after the last epoch, in nats",
    "explained_variance": "share of the returns' variance that the critic foresaw",
    "policy_loss": "policy loss of the first minibatch",
    "value_loss": "value loss, ½·(V − R)², of the first minibatch",
    "grad_norm": "largest norm of the gradient, before it was clipped",
    "a2c_gap": "largest difference of the first gradient from A2C's",
}
"""What is watched of every iteration."""
LAST = 20
"""Episodes over which the length is averaged."""
Progress = Callable[[int], None]
"""Is told how many steps more are done."""


@dataclass(frozen=True)
class Moment:
    """One minibatch of one iteration: what the loss was computed of, and what the agent said of it before the step.

    old, agent: the agent that acted, and the agent before the step; logits, values: what the latter says, [M, A] and [M].
    found: the losses. clip: ε. whole: whether the minibatch is the whole rollout, in two columns of steps or more.
    """

    use: Settings
    iteration: int
    number: int
    rollout: Rollout
    batch: Minibatch
    old: Agent
    agent: Agent
    logits: Tensor
    values: Tensor
    found: ClassicPpo
    clip: float
    whole: bool


class Run:
    """A run that is finished, or as far as it has come.

    watched: a row for each iteration. ended: every episode that ended, in order.
    """

    def __init__(self, use: Settings, agent: Agent, watched: list[dict[str, float]], ended: list[Ended]) -> None:
        """Holds what was kept of each iteration."""
        self.settings, self.agent, self.watched, self.ended = use, agent, watched, ended

    def __repr__(self) -> str:
        """Says what came of the run, in a line or two."""
        last = self.watched[-1]
        return (
            f"{self.settings.method}, seed {self.settings.seed}: {last['steps']:,.0f} steps, {len(self.watched)} iterations, "
            f"{len(self.ended):,} episodes ended; the last {min(LAST, len(self.ended))} had {last['length']:.0f} steps on average"
        )

    def frame(self) -> DataFrame:
        """Returns a row for each iteration: steps so far, and what is watched."""
        import pandas as pd

        found = pd.DataFrame(self.watched, columns=["iteration", "steps", *WATCHED])
        return found.astype({"steps": int, "iteration": int, "ended": int})

    def episodes(self) -> DataFrame:
        """Returns a row for each episode that ended: after how many steps of all environments, and how long it was."""
        import pandas as pd

        return pd.DataFrame(self.ended, columns=["steps", "length"])

    def evaluate(self, episodes: int = 100) -> NDArray[np.int64]:
        """Returns the lengths of new episodes, of at most 500 steps, with drawn actions and new environments."""
        generator = torch.Generator().manual_seed(self.settings.seed + 1)

        def policy(observed: NDArray[Any]) -> NDArray[Any]:
            u = torch.rand(len(observed), dtype=torch.float64, generator=generator)
            with torch.no_grad():
                actions: NDArray[Any] = drawn(self.agent.logits(of_numpy(observed)), u).numpy()
            return actions

        return evaluate(policy, self.settings.seed, episodes)

    def minibatch(self, iteration: int, number: int = 1) -> dict[str, Any]:
        """Returns a minibatch as the numbers of a workbook: `bp.build(run.minibatch(7, 2))`. Trains up to it once more."""
        from blueprint.labs.export import workbook_numbers

        return workbook_numbers(moment(self.settings, iteration, number))


class Trainer:
    """An agent, its environments, its optimiser and its draws. All draws come of the seed, so a run can be had again."""

    def __init__(self, use: Settings) -> None:
        """Makes everything; nothing has happened yet."""
        self.use, self.generator = use, torch.Generator().manual_seed(use.seed)
        self.environments = Environments(use)
        self.agent = agent_of(use, len(OBSERVED), len(ACTIONS), self.generator)
        self.optimiser = Optimiser("adam", use.lr, eps=ADAM_EPS).of(self.agent.weights)
        self.ended: list[Ended] = []
        self.done = 0

    @property
    def steps(self) -> int:
        """Steps so far, of all environments together."""
        return self.environments.steps

    @property
    def has_room(self) -> bool:
        """Whether there are steps for another iteration; REINFORCE finishes the episodes that it has begun."""
        return self.steps + (1 if self.use.method == "reinforce" else self.use.batch) <= self.use.steps

    def loss(self, batch: Minibatch, clip: float) -> ClassicPpo:
        """Returns the page's loss of a minibatch: M episodes of one step."""
        new = self.agent.says(batch.observations[:, None], batch.actions[:, None])
        use, values = self.use, self.agent.values(batch.observations)
        return classic_ppo(
            rewards=batch.returns[:, None],
            done=torch.ones_like(batch.actions[:, None], dtype=torch.bool),
            logp_old=batch.logp[:, None],
            logp_new=new.logp,
            values_old=torch.stack([batch.values, torch.zeros_like(batch.values)], dim=1),
            values_new=values[:, None],
            entropy=new.entropy,
            gamma=use.gamma,
            lam=use.gae_lambda,
            clip=clip,
            value_clip=use.value_clip,
            value_coef=use.vf_coef,
            entropy_coef=use.ent_coef,
        )

    def iterate(self, stop_before: int = 0) -> tuple[Rollout, Minibatch | None, float, dict[str, float]]:
        """Plays and learns once; returns the rollout, the minibatch before which it stopped, ε, and what was watched.

        stop_before: the number of a minibatch, counted over the epochs from 1, before whose step to stop; 0: learn of all.
        """
        use, left = self.use, max(0.0, 1 - self.steps / self.use.steps)
        clip = use.clip(left)
        for group in self.optimiser.param_groups:
            group["lr"] = use.lr * (left if use.lr_schedule == "linear" else 1.0)
        rollout, ended = play(self.agent, self.environments, self.generator)
        self.ended += ended
        seen: dict[str, float] = {"grad_norm": 0.0}
        number = 0
        for _ in range(use.epochs):
            for batch in minibatches(rollout, use, self.generator):
                number += 1
                if number == stop_before:
                    return rollout, batch, clip, seen
                found = self.loss(batch, clip)
                if number == 1:
                    seen |= self._first(batch, found)
                for name in ("policy_loss", "value_loss", "entropy"):
                    if not torch.isfinite(getattr(found, name)):
                        raise self._no_number(f"{name.replace('_', ' ')} of minibatch {number}")
                norm = float(take_step(self.optimiser, found.total, use.max_norm))
                seen["grad_norm"] = max(seen["grad_norm"], norm)
        if stop_before:
            raise LabError(
                f"iteration {self.done} has no minibatch {stop_before}: it has {number}, in {use.epochs} epochs, counted from 1"
            )
        seen |= self._after(rollout, clip, len(ended))
        self.done += 1
        return rollout, None, clip, seen

    def _first(self, batch: Minibatch, found: ClassicPpo) -> dict[str, float]:
        """Watches the first minibatch, at which the policy is still the old one: so PPO's gradient is A2C's."""
        ours, a2c = (self.gradient(each) for each in (found.total, self.a2c_loss(batch, found)))
        gap = max(float((one - other).abs().max()) for one, other in zip(ours, a2c, strict=True))
        return {"policy_loss": found.policy_loss.item(), "value_loss": found.value_loss.item(), "a2c_gap": gap}

    def a2c_loss(self, batch: Minibatch, found: ClassicPpo) -> Tensor:
        """Returns the mean of −Â·log π, and the page's other terms: the page's loss is held against it, and nobody steps on it."""
        logp = self.agent.says(batch.observations[:, None], batch.actions[:, None]).logp
        policy_loss = -(found.whitened.detach() * logp).mean()
        return policy_loss + self.use.vf_coef * found.value_loss - self.use.ent_coef * found.entropy

    def gradient(self, loss: Tensor) -> list[Tensor]:
        """Returns the slope of a loss by every weight."""
        weights = self.agent.weights
        return [*torch.autograd.grad(loss, weights, retain_graph=True, allow_unused=True, materialize_grads=True)]

    @torch.no_grad()
    def _after(self, rollout: Rollout, clip: float, ended: int) -> dict[str, float]:
        """Watches what the update did, over the whole rollout, after the last epoch."""
        counts = rollout.counts
        (whole,) = minibatches(rollout, self.use.model_copy(update={"minibatch": "all"}), self.generator)
        found = self.loss(whole, clip)
        foreseen = explained_variance(rollout.values[:, :-1], rollout.returns, counts)
        seen = {
            "kl": float(found.approx_kl),
            "clip_fraction": float(found.clip_fraction),
            "entropy": float(found.entropy),
            "explained_variance": float(foreseen),
        }
        for name, value in seen.items():
            if not np.isfinite(value) and name != "explained_variance":  # equal returns have no variance to explain
                raise self._no_number(name.replace("_", " "))
        lengths = [each.length for each in self.ended[-LAST:]] or self.environments.lengths.tolist()
        return {"steps": self.steps, "iteration": self.done, "length": float(np.mean(lengths)), "ended": ended, **seen}

    def _no_number(self, what: str) -> LabError:
        return LabError(
            f"iteration {self.done}, after {self.steps:,} steps: {what} is no number any more, so the run ends there; make "
            f"lr = {self.use.lr:g} smaller, or hold the gradient with max_norm = {self.use.max_norm:g}"
        )


@contextmanager
def one_thread() -> Iterator[None]:
    """Lets torch use one thread: of tensors this small, several threads mostly wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def trained(use: Settings, progress: Progress = lambda done: None) -> Run:
    """Trains an agent until another iteration has no room in its steps; REINFORCE finishes the episodes that it has begun.

    progress: is told the steps of each iteration. Raises LabError, which names the iteration, where a number is none any more, or
    where gymnasium is missing.
    """
    with one_thread():
        trainer, watched = Trainer(use), list[dict[str, float]]()
        while not watched or trainer.has_room:
            before = trainer.steps
            *_, seen = trainer.iterate()
            watched.append(seen)
            progress(trainer.steps - before)
    return Run(use, trainer.agent, watched, trainer.ended)


def _no_iteration(use: Settings, iteration: int, there_are: int) -> LabError:
    return LabError(
        f"there is no iteration {iteration}: after {there_are} iterations, counted from 0, the {use.steps:,} steps "
        "are used up; ask for an earlier one, or for more --steps"
    )


def moment(use: Settings, iteration: int, number: int = 1) -> Moment:
    """Trains up to a minibatch of an iteration, and stops before its step.

    iteration: counted from 0. number: of the minibatch, counted from 1 over all epochs. Raises LabError where there is none.
    """
    if use.method != "reinforce" and iteration >= use.iterations:
        raise _no_iteration(use, iteration, use.iterations)  # before all of them are trained for nothing
    with one_thread():
        trainer = Trainer(use)
        for _ in range(iteration):
            trainer.iterate()
            if not trainer.has_room:
                raise _no_iteration(use, iteration, trainer.done)
        old = deepcopy(trainer.agent)
        rollout, batch, clip, _ = trainer.iterate(number)
        assert batch is not None
        with torch.no_grad():
            found = trainer.loss(batch, clip)
            logits, values = trainer.agent.logits(batch.observations), trainer.agent.values(batch.observations)
    whole = (
        len(batch.actions) == rollout.actions.numel() and bool(rollout.counts.all()) and rollout.actions.shape[1] > 1
    )
    return Moment(use, iteration, number, rollout, batch, old, trainer.agent, logits, values, found, clip, whole)
