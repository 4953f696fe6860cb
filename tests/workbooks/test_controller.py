"""The adaptive KL controller gives the β of OpenAI, TRL, OpenRLHF, verl and trlX after every update."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from blueprint.inputs import load
from blueprint.workbooks.kl_controller.lesson import SETTINGS as CONTROLLER
from tests.page.finished import Engine
from tests.page.workshop import made, row
from tests.workbooks.test_classic_golden import RUNS

GOLDEN = RUNS["adaptive_kl_controller"]
LIBRARIES = GOLDEN["value_after_each_update"]
EXACT = 1e-12
LENGTHS = [4, 5, 2, 8]
# Sums whose means per word have the means 12, 5.5, …: each response's mean times its length.
PER_WORD = [[10, 14, 11, 13], [4, 7, 5, 6], [6, 5, 8, 5], [1, 0, 2, -1], [-2, -5, -1, -4], [9, 6, 8, 5]]
SUMS = [[mean * length for mean, length in zip(row, LENGTHS, strict=True)] for row in PER_WORD]
BUILDS: dict[str, tuple[str, ...]] = {
    "seq_sum": (),
    "token_mean": ("controller.kl_stat=token_mean", f"responses.kl_sums={SUMS}"),
}
BOOKS = {name: made(*overrides, numbers="kl-controller") for name, overrides in BUILDS.items()}


def test_the_goldens_of_all_libraries_are_the_same() -> None:
    assert set(map(tuple, LIBRARIES.values())) == {tuple(LIBRARIES["openai"])}
    settings = {key: setting.value for key, setting in CONTROLLER.items()}
    assert settings["kl_coef"] == GOLDEN["init"]
    assert {key: settings[key] for key in ("target", "horizon", "n_steps")} == {
        key: GOLDEN[key] for key in ("target", "horizon", "n_steps")
    }


@pytest.mark.parametrize("name", BUILDS)
def test_beta_after_every_update(name: str) -> None:
    book = BOOKS[name]
    np.testing.assert_array_equal(row(book, "kl.fed"), GOLDEN["kl_sequence"])
    np.testing.assert_array_equal(row(book, f"kl.{name}"), GOLDEN["kl_sequence"])
    for library in LIBRARIES.values():
        np.testing.assert_allclose(row(book, "kl_coef.after"), library, rtol=0, atol=EXACT)
    assert float(book.values.cell(book.blocks["final_kl_coef"])) == row(book, "kl_coef.after")[-1]
    assert str(book.values.cell(book.blocks["check.master"])) == "OK"


@pytest.mark.parametrize("name", BUILDS)
def test_rewards_use_the_old_beta(name: str) -> None:
    """The row before is the row after, one update later; the first is the setting."""
    book = BOOKS[name]
    before, after = row(book, "kl_coef.before"), row(book, "kl_coef.after")
    np.testing.assert_array_equal(before, [0.2, *after[:-1]])
    assert list(np.sign(after - before)) == [1, -1, 0, -1, -1, 1]


def test_the_wrong_statistic_gives_another_beta() -> None:
    """The goldens can fail: the same responses, read per word."""
    other = made("controller.kl_stat=token_mean", numbers="kl-controller")
    assert np.abs(row(other, "kl_coef.after") - LIBRARIES["openrlhf"]).max() > 1e-4


def test_the_statistic_is_live(tmp_path: Path) -> None:
    book = BOOKS["seq_sum"]
    book.save(tmp_path / "a.xlsx")
    engine, places = Engine(tmp_path / "a.xlsx"), book.layout.places

    def cell(name: str) -> tuple[str, int, int]:
        line, column = places[book.blocks[name]].cell(book.blocks[name], ())
        return places[book.blocks[name]].sheet, line + 1, column + 1

    engine.type(*cell("kl_stat.yours"), "token_mean")
    engine.evaluate()
    other = made("controller.kl_stat=token_mean", numbers="kl-controller")
    assert engine.value(*cell("final_kl_coef")) == pytest.approx(row(other, "kl_coef.after")[-1], rel=0, abs=EXACT)
    engine.type(*cell("error_clip.yours"), 2.0)  # beyond its range
    engine.evaluate()
    assert engine.value(*cell("check.master")) == "LOOK"


def test_by_hand() -> None:
    """β ← β·(1 + clip(KL/target − 1, ±0.2)·n/horizon), the plain loop, with other settings."""
    overrides = ("controller.target=3", "controller.horizon=500", "controller.n_steps=64", "controller.error_clip=0.4")
    book = made(*overrides, "controller.kl_coef=0.05", numbers="kl-controller")
    beta, expected = 0.05, []
    for kl in GOLDEN["kl_sequence"]:
        beta *= 1 + min(0.4, max(-0.4, kl / 3 - 1)) * 64 / 500
        expected.append(beta)
    np.testing.assert_allclose(row(book, "kl_coef.after"), expected, rtol=0, atol=EXACT)


def test_every_setting_has_a_name() -> None:
    assert all(setting.symbol and setting.meaning for setting in CONTROLLER.values())


def test_the_numbers_are_frozen_and_tell_only_what_the_file_gives() -> None:
    loaded = load("kl-controller", ["controller.target=4"])
    assert loaded.ppo == {"target": 4.0}
    assert loaded["responses.kl_sums"][0].tolist() == [10, 14, 11, 13]
