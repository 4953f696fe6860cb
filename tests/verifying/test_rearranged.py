"""Bugs that are no change of one part of one equation are named: another order, one sum of four, another mask, the pair before."""

from __future__ import annotations

from pathlib import Path

import pytest

pytest.importorskip("torch", reason="verify needs torch: install the extra [torch]")

from blueprint.verifying import of_what_is_read, verify_step
from blueprint.workbooks.reward_model.schema import rm_presets
from blueprint.workbooks.reward_model.verifying.recompute import EQUATIONS
from tests.hooks.test_planted import dumped, whole
from tests.verifying.by_hand import OF_DPO, OF_REWARDS
from tests.verifying.mutants import varied

BUGS = {bug.said: bug for bug in (*OF_DPO, *OF_REWARDS)}


@pytest.mark.parametrize(
    ("bug", "named"),
    [
        ("the margin is added behind log σ", "m_on[p] comes in behind argument.right, not before it, in argument"),
        ("centring is of squares, not of the square of the sum", "each part of center.sum is squared, not the whole"),
        ("centring is the square of the mean", "center.sum (sum of both scores), wherever it is read: the mean of all is taken"),
        ("the difference is held between −1 and 1", "it is held between −1 and 1"),
        ("the NLL is of rejected responses", "rejected responses count, not chosen ones"),
        ("the prompt is counted in one of the four sums", "text.tokens is read, not response.tokens, on the chosen side alone"),
        ("pads count in the reference's sums", "response.tokens[n, t] is 1 wherever text.tokens[n, t] is 0, too"),
        ("the reference's log-probs are those of the pair before", "reference.logprobs[n, t] of the pair before is read"),
        ("the mask is not shifted with the labels", "the mask one token late, as where it is not shifted as the labels are"),
    ],
)  # fmt: skip
def test_a_bug_that_somebody_wrote_is_named(bug: str, named: str, tmp_path: Path) -> None:
    files = varied(whole(BUGS[bug].run), 7)
    found = verify_step(dumped(files, BUGS[bug].trainer, tmp_path))
    assert named in found.causes[0].said
    assert found.causes[0].rest


def test_no_change_of_order_is_said_twice() -> None:
    settings = {**rm_presets().preset("default").values, "center": 0.1, "loss.margin": "typed"}
    labels = [each.label for stage in of_what_is_read(EQUATIONS, settings, "total_loss", ("score",)) for each in stage]
    assert len(labels) == len({*labels}) > 50
