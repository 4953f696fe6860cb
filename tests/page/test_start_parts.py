"""Start: the parts of the loss, as they are displayed, add up to the total that is displayed above them."""

from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path

import pytest

from blueprint.page.outline import Piece
from blueprint.workbooks.registry import kinds
from tests.page.fits import shown
from tests.page.workshop import BUILT_IN, made, opened


def parts_on_start(name: str) -> list[Piece]:
    """Returns the loss and its parts."""
    sections = made(numbers=name).blueprint.sheets[0].sections
    return [
        each for section in sections if section.title == "The loss" for each in section.items if isinstance(each, Piece)
    ]


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_parts_of_the_loss_add_up_as_they_are_displayed(name: str, tmp_path: Path) -> None:
    pieces = parts_on_start(name)
    if len(pieces) < 2:
        assert not pieces or pieces[0].among == (pieces[0].shown,)
        return
    book = made(numbers=name)
    book.save(tmp_path / "a.xlsx")
    page = opened(tmp_path / "a.xlsx")["Start"]
    rows = {str(page.cell(row, 3).value): row for row in range(page.max_row, 0, -1)}
    cells = [page.cell(rows[piece.title], 4) for piece in pieces]
    total, *parts = (Decimal(shown(cell).replace("−", "-")) for cell in cells)
    assert sum(parts, Decimal(0)).quantize(total, ROUND_HALF_UP) == total


def test_where_four_decimals_are_too_few_there_are_more() -> None:
    """0.1222 + 0.7223 − 0.0117 is 0.8328, and the loss 0.8329."""
    layout = made(numbers="classic").layout
    assert {echo.style for echo in layout.echoes if echo.style.startswith("piece ") and echo.style[-1] in "56"}


def test_every_kind_that_has_a_loss_of_parts_is_among_them() -> None:
    assert {kind.name for kind in kinds() for name in kind.built_in() if len(parts_on_start(name)) > 1} == {
        "rlhf_ppo", "classic_ppo", "grpo", "dpo", "reward_model",
    }  # fmt: skip
