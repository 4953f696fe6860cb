"""A Ray cluster: connected to, or begun on this machine; what works on one is in `verifying.runs` and in `training`."""

import logging
from typing import Any

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
