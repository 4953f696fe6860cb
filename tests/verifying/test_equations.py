"""Causes that nobody has listed: every change of one part of an equation on the way to a quantity, and none of what is known."""

from __future__ import annotations

import pytest

pytest.importorskip("torch", reason="verify needs torch: install the extra [torch]")

from blueprint.verifying import of_equations
from blueprint.workbooks.dpo.schema import dpo_presets
from blueprint.workbooks.dpo.verifying.recompute import EQUATIONS as DPO
from blueprint.workbooks.reward_model.schema import rm_presets
from blueprint.workbooks.reward_model.verifying.recompute import EQUATIONS as REWARD_MODEL

SUMS = ("policy.sum", "reference.sum")


def test_rows_that_are_known_are_not_changed() -> None:
    settings = dict(dpo_presets().preset("default").values)
    changed = {row for each in of_equations(DPO, settings, "total_loss", SUMS) for row in each.ways["equations"]}
    assert {"margin", "margin.argument", "loss.sigmoid", "loss.paired", "total_loss"} <= changed
    assert not changed & {*SUMS, "policy.weighed", "loss.ipo", "chosen.logged"}


def test_where_things_stand_is_no_equation() -> None:
    settings = dict(dpo_presets().preset("default").values)
    changed = {row for each in of_equations(DPO, settings, "total_loss", SUMS) for row in each.ways["equations"]}
    assert not [row for row in changed if row.endswith(".column")]


def test_both_sides_of_a_pair_are_changed_together_and_each_alone() -> None:
    settings = dict(dpo_presets().preset("default").values)
    tries = [
        each for each in of_equations(DPO, settings, "total_loss", SUMS) if "chosen.against" in each.ways["equations"]
    ]
    both = [each for each in tries if "rejected.against" in each.ways["equations"]]
    assert both
    assert [*map(tries.index, both)] == [*range(len(both))]
    assert {each.label.rpartition(", ")[2] for each in tries} == {"on both sides", "on the chosen side alone"}


def test_every_change_says_another_thing() -> None:
    for equations, presets, row, known in (
        (DPO, dpo_presets(), "total_loss", SUMS),
        (REWARD_MODEL, rm_presets(), "total_loss", ("score",)),
    ):
        labels = [each.label for each in of_equations(equations, dict(presets.preset("default").values), row, known)]
        assert len(labels) == len({*labels}) > 100


def test_a_row_that_there_is_not_has_no_changes() -> None:
    assert not [*of_equations(DPO, dict(dpo_presets().preset("default").values), "entropy", SUMS)]
