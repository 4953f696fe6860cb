"""Workbooks that older versions wrote: their numbers are checked, under the names that blocks have by now."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="check needs torch: install the extra [torch]")

from blueprint.checking import Checked
from blueprint.checking.checker import check
from blueprint.checking.files import ANOTHER_VERSION, by_todays_names
from blueprint.reopening import numbers_in
from blueprint.workbooks.kind import Former

OLDER = Path(__file__).parents[1] / "data" / "older"
FILES = sorted(path.name for path in OLDER.glob("*.xlsx"))
"""Written before the redesign, when some blocks had other names."""


def test_there_are_older_files() -> None:
    assert len(FILES) == 3


@pytest.mark.parametrize("name", FILES)
def test_an_older_file_agrees_and_is_not_accused(name: str) -> None:
    (verdict,) = check([Checked(OLDER / name)]).verdicts
    assert verdict.missed == {}
    assert verdict.agrees
    assert verdict.file.compared.why == ANOTHER_VERSION
    assert len(verdict.lines) > 200


@pytest.mark.parametrize("name", ["classic.xlsx", "rlhf_ppo.xlsx"])
def test_its_numbers_come_back(name: str) -> None:
    assert numbers_in(OLDER / name).ppo is not None


def test_a_block_under_its_former_name_is_compared_under_the_one_it_has_now() -> None:
    file = Checked(OLDER / "rlhf_ppo.xlsx")
    assert "value.residual.mean" in file.places
    assert "value.residual_mean" not in file.places
    assert "value.residual.mean" in file.places["value.residual.centred"].reads


def test_what_read_a_block_that_is_gone_reads_what_that_read() -> None:
    file = Checked(OLDER / "classic.xlsx")
    assert "advantage.deviation" not in file.places
    assert "advantage.variance" in file.places["advantage.std_plus"].reads


def test_a_file_of_today_is_not_touched() -> None:
    places = Checked(OLDER / "classic.xlsx").places
    assert by_todays_names(places, Former()) == places
