"""Where torch computes what is checked, and in which format of numbers."""

from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch

from blueprint.witness.settings import WitnessError

DTYPES = {"float64": torch.float64, "float32": torch.float32}


def chosen_dtype(name: str) -> torch.dtype:
    """Returns the number format of a name. Raises WitnessError for one that is too coarse to check anything."""
    if name not in DTYPES:
        raise WitnessError(
            f"the witness does not compute in {name!r}: it errs by up to a tenth and flips clip decisions, or is unknown; "
            "write 'float64' or 'float32'"
        )
    return DTYPES[name]


def chosen_device(name: str, dtype: torch.dtype) -> torch.device:
    """Returns the device of a name; "auto" takes CUDA, else Apple's MPS for float32, else the processor.

    MPS has no float64, so that float64 stays on the processor there. Raises WitnessError for a device that is not here
    or cannot compute in the number format.
    """
    if name == "auto":
        mps = dtype == torch.float32 and torch.backends.mps.is_available()
        return torch.device("cuda" if torch.cuda.is_available() else "mps" if mps else "cpu")
    try:
        device = torch.device(name)
        torch.empty(0, dtype=dtype, device=device)
    except (RuntimeError, AssertionError, TypeError) as error:
        reason = str(error).splitlines()[0] if str(error) else type(error).__name__
        raise WitnessError(
            f"the witness cannot compute on {name!r} in {dtype}: {reason}; write 'auto' or 'cpu'"
        ) from error
    return device


@contextmanager
def ieee_products() -> Iterator[None]:
    """Switches TF32 off inside the block: with 10 bits of mantissa its products err by 4e-3, which is no check."""
    before = torch.backends.cuda.matmul.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = False
    try:
        yield
    finally:
        torch.backends.cuda.matmul.allow_tf32 = before


@dataclass(frozen=True)
class Record:
    """How it was computed."""

    device: str
    dtype: str
    torch: str
