"""What few numbers say: a share of few pairs has few bits, a number that is none on both sides is the same, and a rank without
tokens has no mean."""

from __future__ import annotations

import math

import numpy as np
import pytest

from blueprint.verifying.compare import BITS_OF_FEW, Compared, compare_number
from blueprint.verifying.in_memory import _grown
from blueprint.workbooks.grpo.verifying.spelled import OF_FILE, of_each_file, of_other_rows


def compared(logged: float, recomputed: float) -> Compared:
    return compare_number("accuracy", "accuracy", "", (logged, recomputed), 1e-6)


@pytest.mark.parametrize("both", [(0.75, 0.5), (0.0, 0.25), (1.0, 0.9687500001), (np.float32(0.4), 0.2)])
def test_a_share_of_few_has_few_bits(both: tuple[float, float]) -> None:
    assert compared(*both).of_few
    assert compared(*both).bits <= BITS_OF_FEW


@pytest.mark.parametrize(
    "both", [(128.0, 120.0), (2.0, 1.0), (-1.0, 1.0), (1e-8, 5e-8), (0.7512, 0.5), (math.nan, 0.5)]
)
def test_any_other_number_is_no_share(both: tuple[float, float]) -> None:
    assert not compared(*both).of_few


@pytest.mark.parametrize("both", [(math.nan, math.nan), (math.inf, math.inf), (math.nan, 1.0), (0.0, 0.0)])
def test_what_is_no_number_needs_no_more_room(both: tuple[float, float]) -> None:
    assert float(_grown(np.asarray(both[0]), np.asarray(both[1]), np.asarray(1.0))) == 1


def test_room_grows_with_a_number_that_both_have() -> None:
    assert float(_grown(np.asarray(1500.0), np.asarray(1500.0), np.asarray(0.5))) == pytest.approx(1000)


@pytest.mark.parametrize("word", OF_FILE)
def test_a_response_without_tokens_has_no_part_in_the_mean_of_a_rank(word: str) -> None:
    mask = np.array([[True, True], [False, False], [True, False]])
    own = np.array([[1.0, 1.0], [np.nan, np.nan], [3.0, np.nan]])
    found, without = of_each_file(own, mask, word), of_each_file(own[[0, 2]], mask[[0, 2]], word)
    assert np.array_equal(found[[0, 2]], without)
    assert not found[1].any()
    assert found[0, 0] < 0 < found[2, 0]


def test_a_rank_without_tokens_stays_as_it_is() -> None:
    own = np.array([[0.0, 0.0]])
    assert np.array_equal(of_each_file(own, np.array([[False, False]]), "whitened"), own)


@pytest.mark.parametrize(("sizes", "count"), [([2, 2], 1), ([3, 2], 0), ([4], 0), ([], 0)])
def test_only_groups_of_one_size_can_be_transposed(sizes: list[int], count: int) -> None:
    tries = of_other_rows({"kl.place": "loss"}, sizes)
    assert sum("interleaved groups" in each.label for each in tries) == count


@pytest.mark.parametrize(("place", "said"), [("loss", False), ("reward", True), ("reward_token", True)])
def test_a_score_has_a_kl_beside_it_where_the_reward_has(place: str, said: bool) -> None:
    assert any("with its own KL" in each.label for each in of_other_rows({"kl.place": place}, [2, 2])) == said
