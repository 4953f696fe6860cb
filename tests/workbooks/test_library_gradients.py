"""Which PPO with gradients: the way back of each library on one batch, how long its gradient is, and where it points."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("torch", reason="the outside witness is torch: install the extra [torch]")

from blueprint.workbooks.common.conventions import rlhf
from blueprint.workbooks.rlhf_ppo.gradients_and_epochs import CRITIC, POLICY
from tests.autograd import libraries_way_back
from tests.live import PRESETS, book, live

LIBRARIES = [name for name in PRESETS if name != "default"]
LEAVES = {"default": (*POLICY, *CRITIC), "ten-libraries": ("policy.logits", "critic.out")}
SETTINGS = ("conventions=live", "gradients=on")
# Of the largest of a row: torch multiplies the same slopes in another order.
NEAR = 1e-12


@pytest.mark.parametrize("numbers", LEAVES)
def test_every_slope_of_every_library_is_autograds(numbers: str) -> None:
    away = libraries_way_back(book(numbers, *SETTINGS), "rlhf_ppo")
    assert {f"library.{leaf}.grad" for leaf in LEAVES[numbers]} <= away.keys()
    assert {name: far for name, far in away.items() if not far <= NEAR} == {}


@pytest.mark.parametrize("library", LIBRARIES)
def test_a_library_pulls_as_the_workbook_of_its_preset_does(library: str) -> None:
    """The preset's own temperature_eps of 1e-7 moves the log-probs of its own workbook, hence 1e-6."""
    rows, own = live("default", *SETTINGS), live("default", f"preset={library}", *SETTINGS, f"compare=['{library}']")
    for leaf in LEAVES["default"]:
        of_library = rows[f"library.{leaf}.grad"][LIBRARIES.index(library)]
        np.testing.assert_allclose(of_library, own[f"{leaf}.grad"], rtol=0, atol=1e-6)
    for side in ("policy", "critic"):
        length = rows[f"library.{side}.grad.norm_l"][LIBRARIES.index(library)]
        assert length == pytest.approx(own[f"{side}.grad.norm"], abs=1e-6)
        # In its own workbook a library's gradient lies along the one in use.
        assert own[f"library.{side}.grad.cosine"] == pytest.approx(1, abs=1e-12)


def test_length_and_angle_by_hand() -> None:
    rows = live("default", *SETTINGS)
    ours = np.concatenate([rows[f"{leaf}.grad"].ravel() for leaf in POLICY])
    theirs = np.concatenate([rows[f"library.{leaf}.grad"][0].ravel() for leaf in POLICY])
    lengths = np.linalg.norm(ours), np.linalg.norm(theirs)
    assert rows["policy.grad.norm"] == pytest.approx(lengths[0], rel=1e-14)
    assert rows["library.policy.grad.cosine"][0] == pytest.approx(ours @ theirs / np.prod(lengths), rel=1e-13)


def test_where_nothing_pulls_there_is_no_angle() -> None:
    rows = live("default", *SETTINGS, "ppo.vf_coef=0", "compare=['trl_1.12', 'verl']")
    assert rows["critic.grad.norm"] == 0
    assert rows["library.critic.grad.cosine"].tolist() == [0, 0]
    assert rows["library.critic.grad.norm_l"].min() > 0


def test_without_gradients_there_is_no_such_sheet() -> None:
    plain, pulled = (book("ten-libraries", *more).blueprint for more in ((), ("gradients=on",)))
    assert [sheet.title for sheet in pulled.sheets if sheet.title not in [each.title for each in plain.sheets]] == [
        "Library gradients"
    ]
    assert not [each.name for each in plain.blocks() if "grad" in each.name]


def test_another_engine_finds_the_same_numbers(tmp_path: Path) -> None:
    made = book("default", *SETTINGS, "compare=['trl_1.12', 'verl']")
    path = tmp_path / "which.xlsx"
    made.save(path)
    assert made.prove(path).failures == []
    assert rlhf().presets.keys() >= {"trl_1.12", "verl"}
