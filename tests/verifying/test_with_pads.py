"""PPO as libraries spell it that carry pads along: it comes to the same, and mistakes that let pads count are named."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch", reason="verify needs torch: install the extra [torch]")

from blueprint.verifying import Changes, of_equations, of_what_is_read
from blueprint.workbooks.common.conventions import rlhf
from blueprint.workbooks.rlhf_ppo.verifying import with_pads
from blueprint.workbooks.rlhf_ppo.verifying.feeding import Memory, fed
from tests.verifying.dumps import SLOTS, changed, made
from tests.verifying.mutants import PPO, mutant, placed, verified

USE = {**rlhf().preset("trl_1.12").values, "gamma": 0.9, "kl_coef": 0.1, "vf_coef": 0.3}
NUMBERS = (
    "policy_loss",
    "value_loss",
    "total_loss",
    "ratio.mean",
    "approx_kl.used",
    "clip_fraction.used",
    "clip_fraction.value",
)
ROWS = {
    "rewards.raw": "kept",
    "rewards": "kept",
    "advantages": "response",
    "advantages_used": "response",
    "returns": "kept",
}
"""By row where it means something."""


@pytest.mark.parametrize("size", [1e-30, 1.0, 1e6])
@pytest.mark.parametrize("change", [{}, {"kl_estimator": "k3"}, {"reward.whiten": "on"}, {"whiten_advantages": "off"}])
def test_it_comes_to_the_same_where_pads_are_carried_along(change: dict[str, str], size: float) -> None:
    batch = replace(made(7), slots=np.full(7, SLOTS))
    batch = changed(batch, **{name: size * batch.tensors[name] for name in ("values_old", "values_new", "scores")})
    plain = fed(batch, {**USE, **change})
    padded = with_pads.laid_out(batch, plain)
    ours, theirs = (each.values((*ROWS, *NUMBERS)) for each in (padded, plain))
    there = plain.values(("kept", "response"))
    for name in (*ROWS, *NUMBERS):
        where = there[ROWS[name]] > 0 if name in ROWS else ...
        largest = float(np.abs(theirs[name]).max())
        np.testing.assert_allclose(ours[name][where], theirs[name][where], 1e-6, 1e-9 * largest, err_msg=name)


def _change(label: str, wanted: str, known: tuple[str, ...]) -> Changes:
    stages = [
        [*of_equations(with_pads.EQUATIONS, USE, wanted, known)],
        *of_what_is_read(with_pads.EQUATIONS, USE, wanted, known, everywhere=True),
    ]
    return next(each.ways["equations"] for stage in stages for each in stage if each.label == label)


def test_a_mask_that_lets_pads_count_takes_what_stands_there() -> None:
    """Of a response of 4 tokens in 9 columns the value loss counts 5, and with 1 added to the mask all of them, these 5 twice."""
    batch = replace(made(7), slots=np.full(7, SLOTS))
    batch = changed(batch, values_new=np.where(batch.mask, 0.0, 1e3))
    there = with_pads.laid_out(batch, fed(batch, USE)).with_rows({"returns": np.zeros(batch.mask.shape)}, ("returns",))
    label = "another equation of value.mean (mean of value.larger): 1 is added to value.mean.mask[n, t]: "
    stage = [
        each
        for each in of_equations(with_pads.EQUATIONS, USE, "value_loss", ("returns",))
        if each.label.startswith(label)
    ]
    found = [there.changed(("value_loss",), each.ways["equations"], Memory())["value_loss"] for each in stage]
    larger, mask = (there.values((name,))[name] for name in ("value.larger", "value.mean.mask"))
    above, below = [(larger * m).sum() for m in (mask, mask + 1)], [m.sum() for m in (mask, mask + 1)]
    for expected in (above[1] / below[0], above[0] / below[1]):
        assert any(float(each) == pytest.approx(float(USE["value.factor"]) * expected) for each in found)


def test_one_function_is_changed_in_all_that_it_makes() -> None:
    """Both masks of the row before, while the score lands where it did."""
    label = "another equation of pads.mask, pads.mask_p1, alike in all: pads.last[n] of the episode before is read"
    change = _change(label, "advantages_used", ("rewards",))
    batch = replace(made(7), slots=np.full(7, SLOTS))
    found = with_pads.laid_out(batch, fed(batch, USE)).changed(("pads.mask", "values.kept"), change, Memory())
    np.testing.assert_array_equal(found["pads.mask"].sum(1), np.roll(batch.mask.sum(1), 1))
    np.testing.assert_array_equal(
        (found["values.kept"] != 0).sum(1), np.minimum(np.roll(batch.mask.sum(1), 1) + 1, SLOTS)
    )


@pytest.mark.parametrize(
    ("run", "mistake", "cause"),
    [
        ("plain", "t['vpred'] * mask_p1 -> t['vpred'] + mask_p1", "critic.values[n, t] + loss.pads.mask_p1[n, t] stands"),
        ("k3", "line 120: logprobs -> np.roll(logprobs, 1, 1)", "old.logprobs.masked[n, t] of the position before is read"),
        ("plain", "line 32: mask -> np.roll(mask, 1, 1)", "another equation of advantage.mean, as libraries spell it"),
    ],
)  # fmt: skip
def test_a_mistake_that_lets_pads_count_is_named(run: str, mistake: str, cause: str) -> None:
    at = next(at for at, said in enumerate(placed(PPO)) if said.endswith(mistake))
    found = verified(PPO.files(run), mutant(PPO, at)[0])
    assert cause in found.causes[0].said
    assert found.causes[0].rest
