"""The equation beside a row is the one of its formula, and no running sum looks like a single setting."""

import pytest

from blueprint.workbooks.registry import kinds
from tests.page.workshop import made

BUILT_IN = [name for kind in kinds() for name in kind.built_in()]


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_check_of_all_settings_names_what_it_is_a_sum_of(name: str) -> None:
    book = made(numbers=name)
    if "check.settings" not in book.blocks:
        assert not [
            each for each in book.blocks if each.endswith(".outside") and book.blocks[each].symbol[:4] == "Σout"
        ]
        return
    printed = [label.text for label in book.layout.labels if str(label.text).startswith("outside = ")]
    sums = [each for each in book.blocks.values() if each.symbol.startswith("Σout_")]
    assert any(text.startswith(f"outside = {sums[-1].symbol}") for text in map(str, printed))
    assert all(each.about.meaning.startswith("all numbers down to this line") for each in sums)
