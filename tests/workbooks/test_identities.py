"""What holds for every rollout holds for the default example and for random ones."""

from collections.abc import Callable

import pytest

from blueprint.workbooks.rlhf_ppo.conventions_and_update import WeightNumbers
from tests.workbooks.building import Build, mask_of, plain
from tests.workbooks.identities import IDENTITIES
from tests.workbooks.random_numbers import default, random_numbers

# Seeds whose batch has at least two response words, so that there is a variance to whiten by.
SETS = {"default": default(), **{f"seed {seed}": random_numbers(seed) for seed in (3, 4, 5)}}


@pytest.mark.parametrize("numbers", SETS.values(), ids=SETS)
@pytest.mark.parametrize("identity", IDENTITIES.values(), ids=IDENTITIES)
def test_identity(identity: Callable[[Build, WeightNumbers], None], numbers: WeightNumbers) -> None:
    identity(plain, numbers)


@pytest.mark.parametrize("numbers", SETS.values(), ids=SETS)
def test_every_set_has_two_words(numbers: WeightNumbers) -> None:
    assert mask_of(plain(numbers)).sum() >= 2
