"""The numbers for which the changes on First hour were measured: the default ones, and nothing laid over them."""

from __future__ import annotations

from hashlib import sha256

from blueprint.inputs import Numbers
from blueprint.workbooks.rlhf_ppo.inputs.result import WeightNumbers

DEFAULT_NUMBERS = "0caa17c935e28402"
"""How the digest of the default numbers begins."""


def is_default(numbers: Numbers) -> bool:
    """Say whether these are the numbers for which the changes were measured."""
    if not isinstance(numbers, WeightNumbers) or numbers.conventions.live:
        return False
    from blueprint.inputs import given

    return sha256(repr(given(numbers)).encode()).hexdigest().startswith(DEFAULT_NUMBERS)
