"""Where work is done: how many cores of this machine there are for us; and a Ray cluster, connected to, or begun on this machine.
What works on one is in `verifying.runs` and in `training`.
"""

import logging
import os
import socket
from collections.abc import Callable
from contextlib import suppress
from typing import Any


def cores() -> int:
    """Returns how many cores this process may use."""
    with suppress(AttributeError):  # not on every system
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


RETRIES = 3
"""How often Ray begins a task anew whose worker or node was lost: losing one node is no sign of bad work."""


PATIENCE = 5.0
"""Seconds within which the machine of a cluster must answer: Ray itself would try for minutes."""


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
    require_answer(address, ray.util.get_node_ip_address)
    try:
        ray.init(address=address, log_to_driver=False, logging_level=logging.ERROR)
    except (ConnectionError, ValueError, RuntimeError, OSError, TimeoutError) as error:
        said = (str(error).strip() or type(error).__name__).splitlines()[0][:200]
        raise RayError(f"--ray {address}: there is no cluster ({said}); begin one with `ray start --head`") from error
    return ray, True


def require_answer(address: str, this_machine: Callable[[], str]) -> None:
    """Raises RayError where nothing answers at HOST:PORT; what is written otherwise is left to Ray.

    this_machine: its address in the network, which Ray takes for localhost.
    """
    asked = os.environ.get("RAY_ADDRESS") or address if address == "auto" else address
    host, _, port = asked.removeprefix("ray://").rpartition(":")
    if not (host and "/" not in host and port.isascii() and port.isdigit() and 0 < int(port[:6]) < 65536):
        return
    host = host.strip("[]")
    hosts = [host, this_machine()] if host in ("localhost", "127.0.0.1", "::1") else [host]
    said = ""
    for each in hosts:
        try:
            socket.create_connection((each, int(port)), PATIENCE).close()
            return
        except (OSError, UnicodeError) as error:  # UnicodeError: a label that no name of a machine may have
            said = said or str(error)
    raise RayError(f"--ray {address}: nothing answers at {asked} ({said}); begin a cluster with `ray start --head`")
