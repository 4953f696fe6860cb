"""A run from its numbers to its last iteration: learned before, then iteration by iteration; in memory, or in a folder.

>>> import blueprint as bp
>>> run = bp.run(set={"update.iterations": 3, "sft.steps": 5, "reward_model.steps": 5})
>>> run.frame().shape[0]
9
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import AbstractContextManager, closing, contextmanager, nullcontext
from functools import cached_property, partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray

from blueprint.training.before import Models, learned_before
from blueprint.training.export import Dump, Moment, dump_of, workbook_numbers
from blueprint.training.folder import PER_FILE, Folder, RunError, Stretch
from blueprint.training.iteration import (
    WATCHED,
    Kept,
    Progress,
    State,
    Trainer,
    arrays_after,
    arrays_of_models,
    models_in,
    state_in,
)
from blueprint.training.run_toml import RunNumbers

if TYPE_CHECKING:
    from pandas import DataFrame

    from blueprint.training.on_ray import OnRay
    from blueprint.training.optimum import Everything

MANY_RUNS = 64
"""Runs from which more than one thread of a processor has enough to do."""


class Run:
    """A run that is finished, or as far as it has come.

    watched: by name of `WATCHED`, [iterations, runs]. tokens: [iterations, runs, B, T], the responses; 0 also stands behind them.
    """

    def __init__(self, numbers: RunNumbers, models: Models, stretches: list[Stretch], device: str) -> None:
        """Holds what was kept of each iteration."""
        self.numbers, self.models, self.stretches, self.device = numbers, models, stretches, device
        self.watched = {name: np.concatenate([each.arrays[name] for each in stretches]) for name in WATCHED}
        self.tokens = np.concatenate([each.arrays["tokens"] for each in stretches])

    def __repr__(self) -> str:
        """Says what the run came to, in a table."""
        from blueprint.training.summary_and_plot import said

        return said(self)

    @property
    def iterations(self) -> int:
        """How many iterations there are."""
        return self.stretches[-1].end

    def place(self, beta: float | None = None, seed: int | None = None) -> int:
        """Returns the place of a run among all; the first one if nothing is said. Raises RunError where there is none."""
        seed = self.numbers.seed if seed is None else seed
        beta = self.numbers.ppo.kl_coef[0] if beta is None else beta
        if (seed, beta) not in self.numbers.runs:
            betas = ", ".join(f"{each:g}" for each in self.numbers.ppo.kl_coef)
            seeds = self.numbers.all_seeds
            spans = f"seed {seeds[0]}" + (f" to {seeds[-1]}" if len(seeds) > 1 else "")
            raise RunError(f"there is no run with β = {beta:g} and seed {seed}: it has β {betas}, and {spans}")
        return self.numbers.runs.index((seed, beta))

    def frame(self, seed: int | None = None) -> DataFrame:
        """Returns a row for each run and iteration: seed, beta, iteration, and what is watched. seed: the runs of it alone."""
        import pandas as pd

        rows = [
            pd.DataFrame(
                {"seed": of, "beta": beta, "iteration": range(self.iterations)}
                | {n: x[:, r] for n, x in self.watched.items()}
            )
            for r, (of, beta) in enumerate(self.numbers.runs)
            if seed in (None, of)
        ]
        return pd.concat(rows, ignore_index=True)

    def samples(self, iteration: int, beta: float | None = None, seed: int | None = None) -> list[str]:
        """Returns the responses of an iteration as text; the responses to a prompt stand together."""
        found = self.tokens[self._known(iteration), self.place(beta, seed)]
        return [self.text(row) for row in found]

    def text(self, tokens: NDArray[Any]) -> str:
        """Spells a response, up to its end token."""
        ids = tokens.tolist()
        response = ids[: ids.index(0) + 1] if 0 in ids else ids
        return " ".join(self.numbers.text.vocabulary[token] for token in response)

    def iteration(self, number: int, beta: float | None = None, seed: int | None = None) -> dict[str, Any]:
        """Returns an iteration as the numbers of a workbook: `bp.build(run.iteration(57, beta=0.1))`. Raises RunError."""
        return workbook_numbers(self.numbers, self.moment(number, beta, seed))

    def optimum(self, seed: int | None = None) -> Everything:
        """Returns every response there is, under the models of a seed: `.best(beta)` and `.best_of(n)` are exact."""
        from blueprint.training.optimum import Everything

        return Everything(self.numbers, self.models, seed)

    def figure(self, seed: int | None = None) -> Any:
        """Returns the chart of the run, a figure of matplotlib: of a seed, or the mean over all. Needs matplotlib."""
        from blueprint.training.summary_and_plot import figure_of

        return figure_of(self, seed)

    def _known(self, iteration: int) -> int:
        if not 0 <= iteration < self.iterations:
            raise RunError(f"there is no iteration {iteration}: the run has iterations 0 to {self.iterations - 1}")
        return iteration

    @cached_property
    def trainer(self) -> Trainer:
        """Takes iterations again."""
        return Trainer(self.numbers, self.models, self.device)

    def _before(self, iteration: int) -> State:
        """Computes the state before an iteration again, from the last kept weights before it."""
        at = next(place for place, each in enumerate(self.stretches) if self._known(iteration) < each.end)
        state = state_in(self.stretches[at - 1].arrays, self.device) if at else self.trainer.start()
        for before in range(self.stretches[at].first, iteration):
            state = self.trainer.iterate(state, before).after
        return state

    def dump(self, iteration: int, beta: float | None = None, seed: int | None = None) -> Dump:
        """Returns the last step of an iteration as tensors and metadata, as `blueprint.dumps.save` writes them. Raises RunError."""
        r, state = self.place(beta, seed), self._before(iteration)
        return dump_of(self.numbers, self.trainer.last_step(state, iteration), r, iteration, float(state.kl_coef[r]))

    def moment(self, iteration: int, beta: float | None = None, seed: int | None = None) -> Moment:
        """Computes an iteration again, from the last kept weights before it: all that a workbook of it needs."""
        r, state = self.place(beta, seed), self._before(iteration)
        outcome = self.trainer.iterate(state, iteration)
        if not np.array_equal(outcome.tokens[r].cpu().numpy(), self.tokens[iteration, r]):
            raise RunError(
                f"iteration {iteration}: the responses computed again are not those that are kept: the run was made on another"
                " machine, or its files were changed; compute it on the same kind of device"
            )

        def of(model: dict[str, torch.Tensor]) -> dict[str, NDArray[np.float64]]:
            return {name: each[r].cpu().numpy() for name, each in model.items()}

        of_seed, of_beta = self.numbers.runs[r]
        tokens, mask, scores = (each[r].cpu().numpy() for each in (outcome.tokens, outcome.mask, outcome.scores))
        kept = state.adam or Kept(0, {})
        means = [of({name: pair[at] for name, pair in kept.moments.items()}) for at in (0, 1)]
        return Moment(
            iteration, of_seed, of_beta, float(state.kl_coef[r]), of(state.policy), of(state.critic), of(self.trainer.reference),
            of(self.trainer.reward_model), tokens, mask, scores, of(outcome.after.policy), of(outcome.after.critic),
            kept.steps, *means,
        )  # fmt: skip


def trained(
    numbers: RunNumbers,
    folder: Path | None = None,
    device: str = "cpu",
    progress: Progress = lambda done: None,
    ray: str | None = None,
) -> Run:
    """Trains, or goes on where a folder's run was left, and returns the run.

    ray: the address of a Ray cluster that shares the runs out, or `local`; the digits are the same. Raises RayError, and RunError,
    which names the iteration, where a number is none any more or a file cannot be read or written.
    """
    _check_device(device)
    kept = Folder(folder) if folder else None
    if kept:
        kept.begin(numbers)
    with _threads_for(len(numbers.runs)), _cluster(numbers, device, ray) as cluster:
        models, stretches = _models(numbers, kept, device, cluster), [*kept.stretches()] if kept else []
        advanced = (
            partial(cluster.arrays_after, models)
            if cluster
            else partial(arrays_after, Trainer(numbers, models, device))
        )
        done = stretches[-1].end if stretches else 0
        progress(done)
        for first in range(done, numbers.update.iterations, PER_FILE):
            end = min(first + PER_FILE, numbers.update.iterations)
            before = stretches[-1].arrays if stretches else None
            stretches.append(Stretch(first, end, advanced(before, first, end, progress)))
            _refuse_nan(numbers, stretches[-1])
            if kept:
                kept.save(stretches[-1])
    return Run(numbers, models, stretches, device)


def _cluster(numbers: RunNumbers, device: str, ray: str | None) -> AbstractContextManager[OnRay | None]:
    """Connects to the cluster that computes, from which it parts in the end; None where this process does."""
    if ray is None:
        return nullcontext()
    from blueprint.training.on_ray import OnRay

    return closing(OnRay(numbers, device, ray))


@contextmanager
def _threads_for(runs: int) -> Iterator[None]:
    """Lets torch use one thread for few runs: of tensors this small, several threads mostly wait for each other."""
    before = torch.get_num_threads()
    torch.set_num_threads(1 if runs < MANY_RUNS else before)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def opened(folder: Path, device: str = "cpu") -> Run:
    """Reads a run from its folder, as far as it has come. Raises RunError where it has not begun or is damaged."""
    _check_device(device)
    numbers, arrays, stretches = Folder(folder).finished()
    return Run(numbers, models_in(arrays, device), stretches, device)


def _check_device(device: str) -> None:
    """Raises RunError for a device that is not here, or has no numbers of 64 bits."""
    try:
        torch.zeros(1, dtype=torch.float64, device=device).item()  # of `meta` there is a tensor, and no number
    except (RuntimeError, AssertionError, TypeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise RunError(
            f"a run cannot be computed on {device!r} in float64: {reason}; write cpu, or cuda where there is a GPU"
        ) from error


def _models(numbers: RunNumbers, kept: Folder | None, device: str, cluster: OnRay | None) -> Models:
    """Learns what comes before, or reads it where it was learned already."""
    if kept and (arrays := kept.models()) is not None:
        return models_in(arrays, device)
    models = cluster.models() if cluster else learned_before(numbers, device)
    for name, each in {**models.sft, **models.reward_model, **models.report}.items():
        if not torch.isfinite(each).all():
            raise RunError(f"before iteration 0: {name} is no number any more; make sft.lr or reward_model.lr smaller")
    if kept:
        kept.save_models(arrays_of_models(models))
    return models


def _refuse_nan(numbers: RunNumbers, stretch: Stretch) -> None:
    """Raises RunError for the first iteration in which anything watched, or a weight after the last, is no finite number."""
    first: tuple[int, str, int] | None = None
    for name in WATCHED:
        wrong = np.argwhere(~np.isfinite(stretch.arrays[name]))
        if len(wrong) and (first is None or wrong[0][0] < first[0]):
            first = int(wrong[0][0]), name, int(wrong[0][1])
    if first is None:
        for name, each in stretch.arrays.items():
            if name.startswith(("policy.", "critic.")) and not np.isfinite(each).all():
                run = int(np.argwhere(~np.isfinite(each))[0][0])
                first = stretch.end - stretch.first - 1, f"{name} after it", run
    if first is not None:
        row, name, r = first
        seed, beta = numbers.runs[r]
        raise RunError(
            f"iteration {stretch.first + row}, β = {beta:g}, seed {seed}: {name} is no number any more, so the run ends there;"
            f" make update.lr = {numbers.update.lr:g} smaller, or hold the gradient with update.max_norm"
        )
