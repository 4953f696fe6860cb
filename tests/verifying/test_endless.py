"""Numbers beyond the largest one: verify agrees where a library logged the same infinity, and names where it began."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch", reason="verify needs torch: install the extra [torch]")

from blueprint.dumps import Minibatch
from blueprint.verifying.verdict import Verdict
from blueprint.workbooks.common.conventions import rlhf
from blueprint.workbooks.rlhf_ppo.verifying.judge import Judge
from blueprint.workbooks.rlhf_ppo.verifying.replay import replay
from blueprint.workbooks.rlhf_ppo.verifying.verify import verify

PRESET = "nemo_rl"
NEW = np.array([[-0.3, -0.5, -0.2], [-1.0, -0.4, -0.7]])
OLD = np.array([[-0.4, -0.6, -760.0], [-0.9, -0.5, -0.6]])


def minibatch(advantage: float, **logged: float) -> Minibatch:
    """Returns two responses, of which one word has a log-ratio of 759.8 and the given advantage."""
    advantages = np.array([[0.5, -0.5, advantage], [1.0, -1.5, 0.5]])
    tensors = {
        "logprobs_old": OLD,
        "logprobs_new": NEW,
        "advantages": advantages,
        "response_mask": np.ones((2, 3), bool),
    }
    return Minibatch(
        path="dump.npz",
        tensors=tensors,
        slots=np.full(2, 3),
        first=np.full(2, 4),
        dtypes={},
        called={name: name for name in tensors},
        preset=PRESET,
        logged=logged,
    )


def loss(advantage: float) -> float:
    """Returns the mean over words of the clipped loss, as numpy has it: infinity where a word's loss is."""
    advantages = minibatch(advantage).tensors["advantages"]
    with np.errstate(over="ignore"):
        ratio = np.exp(NEW - OLD)
    return float(np.maximum(-advantages * ratio, -advantages * np.clip(ratio, 0.8, 1.2)).sum() / (6 + 1e-8))


def verified(batch: Minibatch) -> Verdict:
    """Verifies under the library's conventions."""
    return verify(batch, rlhf().preset(PRESET).values)


@pytest.mark.parametrize("advantage", [-1.0, 1.0])
def test_what_the_library_logged_agrees_and_the_first_infinity_is_named(advantage: float) -> None:
    """With A < 0 the loss is infinite, with A > 0 the clip bounds it; the ratio is infinite in both."""
    assert np.isinf(loss(advantage)) == (advantage < 0)
    found = verified(minibatch(advantage, policy_loss=loss(advantage)))
    assert [line.says for line in found.lines] == ["agrees"]
    (note,) = [each for each in found.notes if "beyond the largest number" in each]
    assert note.startswith("ratio is inf in row 0, column 6, of a log-ratio of 759.8: ")


@pytest.mark.parametrize(("advantage", "logged"), [(-1.0, 0.25), (-1.0, np.nan), (1.0, np.inf), (-1.0, -np.inf)])
def test_another_number_than_the_infinite_one_differs(advantage: float, logged: float) -> None:
    batch = minibatch(advantage, policy_loss=logged)
    (found,) = Judge(batch, replay(batch, rlhf().preset(PRESET).values)).compared().values()
    assert not found.agrees


def test_ordinary_numbers_have_no_such_note() -> None:
    batch = minibatch(1.0)
    calm = replace(batch, tensors={**batch.tensors, "logprobs_old": np.maximum(OLD, -2.0)})
    assert not [each for each in verified(calm).notes if "beyond" in each]
