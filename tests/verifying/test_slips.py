"""Slips: where nothing slipped they add up to the replay's own numbers; none is another one; what is cut is said."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch", reason="the witness needs torch: install the extra [torch]")

import torch

from blueprint.dumps import Minibatch
from blueprint.verifying import Replay, replay, text_of, verify
from blueprint.verifying.compare import compare_number
from blueprint.verifying.deviation import Deviation
from blueprint.verifying.judge import Judge
from blueprint.verifying.logged import ALL
from blueprint.verifying.slips.causes import NUMBERS, SLIPS, TENSORS, Sums
from blueprint.verifying.slips.slip import Own
from blueprint.verifying.verdict import Verdict
from blueprint.workbooks.common.conventions import rlhf
from tests.replayed import minibatch, replayed, with_everything_logged
from tests.verifying.dumps import LIBRARIES
from tests.verifying.test_tiles import SLOTS, made

RESULTS = {"rewards": "rewards", "advantages": "advantages_used", "returns": "returns"}


def question_of(local: Replay, library: str, name: str) -> Deviation:
    """Returns the deviation why a number is not what it is."""
    row, batch = ALL[name].rows[0][0], local.batch
    compared = compare_number(name, row, "", (1e9, local.whole[row]), 0.0)
    return Deviation(Judge(batch, local), local, library, compared, {})


@pytest.mark.parametrize("library", LIBRARIES)
def test_without_a_slip_the_words_add_up_to_the_replays_number(library: str) -> None:
    local = replay(made(1), rlhf().preset(library).values, tile_tokens=3 * SLOTS)
    eps = sum(float(local.options[key]) for key in ("advantage.mean_eps", "loss.agg_eps", "loss.seq_eps"))
    for name in NUMBERS:
        deviation = question_of(local, library, name)
        sums, number = Sums(deviation, (), ()), local.whole[deviation.compared.row]
        assert sums.number(None) == pytest.approx(number, rel=1e-12, abs=1e-15)
        assert sums.added(None) == pytest.approx(number, rel=1e-12 + 2 * eps, abs=1e-15), name


UNSEEN = {"the KL of the pads paid, too", "rewards clipped to ±10, not the score alone"}
"""Rewards of pads are not read where no value is kept behind the last word, and these are not as large as 10."""


@pytest.mark.parametrize("library", ["verl", "trl_1.12"])
def test_no_slip_in_a_tensor_is_what_the_preset_does(library: str) -> None:
    batch = with_everything_logged(library)
    local = replayed(library, batch, gamma=0.97, gae_lambda=0.9, reward_kl_in="reward", kl_coef=0.1)
    own = Own.of(local.work, local.whole, slice(0, len(batch.slots)))
    rows = {"rewards": "rewards.raw", "advantages": "advantages", "returns": "returns"}
    read = torch.maximum(own["kept"], own["score.place"]) > 0
    for name, slips in TENSORS.items():
        made = {(slip.said, n): slip.made(own)[read].numpy() for n, slip in enumerate(slips) if slip.over is None}
        same = [said for (said, _), each in made.items() if np.allclose(each, own[rows[name]][read], atol=1e-9)]
        assert set(same) <= UNSEEN
        assert all(each.shape == made[next(iter(made))].shape and np.isfinite(each).all() for each in made.values())


def test_slips_are_said_once_in_a_table() -> None:
    for name in (*NUMBERS, "total_loss"):
        said = [slip.said for slip in SLIPS[name]]
        assert len(set(said)) > 0.8 * len(said)  # some are read in two ways: with what is at the edge, and without
    assert set(SLIPS) <= set(ALL)


FILE = minibatch(advantages=replayed("verl").rows(range(12))["advantages_used"].astype(np.float32))


def planted(**logged: float) -> Verdict:
    """Verifies verl's file of everything with other logged numbers."""
    batch = FILE
    own = replayed("verl", batch).whole
    numbers = {name: own[name] for name in ("policy_loss", "value_loss", "entropy")} | logged
    return verify(replace(batch, logged=numbers), replayed("verl", batch).options, "verl")


def test_what_still_deviates_is_said_and_by_how_much() -> None:
    own = replayed("verl", FILE).whole
    verdict = planted(policy_loss=-own["policy_loss"], value_loss=1.2345678 * own["value_loss"])
    (cause,) = verdict.causes
    left = 0.2345678 * own["value_loss"]
    ((name, largest),) = cause.still
    assert name == "value_loss"
    assert largest == pytest.approx(left, rel=1e-4)
    assert f"It matches with the opposite sign; then this still deviates: value_loss (by {left:.2g})." in text_of(
        verdict
    )


def test_what_is_left_out_for_the_time_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("blueprint.verifying.search.TIMES", 0)
    monkeypatch.setattr("blueprint.verifying.search.FLOOR", 0)
    batch = with_everything_logged("trl_0.11.4")
    tensors = {name: each for name, each in batch.tensors.items() if name not in RESULTS}
    settings = replayed("trl_0.11.4", batch).options
    wrong = replace(batch, tensors=tensors, logged={"policy_loss": 0.12345678})
    search = verify(wrong, settings, "trl_0.11.4").search
    assert search is not None
    assert 0 < search.tried < search.known
    assert f"{search.tried:,} of {search.known:,} were tried" in text_of(verify(wrong, settings, "trl_0.11.4"))


@pytest.mark.parametrize("name", ["advantages", "returns", "rewards"])
def test_rows_in_another_order_are_recognised(name: str) -> None:
    batch = everything("trl_1.12")
    order = np.roll(np.arange(len(batch.slots)), 5)
    moved = replace(batch, tensors={**batch.tensors, name: batch.tensors[name][order]})
    verdict = verify(moved, rlhf().preset("trl_1.12").values, "trl_1.12", whole=True)
    assert verdict.first is not None
    assert verdict.first.compared.name == name
    assert verdict.causes[0].said == f"{name} of other rows: row 0 has what belongs to row {order[0]}"


def test_scores_of_other_responses_are_recognised() -> None:
    batch = everything("trl_1.12")
    order = np.random.default_rng(1).permutation(len(batch.slots))
    moved = replace(batch, tensors={**batch.tensors, "scores": batch.tensors["scores"][order]})
    verdict = verify(moved, rlhf().preset("trl_1.12").values, "trl_1.12", whole=True)
    assert [each.said for each in verdict.causes] == [
        f"scores of other rows: row 0 has what belongs to row {order.tolist().index(0)}"
    ]


def everything(library: str) -> Minibatch:
    """Returns a file of a library with every tensor that it makes, responses of two words and more."""
    mask = np.arange(40) < np.arange(2, 26, 2)[:, None]
    batch = minibatch(response_mask=mask)
    rows = replayed(library, batch).rows(range(len(mask)))
    return replace(
        batch,
        tensors={**batch.tensors, **{name: rows[row][:, :40].astype(np.float32) for name, row in RESULTS.items()}},
        logged={},
    )
