"""Many runs shared out to the cores of a Ray cluster: a share is some seeds with some KL coefficients, a rectangle of all runs.

Ray begins a task anew whose worker or node is lost. A task returns arrays and writes no file, so whatever is lost, the folder is as
one process makes it, with the same digits: the draws of a run hang on its seed and the iteration alone. Every node needs this
package.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from blueprint.cluster import RETRIES, connected
from blueprint.training.before import Models, learned_before
from blueprint.training.folder import RunError
from blueprint.training.iteration import WATCHED, Progress, Trainer, arrays_after, arrays_of_models, models_in
from blueprint.training.run_toml import Arrays, RunNumbers

BY_ITERATION = (*WATCHED, "tokens")
"""What is kept of each iteration: there the runs are the second dimension, and elsewhere the first."""
ALL_RUNS = ("adam.steps",)
"""What is one number for all runs."""


class Share(NamedTuple):
    """Some runs: the numbers with their seeds and coefficients alone, the places of the seeds, and those of the runs, among all."""

    numbers: RunNumbers
    seeds: NDArray[np.int64]
    runs: NDArray[np.int64]


def shares_of(numbers: RunNumbers, most: int) -> list[Share]:
    """Shares the runs out in about as many parts: first the seeds, and where there are fewer of them, the coefficients too."""
    betas = len(numbers.ppo.kl_coef)
    groups = np.array_split(np.arange(numbers.seeds), min(numbers.seeds, most))
    pieces = np.array_split(np.arange(betas), min(betas, max(1, most // len(groups))))
    return [_share(numbers, seeds, of) for seeds in groups for of in pieces]


def _share(numbers: RunNumbers, seeds: NDArray[np.int64], betas: NDArray[np.int64]) -> Share:
    coefs = [numbers.ppo.kl_coef[at] for at in betas.tolist()]
    some = {
        "seed": numbers.seed + int(seeds[0]),
        "seeds": len(seeds),
        "ppo": numbers.ppo.model_copy(update={"kl_coef": coefs}),
    }
    runs = np.add.outer(seeds * len(numbers.ppo.kl_coef), betas).ravel()
    return Share(numbers.model_copy(update=some), seeds, runs)


class OnRay:
    """Learns the models before, and takes iterations, on a cluster."""

    def __init__(self, numbers: RunNumbers, device: str, address: str) -> None:
        """Connects to a cluster, or, for the address `local`, begins one on this machine. Raises RayError."""
        self._ray, self._ours = connected(address)
        self._numbers, self._device = numbers, device
        most = max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        self._shares = shares_of(numbers, most)
        gpus = 1 if device.startswith("cuda") else 0
        options = {"num_cpus": 1, "num_gpus": gpus, "max_retries": RETRIES}
        self._learned, self._taken = (self._ray.remote(**options)(task) for task in (_learned, _taken))

    def models(self) -> Models:
        """Learns what comes before, a task for each share of the seeds."""
        first = self._numbers.ppo.model_copy(
            update={"kl_coef": self._numbers.ppo.kl_coef[:1]}
        )  # here β is not known yet
        of_seeds = shares_of(self._numbers.model_copy(update={"ppo": first}), len(self._shares))
        tasks = [self._learned.remote(each.numbers, self._device) for each in of_seeds]
        parts = self._results(tasks, "before iteration 0")
        return models_in({name: np.concatenate([part[name] for part in parts]) for name in parts[0]}, self._device)

    def arrays_after(self, models: Models, before: Arrays | None, first: int, end: int, progress: Progress) -> Arrays:
        """Computes some iterations, from what is kept before them, a task for each share of the runs."""
        learned = arrays_of_models(models)
        tasks = [
            self._taken.remote(
                share.numbers,
                {name: each[share.seeds] for name, each in learned.items()},
                before and {name: _of_runs(name, each, share.runs) for name, each in before.items()},
                (first, end),
                self._device,
            )
            for share in self._shares
        ]
        parts = self._results(tasks, f"iterations {first} to {end - 1}")
        progress(end - first)
        return self._together(parts)

    def _together(self, parts: list[Arrays]) -> Arrays:
        """Puts every share's arrays in the places of its runs."""
        order = np.argsort(np.concatenate([share.runs for share in self._shares]))
        found: Arrays = {}
        for name in parts[0]:
            axis = 1 if name in BY_ITERATION else 0
            each = [part[name] for part in parts]
            found[name] = each[0] if name in ALL_RUNS else np.concatenate(each, axis).take(order, axis)
        return found

    def _results(self, tasks: list[Any], what: str) -> list[Arrays]:
        """Waits for tasks. Raises RunError for one that Ray gives up."""
        try:
            found: list[Arrays] = self._ray.get(tasks)
        except self._ray.exceptions.RayError as error:
            said = (str(error).strip() or type(error).__name__).splitlines()
            raise RunError(
                f"{what}: a task of the cluster came to no end ({type(error).__name__}: {said[-1][:200]}); what was finished before"
                " is kept, and the same command goes on from there"
            ) from error
        return found

    def close(self) -> None:
        """Ends the connection, if it was made here."""
        if self._ours:
            self._ray.shutdown()


def _of_runs(name: str, array: NDArray[Any], runs: NDArray[np.int64]) -> NDArray[Any]:
    """Returns what an array has of some runs."""
    if name in ALL_RUNS:
        return array
    return array.take(runs, axis=1 if name in BY_ITERATION else 0)


def _learned(numbers: RunNumbers, device: str) -> Arrays:
    """The task: what comes before, of some seeds."""
    return arrays_of_models(learned_before(numbers, device))


def _taken(numbers: RunNumbers, learned: Arrays, before: Arrays | None, span: tuple[int, int], device: str) -> Arrays:
    """The task: some iterations of some runs, with one thread for arithmetic, as Ray itself sets it for a task of one core."""
    return arrays_after(Trainer(numbers, models_in(learned, device), device), before, *span)
