"""The printed numbers of the examples are the book's."""

from collections.abc import Callable

import numpy as np
import pytest
from numpy.testing import assert_allclose

from blueprint.book import book
from blueprint.language import typed
from blueprint.workbooks.common import n, t
from blueprint.workbooks.common.definitions.rewards_and_gae import Reach, gae
from blueprint.workbooks.common.definitions.writing_rows import Choices
from tests import golden
from tests.page.workshop import row
from tests.workbooks.building import Build, plain
from tests.workbooks.golden_checks import EXACT, GOLDEN, half_unit, sleepy


@pytest.mark.parametrize("check", GOLDEN.values(), ids=GOLDEN)
def test_printed_numbers(check: Callable[[Build], None]) -> None:
    check(plain)


def test_the_first_advantage_of_s1_by_hand() -> None:
    by_hand = 0.09 + 0.72 * (0.25 + 0.72 * 1.00)
    assert by_hand == pytest.approx(0.7884, rel=0, abs=EXACT)
    assert row(plain(sleepy()), "advantages")[0, 0] == pytest.approx(by_hand, rel=0, abs=EXACT)


def test_s2_recursion_corrects_the_figure() -> None:
    """Given rewards that are the TD errors and values of 0, δ is the reward, and A is the recursion alone."""
    r, m = typed("r", (n, t)), typed("m", (n, t))
    V = typed("V", (n, t), edges=(t.last + 1,))
    gamma, lam = typed("gamma"), typed("lambda")
    found = gae(r, V, Reach(here=m), Choices({"gamma": gamma, "gae_lambda": lam}, {}))
    errors = np.array([golden.S2["td_errors"]])
    numbers = {r: errors, m: np.ones_like(errors), V: np.zeros((1, 8))}
    scalars = {gamma: golden.S2["gamma"], lam: golden.S2["gae_lambda"]}
    made = book("S2", [gamma, lam, m, r, V, *found[-3:]], t, numbers | scalars)
    assert_allclose(row(made, "td_errors"), errors, rtol=0, atol=0)
    advantages = row(made, "advantages")[0]
    assert_allclose(advantages, golden.S2["advantages"], rtol=0, atol=half_unit(4))
    assert np.abs(advantages - golden.S2["advantages_printed"]).min() > 0.1
