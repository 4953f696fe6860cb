"""Switching a convention in a finished workbook gives what the definitions give when it is chosen before.

The rollout has a hole in one mask, so that every switch has something to do.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from blueprint.inputs.catalogue import OFF
from blueprint.workbooks.common.conventions import FOLLOWS, rlhf
from tests.audit import spoil
from tests.page.basic import Change, edit
from tests.page.workshop import same
from tests.workbooks.switched import NEAR, Given, blocks_of_tables, built, switchboard, types, wrong

HOLE = "text.mask=[[1,1,0,0,1,1],[1,1,1,1,0,0],[1,1,0,0,0,0],[1,1,1,1,1,1]]"
CASES = tuple(
    (key, word) for key, setting in rlhf().settings.items() for word in setting.words if word != setting.value
)
# For each number another one, at which something on this rollout changes.
NUMBERS: dict[str, float | str] = {
    "gamma": 0.5, "gae_lambda": 0.3, "kl_coef": 2.0, "clip_range": 0.05, "value_clip_range": "off", "vf_coef": 3.0,
    "ent_coef": 1.0, "policy_kl_coef": 1.0, "whiten_eps": 0.5, "batch.temperature": 0.7, "batch.temperature_eps": 0.1,
    "reward.kl_clamp_in": 0.3, "reward.kl_clamp_out": 0.2, "reward.score_clip": 1.0, "reward.missing_eos_value": -3.0,
    "reward.length_penalty": 0.5, "reward.free_tokens": 3.0,
    "advantage.tail_slots": 2.0, "advantage.ddof": 0.0, "advantage.mean_eps": 0.1, "advantage.ddof_eps": 0.1,
    "loss.log_ratio_clamp": 0.25, "loss.clip_range_high": "off", "loss.dual_clip": 1.5, "loss.ratio_threshold": 1.0,
    "loss.agg_eps": 0.1, "loss.seq_eps": 0.1, "value.factor": 1.0, "value.tail": 1.0, "metrics.ev_eps": 0.1,
    "loss.kl_coef": 2.0, "loss.kl_clamp_in": 0.3, "loss.kl_clamp_out": 0.2,
}  # fmt: skip
# What another setting must ask for before a switch has anything to do.
WITH: dict[str, dict[str, str | float]] = {
    "reward.free_tokens": {"reward.length_penalty": 0.5},
    "reward.missing_eos": {"reward.missing_eos_value": -3.0},
    "reward.missing_eos_value": {"reward.missing_eos": "set"},
    "reward.missing_eos_test": {"reward.missing_eos": "set", "reward.missing_eos_value": -3.0},
    "reward.whiten_rezero": {"reward.whiten": "on"},
    "advantage.eps_form": {"whiten_eps": 0.5},
    "loss.seq_eps": {"loss.aggregation": "seq-mean-token-mean"},
    "value.aggregation": {"loss.aggregation": "token-sum"},
    "loss.entropy_aggregation": {"loss.aggregation": "token-sum"},
    "value.combine": {"value_clip_range": 0.2},
    "reward.kl_in": {"kl_coef": 0.5},
    "reward.kl_clamp_of": {"reward.kl_clamp_in": 0.3, "reward.kl_clamp_out": 0.2},
    "loss.kl_clamp_of": {"loss.kl_clamp_in": 0.3, "loss.kl_clamp_out": 0.2},
    "loss.kl_coef": {"reward.kl_in": "both"},
    "metrics.log_ratio": {"loss.log_ratio_clamp": 0.25, "metrics.kl": "k1"},
}
SWITCHED = [*CASES, *NUMBERS.items()]


def given(key: str, value: str | float) -> dict[str, str | float]:
    """Returns a switched setting with those that it needs."""
    return {**WITH.get(key, {}), key: value}


def with_high(settings: Given) -> Given:
    """Returns settings as a file says them: there a clip range alone means both sides, in a sheet one cell is one side.

    So with the KL of reward and loss. The other side stays as the default has it.
    """
    default = rlhf().preset("default").values
    return {**{key: default[key] for key, led in FOLLOWS.items() if led in settings}, **settings}


def name(case: tuple[str, str | float]) -> str:
    """Names a case."""
    return f"{case[0]}={case[1]}"


def test_every_setting_is_switched() -> None:
    switched = {key for key, _ in SWITCHED}
    assert switched == set(rlhf().settings) - {"update_step"}  # without weights nothing is updated


@pytest.mark.parametrize("case", SWITCHED, ids=name)
def test_a_switch_gives_what_the_definitions_give(case: tuple[str, str | float]) -> None:
    settings = given(*case)
    found = switchboard(HOLE).switched("default", settings)
    assert wrong(built("default", with_high(settings), HOLE), found) == []


@pytest.mark.parametrize("case", SWITCHED, ids=name)
def test_a_switch_changes_more_than_itself(case: tuple[str, str | float]) -> None:
    key, value = case
    before = built("default", with_high(WITH.get(key, {})), HOLE)
    after = built("default", with_high(given(key, value)), HOLE)
    rows = {block.name: array for block, array in before.values.arrays.items()}
    changed = {b.name for b, array in after.values.arrays.items() if not same(array, rows[b.name], NEAR)}
    assert {each for each in changed if not each.startswith((key, "library.differ", "check.settings"))} != set()


@pytest.mark.parametrize("preset", [name for name in rlhf().presets if name != "default"])
def test_a_preset_chosen_in_the_sheet_is_the_preset_built(preset: str) -> None:
    assert wrong(built(preset, {}, HOLE), switchboard(HOLE).switched(preset, {})) == []


def test_what_is_typed_goes_before_the_preset_and_emptied_gives_way_to_it() -> None:
    board = switchboard(HOLE)
    typed = board.switched("verl", {"loss.dual_clip": "off"})
    emptied = board.switched("verl", {})
    assert (typed["loss.dual_clip"].item(), emptied["loss.dual_clip"].item()) == (OFF, 3.0)
    assert typed["policy_loss"].item() != emptied["policy_loss"].item()


def mixes() -> list[Given]:
    """Lists settings that together hold every switched value: in each mix every switch stands at another word."""
    words = {key: [word for each, word in CASES if each == key] for key, _ in CASES}
    most = max(map(len, words.values()))
    mixed: list[Given] = [
        {key: alternatives[number] for key, alternatives in words.items() if number < len(alternatives)}
        for number in range(most)
    ]
    return [*mixed, NUMBERS]


def test_the_mixes_hold_every_switched_value() -> None:
    assert {(key, value) for mix in mixes() for key, value in mix.items()} == set(SWITCHED)


@pytest.mark.usefixtures("needs_libreoffice")
def test_libreoffice_gives_what_the_definitions_give_for_every_switch_and_preset(tmp_path: Path) -> None:
    """One file, in which every number is spoiled, is opened once: to open it takes longer than to compute it anew."""
    board, source = switchboard(HOLE), tmp_path / "spoiled.xlsx"
    spoil(board.path, source)
    cases: list[tuple[str, Given]] = [("default", mix) for mix in mixes()]
    cases += [(preset, {}) for preset in rlhf().presets]
    changes = []
    for number, (preset, each) in enumerate(cases):
        typed = {"preset": preset} | {f"{key}.yours": value for key, value in each.items()}
        lines = [*(types(board, block, value) for block, value in typed.items()), "book.calculateAll()"]
        emptied = [types(board, f"{key}.yours", "") for key in each] or [types(board, "preset", "default")]
        changes.append(Change(source, tmp_path / f"{number}.csv", lines, emptied if number < len(cases) - 1 else ()))
    edit(changes, tmp_path)
    for (preset, each), change in zip(cases, changes, strict=True):
        assert wrong(built(preset, with_high(each), HOLE), blocks_of_tables(change.target, board.places)) == [], (
            preset,
            each,
        )
