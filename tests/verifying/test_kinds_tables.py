"""What kinds share where they are verified: other values of settings, numbers that a file gives away, masks, rows shown."""

from __future__ import annotations

from math import inf, isnan

import numpy as np
import pytest

pytest.importorskip("torch", reason="verify needs torch: install the extra [torch]")

from blueprint.dumps import MinibatchError
from blueprint.inputs import LONGEST, OFF
from blueprint.verifying import (
    Conventions,
    check_length,
    coefficient,
    counted,
    digits,
    from_here_on,
    logits_of_two,
    mistakes_in,
    multiplied,
    on_the_line,
    straight_line,
    typed,
)
from blueprint.workbooks.classic_ppo.rollout import classic_presets
from blueprint.workbooks.classic_ppo.verifying import causes as classic_ppo
from blueprint.workbooks.dpo.schema import dpo_presets
from blueprint.workbooks.dpo.verifying import verify as dpo
from blueprint.workbooks.grpo.schema import grpo_presets
from blueprint.workbooks.grpo.verifying import causes as grpo
from blueprint.workbooks.kto import verifying as kto
from blueprint.workbooks.reward_model.schema import rm_presets
from blueprint.workbooks.reward_model.verifying.causes import INSTEAD as REWARD_MODEL
from blueprint.workbooks.sft import verifying as sft
from blueprint.workbooks.sft.schema import sft_presets

EVERY = {
    "classic_ppo": classic_ppo.INSTEAD, "dpo": dpo.INSTEAD, "grpo": grpo.INSTEAD, "kto": kto.INSTEAD,
    "reward_model": REWARD_MODEL, "sft": sft.INSTEAD,
}  # fmt: skip
DPO = Conventions(dpo_presets, {"beta": (0.1, 0.2, 0.5)}, {"loss.form": ("kto",)})
USUAL = dict(dpo_presets().preset("default").values)


@pytest.mark.parametrize(
    ("presets", "key", "said"),
    [
        (sft_presets, "microbatches", "sft.microbatches = 2"),
        (rm_presets, "center", "reward.center = 2"),
        (dpo_presets, "beta", "dpo.beta = 2"),
        (grpo_presets, "gamma", "ppo.gamma = 2"),
        (classic_presets, "gamma", "ppo.gamma = 2"),
        (dpo_presets, "loss.gamma", "loss.gamma = 2"),
    ],
)
def test_a_setting_is_said_as_numbers_files_of_its_kind_have_it(presets: object, key: str, said: str) -> None:
    assert Conventions(presets, {}).said({key: 2.0}) == said  # type: ignore[arg-type]


def test_a_limit_that_is_off_and_several_settings_are_said() -> None:
    assert DPO.said({"logp.alpha": OFF, "loss.form": "ipo"}) == "logp.alpha = off, loss.form = ipo"


def test_other_values_are_those_that_people_use_and_that_can_be_computed() -> None:
    assert USUAL["beta"] == 0.1
    assert DPO.values(USUAL, "beta", (0.5, 0.7)) == [0.2, 0.5, 0.7]
    words = DPO.values(USUAL, "loss.form")
    assert "ipo" in words
    assert not {"kto", USUAL["loss.form"]} & {*words}
    assert DPO.values(USUAL, "loss.gamma") == []


@pytest.mark.parametrize("kind", EVERY)
def test_what_a_library_computes_with_is_among_the_numbers_that_people_use(kind: str) -> None:
    presets = EVERY[kind].catalogue.presets
    for key, tried in EVERY[kind].numbers.items():
        used = np.array([preset.values[key] for preset in presets.values()], float)
        if key == "microbatches":
            continue  # one is all: the mean over tokens, which is another normaliser
        assert np.isclose(used[:, None], np.array(tried), rtol=1e-6, atol=0).any(axis=1).all(), f"{key}: {used}"


def test_every_setting_that_is_read_is_tried_with_its_other_values() -> None:
    tried = list(DPO.others(USUAL, ("beta", "loss.form")))
    assert [each.label for each in tried[:2]] == ["dpo.beta = 0.2", "dpo.beta = 0.5"]
    assert all(sum(each.settings[key] != USUAL[key] for key in USUAL) == 1 for each in tried)
    assert {each.settings["loss.form"] for each in tried} - {"sigmoid"} == {*DPO.values(USUAL, "loss.form")}


def test_presets_are_tried_where_something_that_is_read_is_another_value() -> None:
    every = {each.label: each.settings for each in DPO.of_presets(USUAL)}
    assert "the conventions of default" not in every
    assert all(settings["loss.form"] != "kto" for settings in every.values())
    some = {each.label for each in DPO.of_presets(USUAL, ("beta",))}
    assert some == {label for label, settings in every.items() if settings["beta"] != USUAL["beta"]}
    assert some < {*every}


def test_two_settings_at_a_time_are_never_the_same_one() -> None:
    both = list(DPO.two_at_a_time(USUAL, ("beta", "reference.used")))
    assert [each.label for each in both] == [
        "dpo.beta = 0.2, and reference.used = off", "dpo.beta = 0.5, and reference.used = off",
    ]  # fmt: skip
    assert both[1].settings == {**USUAL, "beta": 0.5, "reference.used": "off"}


def test_mistakes_are_those_of_what_is_concerned() -> None:
    table = {"a": (("one", {"moved": 1}),), "b": (("two", {"moved": 2}), ("three", {}))}
    assert [(each.label, each.ways) for each in mistakes_in(table, ("b",), USUAL)] == [
        ("two", {"moved": 2}),
        ("three", {}),
    ]
    assert multiplied(USUAL, "loss", -1.0, "the other sign").ways == {"factor": {"loss": -1.0}}


@pytest.mark.parametrize(
    ("value", "most", "found"),
    [
        (0.12345, inf, [0.123]),
        (-0.1, inf, []),
        (0.0, inf, []),
        (np.nan, inf, []),
        (inf, inf, []),
        (2.0, 1.0, []),
        (1.0, 1.0, [1.0]),
    ],
)
def test_a_number_is_typed_with_three_digits(value: float, most: float, found: list[float]) -> None:
    assert list(typed(value, most)) == found


def test_a_coefficient_is_where_nothing_is_off() -> None:
    assert coefficient(lambda c: 3.0 + 5.0 * c - 4.0) == pytest.approx(0.2)
    assert isnan(coefficient(lambda c: 1.0))


def test_each_change_of_sign_is_found_to_five_digits() -> None:
    assert [*dpo.roots(1e-4, 1e3, lambda x: (x - 0.137) * (4 - x))] == pytest.approx([0.137, 4.0], rel=1e-5)
    assert not [*dpo.roots(1e-4, 1e3, lambda x: x + 1)]


def test_a_straight_line_is_found_and_said() -> None:
    x = np.arange(6.0)
    assert straight_line(x, 2 * x + 0.5) == (2.0, 0.5)
    assert straight_line(x, 2.3456 * x + 0.5555, (3, 2)) == (2.35, 0.56)
    assert straight_line(x, x) is None
    assert straight_line(x[:4], 2 * x[:4]) is None
    assert straight_line(x, np.where(x > 4, np.nan, x)) is None
    assert on_the_line((2.0, 0.5), "advantages") == "2 times the right advantages, and 0.5"
    assert on_the_line((2.0, 0.0), "ones") == "2 times the right ones"


@pytest.mark.parametrize(
    ("way", "rows"),
    [
        ("", ["0110", "0001"]), ("no_last", ["0100", "0000"]), ("no_first", ["0010", "0000"]), ("one_more", ["0111", "0001"]),
        ("later", ["0011", "0000"]), ("all", ["1111", "1111"]),
    ],
)  # fmt: skip
def test_which_tokens_count_by_mistake(way: str, rows: list[str]) -> None:
    mask = np.array([[False, True, True, False], [False, False, False, True]])
    assert ["".join(map(str, row.astype(int))) for row in counted(mask, way)] == rows
    assert from_here_on(mask).tolist() == [[2, 2, 1, 0], [1, 1, 1, 1]]


def test_numbers_have_the_digits_of_a_cell() -> None:
    assert digits(np.array([[1 / 3, np.nan]])).tolist() == [[0.333333333333333, 0.0]]
    p = np.array([-0.5, -2.0, 0.0])
    one, rest = logits_of_two(p)
    both = np.log(np.exp(one) + np.exp(rest))
    np.testing.assert_allclose(one - both, p, atol=1e-12)  # float64
    with pytest.raises(MinibatchError, match=f"has a text of {LONGEST + 1} tokens there: a workbook shows"):
        check_length("a.npz", LONGEST + 1, "a text")
