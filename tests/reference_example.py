"""Give the default example to the independent witness, with a change where a test wants one."""

from copy import deepcopy
from typing import Any, cast

from tests import golden
from tests.reference import Numbers


def default(**ppo: Any) -> Numbers:
    """Return the default example with some hyperparameters changed."""
    numbers = deepcopy(golden.DEFAULT_NUMBERS)
    numbers["ppo"].update(ppo)
    return cast(Numbers, numbers)


def with_draws(variant: dict[str, Any]) -> Numbers:
    """Return the default example with other draws in one episode."""
    numbers = deepcopy(golden.DEFAULT_NUMBERS)
    numbers["draws"][variant["episode"]] = variant["draws"]
    return cast(Numbers, numbers)
