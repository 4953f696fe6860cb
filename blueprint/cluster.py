"""Where work is done: how many cores of this machine there are for us; and a Ray cluster, connected to, or begun on this machine.
What works on one is in `verifying.runs` and in `training`.
"""

import logging
import os
from contextlib import suppress
from typing import Any


def cores() -> int:
    """Returns how many cores this process may use."""
    with suppress(AttributeError):  # not on every system
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


RETRIES = 3
"""How often Ray begins a task anew whose worker or node was lost: losing one node is no sign of bad work."""


class RayError(ValueError):
    """Says in one sentence why there is no cluster to work on."""


def connected(address: str) -> tuple[Any, bool]:
    """Returns Ray, connected, and whether it was connected here. Raises RayError.

    address: of a cluster, or `local`, to begin one.
    """
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
