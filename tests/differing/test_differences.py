"""Two workbooks side by side: which inputs differ, and where the derivation first parts."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from blueprint.differing import Differences, data, differences, text
from blueprint.language import Block
from blueprint.language.schedule import Step, needs, schedule
from tests.audit import spoil
from tests.page.workshop import made, save_made
from tests.reopening.kinds import save_kind
from tests.reopening.typing_in import all_typed_into, typed_into, untouched

EXACT = 1e-12


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Saves the default workbook."""
    return save_made(tmp_path_factory.mktemp("differing") / "plain.xlsx")


def between(one: Path, other: Path, tolerance: float = EXACT) -> Differences:
    """Compares two files."""
    return differences(untouched(one), untouched(other), tolerance)


def blocks_of(step: Step) -> list[Block]:
    """Returns the blocks that are computed together."""
    return [step] if isinstance(step, Block) else [block for inner in step.steps for block in blocks_of(inner)]


def test_a_file_and_itself_are_alike(plain: Path) -> None:
    found = between(plain, plain)
    assert found.alike
    count = len(made().blueprint.blocks())
    assert count > 400
    assert text(found) == f"a: {plain}\nb: {plain}\n{count} blocks compared, no difference (tolerance 1e-12)"


def test_one_setting_is_named_and_parts_the_derivation_where_it_is_read(plain: Path, tmp_path: Path) -> None:
    other = typed_into(plain, tmp_path / "other.xlsx", "gae_lambda.yours", (), 0.5)
    found = between(plain, other)
    (change,) = found.inputs
    assert (change.name, change.label, change.values[1]) == ("gae_lambda.yours", "λ_yours", 0.5)
    assert np.isnan(change.values[0])
    names = [parting.name for parting in found.partings]
    assert names[:2] == ["gae_lambda", "advantages"]
    assert {"td_errors", "rewards", "old.p", "ratio"}.isdisjoint(names)
    assert "total_loss" in names
    advantages = found.partings[1]
    assert advantages.label == "A[1, 6]"  # the last decision whose A reads another: A runs backwards
    one, two = made(), made("ppo.gae_lambda=0.5")
    differ = np.abs(one.values[one.blocks["advantages"]] - two.values[two.blocks["advantages"]])
    assert advantages.largest == differ.max()
    assert advantages.values == (
        one.values.cell(one.blocks["advantages"], 0, 5),
        two.values.cell(two.blocks["advantages"], 0, 5),
    )
    assert advantages.differ == (differ > EXACT).sum()


def test_what_parts_comes_after_what_it_reads(plain: Path, tmp_path: Path) -> None:
    other = all_typed_into(plain, tmp_path / "other.xlsx", {"old.E": 9, "vocabulary": "end", "kl_coef.yours": 1})
    of, found = untouched(plain), between(plain, other)
    order = {parting.name: i for i, parting in enumerate(found.partings)}
    moment = {block.name: i for i, step in enumerate(schedule(of.blueprint.blocks())) for block in blocks_of(step)}
    assert len(order) > 50
    for name, i in order.items():
        # What is computed together, column after column, may read what parts in a later column.
        read = [need.read.name for need in needs(of.blocks[name]) if moment[need.read.name] < moment[name]]
        assert [each for each in read if order.get(each, -1) > i] == [], name
    assert not any(of.blocks[name].link for name in order)


def test_a_draw_parts_the_loop_at_its_own_column(plain: Path, tmp_path: Path) -> None:
    found = between(plain, typed_into(plain, tmp_path / "other.xlsx", "rollout.draw", (0, 3), 0.1))
    first = found.partings[0]
    assert (first.name, first.label) == ("rollout.drawn", "draw[1, 4]")
    written = next(parting for parting in found.partings if parting.name == "word_written")
    assert (written.label, written.values) == ("writes[1, 4]", ("very", "the"))
    memory = next(parting for parting in found.partings if parting.name == "old.memory")
    assert memory.label == "h[1, 5, h1]"


def test_both_addresses_are_given_where_rows_were_moved(plain: Path, tmp_path: Path) -> None:
    longer = tmp_path / "longer.xlsx"
    made("sizes.embedding=4", "ppo.gamma=0.5").save(longer)
    found = between(plain, longer)
    assert found.sizes == ["embedding of the token k: 3 and 4"]
    change = next(change for change in found.inputs if change.name == "gamma.yours")
    assert change.cells[0] == change.cells[1] == untouched(plain).file.address("gamma.yours", ())
    draw = next(parting for parting in found.partings if parting.name == "old.p")
    assert draw.cells[0] != draw.cells[1]
    assert "other shape, not compared: " in text(found)
    assert "old.E" in found.shapes


def test_files_of_different_levels_say_so_and_compare_what_both_have(plain: Path, tmp_path: Path) -> None:
    live = save_kind("live", tmp_path / "live.xlsx")
    found = between(plain, live)
    assert found.sizes[0] == "level weights and level weights, live conventions"
    assert "episode n: 2 and 1" in found.sizes
    assert "preset" in found.only[1]
    assert found.compared > 100
    assert not found.alike


def test_words_that_differ_by_case_only_are_the_same_to_a_sheet(plain: Path, tmp_path: Path) -> None:
    assert between(plain, typed_into(plain, tmp_path / "case.xlsx", "vocabulary", (2,), "OLD")).alike


def test_what_is_below_the_tolerance_is_no_difference_of_what_is_computed(plain: Path, tmp_path: Path) -> None:
    other = typed_into(plain, tmp_path / "other.xlsx", "reward_model.head.b", (), 0.1 + 1e-6)
    near = typed_into(plain, tmp_path / "near.xlsx", "reward_model.head.b", (), 0.1)
    assert between(near, other, 1e-12).partings
    loose = between(near, other, 1e-4)
    assert (loose.partings, [change.name for change in loose.inputs]) == ([], ["reward_model.head.b"])
    assert not loose.alike


def test_a_file_that_shows_something_else_is_told_and_compared_by_its_inputs(plain: Path, tmp_path: Path) -> None:
    spoil(plain, tmp_path / "spoiled.xlsx")
    found = between(plain, tmp_path / "spoiled.xlsx")
    assert found.alike
    (stale,) = found.stale
    assert stale.cells > 1000
    assert "the file says 777.25, its inputs give " in stale.told
    assert f"{tmp_path / 'spoiled.xlsx'}: {stale.cells} cells do not show what its inputs give, first " in text(found)


def test_the_data_are_json_with_every_line_of_the_report(plain: Path, tmp_path: Path) -> None:
    other = all_typed_into(plain, tmp_path / "other.xlsx", {"gamma.yours": 0.5, "kl_estimator.yours": "k2"})
    found = between(plain, other)
    told = json.loads(json.dumps(data(found), allow_nan=False))
    assert [(each["block"], each["a"], each["b"]) for each in told["inputs"]] == [
        ("gamma.yours", None, 0.5),
        ("kl_estimator.yours", "", "k2"),
    ]
    assert [each["block"] for each in told["partings"]] == [parting.name for parting in found.partings]
    assert (told["alike"], told["a"], told["b"]) == (False, str(plain), str(other))
    report = text(found)
    assert all(each["label"] in report and each["cell_a"] in report for each in (*told["inputs"], *told["partings"]))
    assert "the derivation first parts at γ, discount of later rewards (RLHF: often 1): 0.9 and 0.5" in report
