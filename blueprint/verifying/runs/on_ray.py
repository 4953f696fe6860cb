"""Steps on a Ray cluster, as tasks: Ray gives them to its nodes, and begins a task anew whose worker or node is lost.

A task returns one result, however often it was begun, and only this process writes into the ledger: nothing is counted
twice. Every node needs this package, and the run's folder under the same path.
"""

import logging
from collections.abc import Collection
from typing import Any

from blueprint.verifying.runs.step import Died, Step, Work

RETRIES = 3
"""How often Ray begins a task anew whose worker or node was lost: losing one node is no sign of a bad step."""
AHEAD = 2
"""Tasks for each core of the cluster that are handed in at a time, so that none waits for this process."""


class RayError(ValueError):
    """Says in one sentence why there is no cluster to work on."""


class OnRay:
    """Works on the steps on a cluster; `most` bounds how many at a time, `gpus` is what each needs of them."""

    def __init__(self, work: Work, address: str, most: int | None = None, gpus: int = 0) -> None:
        """Connects to a cluster, or, for the address `local`, begins one on this machine. Raises RayError."""
        self._ray, self._ours = _connected(address)
        self._most = most or AHEAD * max(1, int(self._ray.cluster_resources().get("CPU", 1)))
        self._task = self._ray.remote(num_cpus=1, num_gpus=gpus, max_retries=RETRIES)(_worked)
        self._work = self._ray.put(work)
        self._steps: dict[Any, int] = {}

    def free(self) -> bool:
        """Tells whether another step may be started."""
        return len(self._steps) < self._most

    def running(self) -> Collection[int]:
        """Returns the steps that are being worked on."""
        return list(self._steps.values())

    def start(self, at: int, step: Step) -> None:
        """Hands in a step."""
        self._steps[self._task.remote(self._work, step)] = at

    def wait(self) -> list[tuple[int, dict[str, Any] | Died]]:
        """Waits until a step is done, or Ray gives it up."""
        (done,), _ = self._ray.wait(list(self._steps), num_returns=1)
        at = self._steps.pop(done)
        try:
            return [(at, self._ray.get(done))]
        except self._ray.exceptions.RayError as error:
            said = (str(error).strip() or type(error).__name__).splitlines()
            return [(at, Died(f"{type(error).__name__}: {said[-1][:200]}"))]

    def drop(self, steps: Collection[int]) -> None:
        """Forgets steps; those that have begun run to their end.

        Ray 2.60 ends this very process where a task that is cancelled by force has just finished.
        """
        self._steps = {task: at for task, at in self._steps.items() if at not in steps}

    def close(self) -> None:
        """Forgets all work; if the connection was made here it ends, and with it whatever is running."""
        self.drop(self.running())
        if self._ours:
            self._ray.shutdown()


def _connected(address: str) -> tuple[Any, bool]:
    """Returns Ray, connected, and whether it was connected here."""
    try:
        import ray
    except ImportError as error:
        raise RayError('--ray needs Ray, which is not installed: python -m pip install ".[cluster]"') from error
    if ray.is_initialized():
        return ray, False
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, ValueError, RuntimeError, OSError, TimeoutError) as error:
        said = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
        raise RayError(f"--ray {address}: there is no cluster ({said}); begin one with `ray start --head`") from error
    return ray, True


def _worked(work: Work, step: Step) -> dict[str, Any]:
    """The task: one step, with one thread for arithmetic, as Ray itself sets it for a task of one core."""
    return work(step)
