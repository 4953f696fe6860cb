"""Settings that a workbook does not have, since what they weigh is not given in it: they stand where nothing is done."""

from dataclasses import replace

from blueprint.workbooks.common import Choices, fixed
from blueprint.workbooks.common.settings import Settings
from blueprint.workbooks.grpo.schema import GRPO

NUMBERS = {"kl.coef": 0.0, "kl.reach": 1.0, "rollout.mean_eps": 0.0}
"""Numbers that differ from the default, which may be in no formula without a cell of its own."""


def completed(use: Choices) -> Choices:
    """Returns choices with a number or a word for every setting of the kind; those that were not there cannot be chosen."""
    numbers = {key: replace(GRPO[key], value=value) for key, value in NUMBERS.items()}
    rest = fixed(Settings(), {**GRPO, **numbers})
    return replace(use, used={**rest.used, **use.used}, switch={**rest.switch, **use.switch})
