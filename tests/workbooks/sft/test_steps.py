"""Fine-tuning with steps: they make the demonstrations likelier, by what the gradient promises."""

import numpy as np
import pytest

from tests.rows import built_in


def test_steps_make_the_demonstrations_likelier() -> None:
    rows = built_in("sft", "update.epochs=6")
    assert np.all(np.diff(rows["epochs.total_loss"]) < 0)
    assert rows["epochs.total_loss"][-1] < rows["epochs.total_loss"][0] / 4
    assert rows["epochs.token_accuracy"][-1] == 1
    assert rows["epochs.perplexity"] == pytest.approx(np.exp(rows["epochs.nll"]), rel=1e-14)


def test_a_small_step_of_sgd_lowers_the_loss_by_the_squared_gradient() -> None:
    """The loss is curved: over such a step its slope changes by some 1e-5 of itself."""
    rate = 1e-6
    rows = built_in("sft", "update.by=sgd", "update.max_norm=off", f"update.lr={rate}")
    slope = (rows["epochs.total_loss"][0] - rows["epochs.total_loss"][1]) / rate
    assert abs(slope / rows["epochs.norm"][0] ** 2 - 1) < 1e-4
