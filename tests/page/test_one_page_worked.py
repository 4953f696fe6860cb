"""One page as a worked example: what a line claims can be reckoned from the page, and what has no gradient is marked."""

import re
from pathlib import Path

import pytest

from blueprint.book import Book
from blueprint.page.one_page.canvas import Drawn, Sheet
from tests.page.workshop import made, opened, save_made


def page_of(name: str) -> Sheet:
    page = made(numbers=name).layout.one_page
    assert page is not None
    return page


def line_of(name: str, called: str) -> Drawn:
    return next(line for line in page_of(name).lines if line.row.called == called)


def numbers(name: str, called: str) -> list[float]:
    return [float(number) for *_, number in line_of(name, called).cells if number != ""]


def said(book: Book, row: int) -> list[str]:
    """Returns what stands in a row of One page beside its numbers."""
    labels = [str(label.text) for label in book.layout.labels if (label.sheet, label.row) == ("One page", row)]
    return labels + [str(live.value) for live in book.layout.lives if (live.sheet, live.row) == ("One page", row)]


def test_the_value_loss_of_classic_ppo_is_half_the_larger_square_that_the_page_shows() -> None:
    value, held, returns = (numbers("classic", name) for name in ("loss.V_new", "value.clipped", "loss.returns"))
    larger = [max((v - r) ** 2, (h - r) ** 2) / 2 for v, h, r in zip(value, held, returns, strict=True)]
    assert numbers("classic", "value.step_loss") == pytest.approx(larger)
    book = made(numbers="classic")
    here = said(book, line_of("classic", "value.step_loss").at)
    assert "f( )²" in here
    assert "the larger, f = 0.5" in here


@pytest.mark.parametrize(("name", "held"), [("default", 4), ("classic", 0)])
def test_a_value_that_is_held_and_counts_is_marked_as_one_without_gradient(name: str, held: int) -> None:
    line = line_of(name, "value.clipped")
    assert line.row.clipped == line.row.fills
    at = {mark.corners[:2] for mark in page_of(name).marks if mark.name.startswith("one-page mark clipped")}
    assert {(line.at, cell) for _, cell, _ in line.cells} <= at
    layout = made(numbers=name).layout
    judged = min(label.row for label in layout.labels if label.text == f"value.clipped: {line.row.clipped}")
    found = [float(live.value) for live in layout.lives if (live.sheet, live.row) == ("One page", judged)]
    assert sum(found) == held


def test_what_the_tokens_of_grpo_add_comes_to_the_tile_of_their_prompt() -> None:
    share, weight, least = (numbers("grpo", name) for name in ("share", "weight.policy.row", "surrogate.pessimistic"))
    assert share == pytest.approx([-c * u for c, u in zip(weight, least, strict=True)])
    assert weight == pytest.approx([1 / 28] * len(weight))
    words = {link.text for link in made(numbers="grpo").layout.links if link.sheet == "One page"}
    assert "prompt 1: Σ of −c·U_min" in words
    tiles = [float(live.value) for live in made(numbers="grpo").layout.lives if "one-page tile orange" in live.style]
    assert sum(share) == pytest.approx(tiles[0])


@pytest.mark.parametrize("name", ["grpo", "by-hand-grpo", "pipeline/grpo"])
def test_a_tile_of_a_prompt_leads_to_the_numbers_that_it_adds(name: str, tmp_path: Path) -> None:
    sheet = opened(save_made(tmp_path / "a.xlsx", numbers=name), formulas=True)["One page"]
    words = [cell for row in sheet.iter_rows() for cell in row if str(cell.value).startswith("prompt ")]
    assert words
    for cell in words:
        summed = re.findall(r"SUM\((\w+)!(\$\w+\$\d+):(\$\w+\$\d+)\)", sheet.cell(cell.row - 1, cell.column).value)
        sheets, first, last = {each[0] for each in summed}, summed[0][1], summed[-1][2]
        assert [cell.hyperlink.location] == [f"{each}!{first}:{last}".replace("$", "") for each in sheets]


def test_the_loss_of_kto_is_what_its_signs_say() -> None:
    weight, likely, loss = (numbers("kto", f"single.{name}") for name in ("weight", "likely", "loss"))
    signs = [line_of("kto", f"single.{name}").row.sign for name in ("weight", "likely", "loss")]
    assert signs == ["", "× 1−", ""]
    assert loss == pytest.approx([w * (1 - sure) for w, sure in zip(weight, likely, strict=True)])
    at = [line_of("kto", f"single.{name}").at for name in ("weight", "likely", "loss")]
    assert at == sorted(at)


def test_a_part_that_has_no_weight_is_not_called_as_if_it_were_0() -> None:
    """The log-likelihood of chosen responses is not 0, but its coefficient is: the tile names both."""
    parts = {"dpo": ["α_nll × NLL of the chosen"], "reward-model": ["c × centring", "β × L2 of scores"]}
    for name, words in parts.items():
        links = made(numbers=name).layout.links
        assert [each.text for each in links if each.style.startswith("one-page tilewords")][1:] == words


def test_what_pairs_add_to_the_loss_of_a_reward_model_is_a_line_of_three_decimals() -> None:
    assert sum(numbers("reward-model", "adds")) == pytest.approx(float(made(numbers="reward-model").loss))
    assert [line_of("reward-model", name).decimals for name in ("weight.pair", "adds")] == [3, 3]
    assert {line_of("reward-model", f"{which}.score").row.model for which in ("chosen", "rejected")} == {"purple"}


def test_a_sum_over_tokens_has_the_decimals_of_the_other_sums() -> None:
    sums = ("policy.logp", "reference.logp", "policy.logp.rejected", "reference.logp.rejected")
    assert [line_of("dpo", name).decimals for name in sums] == [2, 2, 2, 2]


def test_the_steps_of_q_learning_end_at_a_goal_and_no_digit_of_a_sum_is_lost() -> None:
    book = made(numbers="q-learning")
    places = [
        place for column, *_ in line_of("q-learning", "step.target").cells for place in (column.at or {}).values()
    ]
    assert [book.values.cell(book.blocks["step.done"], place) for place in places] == [0] * 8 + [1]
    for called in ("later", "step.target", "step.td_error", "part", "step.q_new"):
        assert line_of("q-learning", called).decimals == 3
