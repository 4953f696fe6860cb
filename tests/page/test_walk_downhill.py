"""With gradients the walk goes on downhill: every line of it comes out with a pocket calculator, at any token."""

from __future__ import annotations

from collections.abc import Callable
from itertools import product
from pathlib import Path

import pytest

from blueprint.book import Book
from tests.page.test_walk import CHOICES
from tests.page.walker import Walker, refuted, rolled
from tests.page.workshop import made

GRADIENTS = ("gradients=on", "ppo.policy_kl_coef=0.3", "ppo.ent_coef=0.1")
ROWS = {
    "∂L/∂U_min": "surrogate.grad", "∂L/∂ρ": "ratio.grad", "∂L/∂d": "log_ratio.grad", "∂L/∂log π_θ": "policy.logprobs.grad",
    "∂L/∂H": "policy.entropy.grad", "∂L/∂KL(π_old‖π_θ)": "policy_kl.exact.grad", "∂L/∂v_loss": "value.word_loss.grad",
    "∂L/∂V": "critic.values.grad", "∂L/∂v": "critic.out.grad",
}  # fmt: skip


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> tuple[Book, Walker]:
    """Saves the default with gradients and opens it."""
    book, path = made(*GRADIENTS), tmp_path_factory.mktemp("downhill") / "a.xlsx"
    book.save(path)
    return book, Walker(path)


@pytest.mark.parametrize(("episode", "decision"), CHOICES)
def test_every_slope_is_that_of_the_chosen_token(saved: tuple[Book, Walker], episode: int, decision: int) -> None:
    book, walker = saved
    walker.choose(episode, decision)
    shown = {line.symbol: line.value for line in walker.lines()}
    at = episode - 1, decision - 1
    for symbol, name in ROWS.items():
        assert shown[symbol] == pytest.approx(book.values.cell(book.blocks[name], *at), abs=1e-12), symbol
    slope, a = book.blocks["policy.logits.grad"], int(book.values.cell(book.blocks["rollout.written"], *at))
    assert shown["∂L/∂z[a]"] == pytest.approx(book.values.cell(slope, *at, a), abs=1e-12)
    assert shown["∂L/∂z[0]"] == pytest.approx(book.values.cell(slope, *at, 0), abs=1e-12)


def test_a_pocket_calculator_gives_every_slope_of_every_token(saved: tuple[Book, Walker]) -> None:
    count, wrong = refuted(saved[1], product((1, 2), range(1, 9)))
    assert wrong == []
    assert count > 16 * 55


def test_downhill_begins_behind_the_share_and_ends_at_logits_and_value(saved: tuple[Book, Walker]) -> None:
    book, _ = saved
    (walk,) = (sheet for sheet in book.blueprint.sheets if sheet.title == "Walk")
    titles = [section.title for section in walk.sections]
    share = titles.index("What the token adds to the total")
    assert [title.split()[0] for title in titles[share + 1 :]] == ["Downhill:", "Downhill", "Downhill", "How"]


OTHERS: dict[str, Callable[[], Book]] = {
    "log-ratios of hundreds": lambda: rolled(3, 300, *GRADIENTS),
    "a preset": lambda: made("preset=verl", "compare=verl", "gradients=on", "ppo.update_step=-7.7"),
}


@pytest.mark.parametrize("name", OTHERS)
def test_a_pocket_calculator_gives_every_slope_of_other_numbers(name: str, tmp_path: Path) -> None:
    OTHERS[name]().save(tmp_path / "a.xlsx")
    count, wrong = refuted(Walker(tmp_path / "a.xlsx"), [(1, 2), (1, 5), (2, 4)])
    assert wrong == []
    assert count > 150
