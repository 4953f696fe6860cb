"""Texts that can be read where they stand: a stop-gradient, the formula of GRPO, arrows, ranges, and brackets."""

import pytest

from blueprint.language.spelling.text import equations
from blueprint.page.outline import Flow, Row, blocks_on
from blueprint.workbooks.common.guides import terms
from tests.page.workshop import made


@pytest.mark.parametrize(
    ("name", "block", "says"),
    [
        ("grpo", "kl_new.counts", "KL_t[n, t] = k_moves[n, t] − sg(k_moves)[n, t] + sg(KL_new)[n, t]"),
        ("dpo", "loss.weighed", "L_w[p] = sg(W)[p]·L_pair[p]"),
        ("sft", "label.weight", "w_t[n, t] = m[n, t]·w[n]·sg(π_w)[n, t]"),
    ],
)
def test_a_stop_gradient_is_seen_in_every_equation(name: str, block: str, says: str) -> None:
    book = made(numbers=name)
    assert equations(book.blocks[block]) == says
    held = [each for each in book.blocks.values() if each.symbol.startswith("sg(")]
    assert all(each.link and each.about.meaning.endswith("as a number: no gradient") for each in held)
    assert "sg(x)" in [term.symbol(book.blocks) for term in terms() if term.term == "stop-gradient"]


def test_what_an_advantage_of_grpo_is_made_of_is_not_folded() -> None:
    book = made(numbers="grpo")
    sheet = next(sheet for sheet in book.blueprint.sheets if sheet.title == "Groups")
    items = [item for section in sheet.sections for item in section.items]
    folded = {item.block.name for item in items if isinstance(item, Row) and item.fold}
    assert {block.name for block in blocks_on(sheet)} > folded
    assert not folded & {"group.baseline_of", "group.spread", "group.scaled", "group.late", "group.advantage"}
    assert "(R−b[q, i]) / (s+ε[q, i])" in equations(book.blocks["group.scaled"])


def test_arrows_of_the_map_of_grpo_point_at_the_next_line() -> None:
    book = made(numbers="grpo")
    flows = [item for item in book.blueprint.sheets[0].items() if isinstance(item, Flow)]
    arrows = [cell for flow in flows for row in flow.rows for cell in row if cell in ("↘", "↙")]
    assert arrows[:2] == ["↙", "↙"]


def test_meanings_name_what_they_are_of() -> None:
    vague = ("the same", "its loss", "the one in use", "nor above", "not below")
    book = made(numbers="grpo")
    shown = [
        block for block in book.blocks.values() if block.name.startswith(("group.", "ratio", "weight.", "kl_new."))
    ]
    assert len(shown) > 50
    assert [block.name for block in shown if block.about.meaning.startswith(vague)] == []


def test_the_glossary_does_not_say_that_k3_is_biased() -> None:
    (meaning,) = (term.meaning for term in terms() if term.term == "KL estimate")
    assert meaning.endswith("k1 and k3 are unbiased, but only k1 can be negative")


def test_a_half_of_one_over_beta_has_its_brackets() -> None:
    book = made(numbers="dpo-batch")
    said = [block.about.meaning for block in book.blocks.values() if "1/" in block.about.meaning]
    assert any("1/(2β)" in each for each in said)
    assert not [each for each in said if "1/2β" in each]


def test_a_factor_of_one_is_no_power_of_ten() -> None:
    assert made(numbers="grpo").blocks["loss.factor"].about.decimals == 6
