"""Workbooks of minibatches that are not as one wishes: holes, missing parts, padding that counts, one word alone."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch", reason="the witness needs torch: install the extra [torch]")

from blueprint.dumps import Minibatch, MinibatchError
from blueprint.workbooks.common.conventions import rlhf
from blueprint.workbooks.rlhf_ppo.verifying import STAND_IN
from blueprint.workbooks.rlhf_ppo.verifying.judge import cut
from blueprint.workbooks.rlhf_ppo.verifying.window import chosen_window, deviating_window, worst_window
from tests.replayed import (
    FIRST,
    RESPONSES,
    SLOTS,
    agreed,
    minibatch,
    part_of,
    replayed,
    values_of,
    with_everything_logged,
)

PRESETS = tuple(rlhf().presets)


@pytest.mark.parametrize("preset", PRESETS)
def test_the_kl_may_be_paid_in_the_loss(preset: str) -> None:
    found = replayed(preset, reward_kl_in="loss", kl_coef=0.1)
    made = agreed(found, worst_window(found, 2, "kl", 16), preset)
    assert {"kl_loss", "share", "total_loss"} <= made.distances.keys()
    assert made.apart == []


@pytest.mark.parametrize("preset", ["openai", "trl_0.11.4", "trlx", "default"])
@pytest.mark.parametrize("lacking", [("values_new",), ("entropy",), ("values_old", "values_new"), ("values_old",)])
def test_a_part_of_a_joint_loss_may_be_missing(preset: str, lacking: tuple[str, ...]) -> None:
    found = replayed(preset, minibatch(*lacking), ent_coef=0.01)
    window = worst_window(found, 2, "ratio", 16)
    assert agreed(found, window, preset).apart == []
    notes = part_of(found, window, preset).notes
    assert all(any(f"The dump has no {name}" in note for note in notes) for name in lacking if name in STAND_IN)


def with_holes() -> Minibatch:
    """Returns a minibatch with holes in its masks, responses of different numbers of slots, and two rows left out."""
    whole, rng = minibatch("advantages"), np.random.default_rng(11)
    mask = whole.mask & (rng.random(whole.mask.shape) > 0.3)
    mask[:, 0] = True
    slots = np.minimum(SLOTS, mask.cumsum(axis=1).argmax(axis=1) + 1 + rng.integers(0, 4, RESPONSES))
    rows = np.array([row for row in range(RESPONSES + 2) if row not in (3, 6)])
    return replace(whole, tensors=dict(whole.tensors) | {"response_mask": mask}, slots=slots, rows=rows, logged={})


@pytest.mark.parametrize("preset", PRESETS)
def test_masks_with_holes_short_slots_and_rows_left_out(preset: str) -> None:
    found = replayed(preset, with_holes())
    for window in (worst_window(found, 4, "advantage", 16), chosen_window(found, [0, 7, 13], "ratio", 24)):
        assert agreed(found, window, preset).apart == []
    assert part_of(found, window, preset).typed["episode.number"].tolist() == [0, 7, 13]
    with pytest.raises(MinibatchError, match="has no row 3, or leaves it out"):
        chosen_window(found, [3], "ratio", 16)


@pytest.mark.parametrize("preset", PRESETS)
def test_a_response_without_a_word_is_shown_from_its_first_slot_on(preset: str) -> None:
    whole = minibatch("advantages")
    mask = whole.mask.copy()
    mask[[1, 4]] = False
    found = replayed(preset, replace(whole, tensors=dict(whole.tensors) | {"response_mask": mask}, logged={}))
    window = chosen_window(found, [4, 0], "ratio", 16)
    assert agreed(found, window, preset).apart == []
    assert window.first[0] == 0


@pytest.mark.parametrize("episode", range(RESPONSES))
def test_a_window_has_a_word_of_the_response_where_padding_counts(episode: int) -> None:
    found = replayed("openai", minibatch("advantages"))
    for window in (
        chosen_window(found, [episode], "advantage", 16),
        deviating_window(found, episode, FIRST + 39, "kl", 16),
    ):
        assert agreed(found, window, "openai").apart == []
        assert part_of(found, window, "openai").typed["mask"][0].sum() >= 1


def test_one_word_alone_is_whitened_by_its_eps() -> None:
    """The deviation is 1e-4 there, and rounding grows by as much."""
    one = cut(minibatch("advantages"), slice(1, 2))
    first = {name: each[:, :1] if each.ndim == 2 else each for name, each in one.tensors.items()}
    found = replayed("verl", replace(one, tensors=first, slots=np.array([1]), logged={}))
    assert found.whole["advantage.divisor"] == pytest.approx(1e-4)
    assert agreed(found, worst_window(found, 1, "ratio", 16), "verl").apart == []


def test_a_logprob_that_rounding_lifts_above_0_is_allowed() -> None:
    whole = minibatch("advantages")
    old = whole.tensors["logprobs_old"].copy()
    old[0, 5] = 1e-6
    found = replayed("verl", replace(whole, tensors=dict(whole.tensors) | {"logprobs_old": old}))
    values = values_of(part_of(found, chosen_window(found, [0], "ratio", 16), "verl"))
    assert (
        values["check.log_old_policy.worst"]
        <= values["check.log_old_policy.tolerance"]
        == pytest.approx(1.9e-6, rel=0.01)
    )
    assert values["check.master"] == "OK"


def test_a_score_that_lands_behind_the_last_word_is_compared_too() -> None:
    whole = with_everything_logged("trl_1.12")
    scores = whole.tensors["scores"].copy()
    short = int(np.argmin(whole.mask.sum(axis=1)))
    past = int(whole.mask[short].sum())
    assert scores[short, past] != 0
    scores[short, past] += 1
    wrong = replace(whole, tensors=dict(whole.tensors) | {"scores": scores})
    found = replayed("trl_1.12", replace(wrong, tensors=dict(wrong.tensors) | {"rewards": whole.tensors["rewards"]}))
    values = values_of(part_of(found, chosen_window(found, [short], "ratio", 16), "trl_1.12"))
    assert values["off.rewards"][0, past] == pytest.approx(1, abs=1e-6)
    assert values["mask"][0, past] == 0
