"""One minibatch alone, with all that its file says of its place among others: what only those can tell is left open."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from blueprint.dumps import Minibatch, MinibatchError
from blueprint.verifying.step import Part, verify_batches
from blueprint.verifying.verify import Watch, quiet


def verify_one(
    batch: Minibatch,
    preset: str | None = None,
    overrides: Sequence[str] = (),
    tolerance: float = 1.0,
    device: str = "cpu",
    watch: Watch = quiet,
) -> Part:
    """Returns how a minibatch was verified, and what it came to, with the causes that were found.

    Raises MinibatchError as `verify_step`, and where the minibatch cannot be computed again.
    """
    step = verify_batches([batch], preset, overrides, tolerance, device, watch)
    if not step.parts:
        raise MinibatchError(next(iter(step.unread.values())))
    return replace(step.parts[0], verdict=replace(step.parts[0].verdict, causes=step.causes))
