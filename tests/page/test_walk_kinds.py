"""The walk of every kind: with the numbers that a line prints, a pocket calculator comes to the value that it shows."""

import re
from itertools import product
from pathlib import Path

import pytest

from blueprint.workbooks.registry import kinds
from tests.page.walker import Walker, added_up, displayed, refuted
from tests.page.workshop import made

WALKS = {
    "default": [*product((1, 2), (2, 4, 7, 8))], "epochs": [*product((1, 2), (4, 6))],
    "very-very-sleepy": [*product((1,), (1, 2, 3))],
    "dpo": [*product((1, 2, 3), (1,))], "grpo": [*product((1, 2, 5, 9), (2, 4, 5))], "sft": [*product((1, 2), (2, 3, 4, 5))],
    "ten-libraries": [*product((1, 3), (1, 4))],
}  # fmt: skip
"""By built-in numbers, of every kind that has a walk, the columns that are walked through."""
NONE = {"classic_ppo", "kl_controller", "optimum", "reinforce", "reward_model"}
"""Kinds without a walk."""


def test_every_kind_that_has_a_walk_is_among_them() -> None:
    without = {kind.name for kind in kinds() if kind.built_in() and not set(WALKS) & set(kind.built_in())}
    assert without == NONE
    assert [
        name for kind in kinds() if kind.name in NONE for name in kind.built_in() if made(numbers=name).layout.walk
    ] == []


@pytest.mark.parametrize("name", WALKS)
def test_a_pocket_calculator_comes_to_every_value(name: str, tmp_path: Path) -> None:
    made(numbers=name).save(tmp_path / "a.xlsx")
    choices = WALKS[name]
    count, wrong = refuted(Walker(tmp_path / "a.xlsx"), choices)
    assert wrong == []
    assert count > 10 * len(choices)


def test_a_value_of_six_decimals_is_right_in_all_of_them(tmp_path: Path) -> None:
    """What a token adds to GRPO's loss is shown with six: 0.0357·(−1.5648) is −0.05586, and not −0.055887."""
    made(numbers="grpo").save(tmp_path / "a.xlsx")
    walker = Walker(tmp_path / "a.xlsx")
    walker.choose(5, 4)
    (line,) = [line for line in walker.lines() if line.symbol == "add_L"]
    assert (line.decimals, f"{line.value:.6f}") == (6, "-0.055887")
    assert re.fullmatch(r"= 0\.035714\d*·\(−1\.564838\d*\)", line.numbers)


@pytest.mark.parametrize("name", WALKS)
def test_a_list_adds_up_to_the_line_below_that_is_its_sum(name: str, tmp_path: Path) -> None:
    """The log-probs of a pair's tokens add up to S_w as it is displayed, and the probabilities of all tokens to 1."""
    made(numbers=name).save(tmp_path / "a.xlsx")
    sums, wrong = added_up(Walker(tmp_path / "a.xlsx"), WALKS[name])
    assert wrong == []
    assert sums >= {"default": 8, "epochs": 4, "very-very-sleepy": 0, "dpo": 12}.get(name, 0)


@pytest.mark.parametrize(("of", "per"), [("sum", "1"), ("mean", "len")])
def test_a_list_comes_to_its_mean_as_well(of: str, per: str, tmp_path: Path) -> None:
    made(f"logp.of={of}", numbers="dpo").save(tmp_path / "a.xlsx")
    walker = Walker(tmp_path / "a.xlsx")
    for pair in (1, 2, 3):
        walker.choose(pair, 1)
        lists = walker.lists()
        assert len(lists) == 4
        for listed, below in lists:
            count = len(listed) if per == "len" else 1
            assert displayed(float(sum(listed)) / count, below) == displayed(below, below, digits=15)
