"""The sheet Delivered says of everything typed whether it is as it was, and says it of nothing else."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest
from openpyxl import load_workbook

from tests.audit import formulas, watches
from tests.page.deliveries import Delivered, changes, delivered, groups
from tests.page.finished import FILES, Value, of_tokens


@pytest.mark.parametrize("name", FILES)
def test_everything_typed_is_listed_once_and_is_the_same_at_first(name: str) -> None:
    opened = delivered(name)
    assert [each for each, _ in opened.listed] == opened.typed
    assert opened.changed() == set()
    assert opened.in_all() == (0, "same", "same")


@pytest.mark.parametrize("name", FILES)
def test_the_copy_of_a_cell_holds_what_was_typed_there(name: str) -> None:
    """To get a number back, one copies it from there, so it stands in the shape of the original."""
    opened = delivered(name)
    for each, row in opened.listed:
        _, left, top, *_ = opened.file.places[each]
        for at, value in opened.cells(each).items():
            copy = opened.file.shown["Delivered"].cell(row + at[0] - top, opened.copy + at[1] - left).value
            assert copy == value, f"{each}, row {at[0]}, column {at[1]}"


@pytest.mark.parametrize("name", FILES)
def test_one_changed_cell_is_noticed_in_its_block_and_in_no_other(name: str) -> None:
    """Blocks are changed in groups: a sheet is computed anew for each group, and not for each of a few hundred cells."""
    opened = delivered(name)
    tried = {block: [*changes(opened, block)] for block in opened.typed}
    for turn in range(max(map(len, tried.values()))):
        for group in groups([block for block, each in tried.items() if turn < len(each)]):
            with opened.typing(*(tried[block][turn] for block in group)):
                assert opened.changed() == set(group)
                assert opened.in_all() == (len(group), "changed", "changed")
    assert opened.changed() == set()
    assert all(tried.values())


@pytest.mark.parametrize("name", FILES)
@pytest.mark.parametrize("offset", [0, 1])
def test_many_changes_are_noticed_and_counted_together(name: str, offset: int) -> None:
    opened = delivered(name)
    every_other = opened.typed[offset::2]
    with opened.typing(*(next(changes(opened, block)) for block in every_other)):
        assert opened.changed() == set(every_other)
        assert opened.in_all() == (len(every_other), "changed", "changed")


@pytest.mark.parametrize("name", FILES)
def test_the_choice_on_walk_is_no_changed_input(name: str) -> None:
    opened = delivered(name)
    walk = opened.file.places["walk.decision"]
    with opened.typing(("walk.decision", walk.top, walk.left, 2.0)):
        assert opened.changed() == set()
        assert opened.in_all() == (0, "same", "same")


WEIGHTS = ("old.E", "old.W", "old.Y", "reference.Y", "reward_model.head.w", "old_critic.W", "policy.delta.Y")


@pytest.mark.parametrize("name", WEIGHTS)
def test_two_numbers_of_a_table_that_change_places_are_noticed(name: str) -> None:
    """Their sum and the sum of their squares stay what they were."""
    opened = delivered("default")
    cells = opened.cells(name)
    here, *others = cells
    there = next(at for at in others if cells[at] != cells[here])
    with opened.typing((name, *here, cells[there]), (name, *there, cells[here])):
        assert opened.changed() == {name}


def test_a_change_of_a_limit_beside_those_that_are_off_is_noticed() -> None:
    """No sum is taken over words; a number typed as text is no number."""
    opened = delivered("ten-libraries", "compare=verl")
    cells = opened.cells("presets.reward.score_clip")
    assert "off" in cells.values()
    here = next(at for at, value in cells.items() if value == 10)
    for other in (10.0000001, "off", "10"):
        with opened.typing(("presets.reward.score_clip", *here, other)):
            assert opened.changed() == {"presets.reward.score_clip"}


def test_two_words_that_change_places_are_noticed_and_so_is_a_capital() -> None:
    opened = delivered("default")
    _, second, third, *_ = opened.cells("vocabulary").items()
    with opened.typing(("vocabulary", *second[0], third[1]), ("vocabulary", *third[0], second[1])):
        assert opened.changed() == {"vocabulary"}
    with opened.typing(("vocabulary", *second[0], str(second[1]).upper())):
        assert opened.changed() == {"vocabulary"}


NUMBERS = ("old.W", "reward_model.head.w", "rollout.draw", "max_new_tokens", "gamma.preset", "check.returns.tolerance")


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_replaced_by_a_word_is_noticed(name: str) -> None:
    opened = delivered("default")
    with opened.typing((*opened.first(name), "a word")):
        assert opened.changed() == {name}


@pytest.mark.parametrize("name", NUMBERS)
def test_a_number_replaced_by_a_text_of_the_same_digits_is_noticed(name: str) -> None:
    """It looks like the number, but sums over ranges leave it out."""
    opened = delivered("default")
    value = next(iter(opened.cells(name).values()))
    with opened.typing((*opened.first(name), f"{value:g}")):
        assert opened.changed() == {name}


@pytest.mark.parametrize("name", ["given", "gamma.yours", "kl_estimator.yours"])
@pytest.mark.parametrize("typed", [0.0, "0", "a word"])
def test_what_is_typed_into_an_empty_cell_is_noticed(name: str, typed: Value) -> None:
    opened = delivered("default")
    empty = next(at for at, value in opened.cells(name).items() if value is None)
    with opened.typing((name, *empty, typed)):
        assert opened.changed() == {name}


@pytest.mark.parametrize("distance", [1e-3, 1e-6])
def test_a_small_change_is_noticed(distance: float) -> None:
    """A weight of 0 among larger ones is the hardest: below 1e-8 the change's square is lost in the sum of squares."""
    opened = delivered("default")
    zero = next(at for at, value in opened.cells("old.W").items() if value == 0)
    with opened.typing(("old.W", *zero, distance)):
        assert opened.changed() == {"old.W"}


def test_a_changed_input_is_no_failed_check() -> None:
    """Other weights are other weights; a tolerance that nothing can meet is a changed input, and a check that fails."""
    opened = delivered("default")
    assert opened.master() == "OK"
    with opened.typing((*opened.first("old.W"), 0.7)):
        assert (opened.changed(), opened.master()) == ({"old.W"}, "OK")
    tolerance = "check.returns.tolerance"
    with opened.typing((*opened.first(tolerance), -1.0)):
        assert (opened.changed(), opened.master()) == ({tolerance}, "LOOK")
    assert (opened.changed(), opened.master()) == (set(), "OK")


def test_the_copies_are_of_what_this_file_was_made_with() -> None:
    """An override that was given at the build is no change; to take it out is one."""
    opened = delivered("default", "ppo.gamma=0.5", "ppo.kl_estimator=k3")
    assert opened.changed() == set()
    assert opened.cells("gamma.yours") == {opened.first("gamma.yours")[1:]: 0.5}
    with opened.typing((*opened.first("gamma.yours"), None), (*opened.first("kl_estimator.yours"), None)):
        assert opened.changed() == {"gamma.yours", "kl_estimator.yours"}


@pytest.mark.parametrize("lengths", [(1,), (2, 1)], ids=["one word", "two lengths"])
@pytest.mark.parametrize("cases", [0, 1, 2])
def test_the_smallest_numbers_are_told_from_changed_ones_as_well(
    lengths: tuple[int, ...], cases: int, tmp_path: Path
) -> None:
    opened = Delivered(of_tokens(tmp_path, lengths, cases))
    assert opened.changed() == set()
    assert opened.in_all() == (0, "same", "same")
    for block in opened.typed:
        if np.size(opened.file.computed(block)):
            with opened.typing(next(changes(opened, block))):
                assert opened.changed() == {block}


@pytest.mark.parametrize("name", FILES)
def test_nothing_is_computed_from_the_copies(name: str) -> None:
    """Formulas of other sheets that read this one only ask whether anything was changed."""
    opened = delivered(name)
    readers = [
        (sheet, formula)
        for (sheet, cell), formula in formulas(opened.file.path).items()
        if sheet != "Delivered" and re.search(r"\bDelivered'?!|\bchanged_inputs\b", formula)
        if not watches(sheet, cell, formula)
    ]
    assert [sheet for sheet, _ in readers] == ["Start", "Checks"]
    for _, formula in readers:
        assert formula == 'IF(changed_inputs=0,"same","changed")'
    where = load_workbook(opened.file.path).defined_names["changed_inputs"].attr_text
    assert re.fullmatch(rf"Delivered!\$[A-Z]+\${opened.count}", where)
