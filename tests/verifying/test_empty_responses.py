"""Responses that begin with their end token, where pad = eos: their mask is 0 throughout, and TRL computes with them all the same.

The run is written in numpy from the source of TRL 1.12.0, trl/experimental/ppo/ppo_trainer.py, `PPOTrainer.train()`: there
`sequence_lengths` is −1, the score lands on slot 0, whose value is kept, and the row adds to the value loss.
"""

from pathlib import Path

import numpy as np
import pytest

from blueprint.dumps import Array, Minibatch, read_minibatch, save
from blueprint.verifying import choose
from blueprint.workbooks.rlhf_ppo.verifying.verify import verify

ROWS, SLOTS, EOS = 6, 7, 0
ENDS = np.array([0, 3, 7, 0, 1, 5])
"""In which slot of each response its first end token stands; 7: in none."""
GAMMA, LAM, KL, CLIP, VF = 0.97, 0.9, 0.05, 0.2, 0.1


def mean(values: Array, where: Array) -> float:
    """Returns the mean over a mask."""
    return float((values * where).sum() / where.sum())


def whitened(values: Array, where: Array, shift: bool = True) -> Array:
    """Returns values less their mean, over their deviation; the mean stays where it is not shifted."""
    centre = mean(values, where)
    n = where.sum()
    variance = mean((values - centre) ** 2, where) * n / (n - 1)
    found = (values - centre) / np.sqrt(variance + 1e-8)
    return np.asarray(found if shift else found + centre)


def run(whiten_rewards: bool) -> tuple[dict[str, Array], dict[str, float]]:
    """Returns the tensors of a step and its logged numbers."""
    rng = np.random.default_rng(5)
    slot = np.arange(SLOTS)[None, :]
    last = ENDS[:, None] - 1
    words, kept = slot <= last, slot <= last + 1
    ids = np.where(slot < ENDS[:, None], rng.integers(1, 9, (ROWS, SLOTS)), EOS)
    old, ref, new = (np.where(words, -rng.exponential(size=(ROWS, SLOTS)), 1.0) for _ in range(3))
    before, after = (np.where(kept, rng.normal(size=(ROWS, SLOTS)), 0.0) for _ in range(2))
    scores = rng.normal(size=ROWS)
    rewards = -KL * (old - ref)
    rewards[np.arange(ROWS), np.where(ENDS < SLOTS, ENDS, ENDS - 1)] += scores
    if whiten_rewards:
        rewards = np.where(kept, whitened(rewards, kept, shift=False), 0.0)
    advantages, ahead = np.zeros((ROWS, SLOTS)), np.zeros(ROWS)
    for t in reversed(range(SLOTS)):
        following = before[:, t + 1] if t + 1 < SLOTS else 0.0
        ahead = rewards[:, t] + GAMMA * following - before[:, t] + GAMMA * LAM * ahead
        advantages[:, t] = ahead
    returns = advantages + before
    advantages = np.where(words, whitened(advantages, words), 0.0)
    ratio = np.exp(new - old)
    held = np.clip(after, before - CLIP, before + CLIP)
    loss_of_value = 0.5 * mean(np.maximum((after - returns) ** 2, (held - returns) ** 2), kept)
    loss = mean(np.maximum(-advantages * ratio, -advantages * np.clip(ratio, 1 - CLIP, 1 + CLIP)), words)
    tensors = {"responses": ids, "padding_mask": ~words, "logprobs": old, "ref_logprobs": ref, "new_logprobs": new,
               "values": before, "vpred": after, "scores": scores, "rewards": rewards, "advantages": advantages,
               "returns": returns}  # fmt: skip
    logged = {"pg_loss": loss, "vf_loss": loss_of_value, "loss": loss + VF * loss_of_value, "val/ratio": ratio.mean(),
              "approxkl": float(0.5 * ((new - old) ** 2).mean())}  # fmt: skip
    return tensors, logged


def written(folder: Path, tensors: dict[str, Array], logged: dict[str, float], whiten_rewards: bool) -> Minibatch:
    """Returns the file of a step as it is read."""
    said = {"gamma": GAMMA, "lam": LAM, "kl_coef": KL, "cliprange": CLIP, "cliprange_value": CLIP, "vf_coef": VF,
            "whiten_rewards": whiten_rewards}  # fmt: skip
    path = folder / "step.safetensors"
    save(path, tensors, {"library": "trl", "version": "1.12.0", "hyperparameters": said, "logged": logged})
    return read_minibatch(path)


@pytest.mark.parametrize("whiten_rewards", [False, True])
def test_a_step_with_empty_responses_is_computed_as_trl_computes_it(tmp_path: Path, whiten_rewards: bool) -> None:
    batch = written(tmp_path, *run(whiten_rewards), whiten_rewards)
    assert (batch.mask.any(axis=1) == (ENDS > 0)).all()
    verdict = verify(batch, choose(batch).values, "trl_1.12")
    assert {line.compared.name: line.says for line in verdict.lines} == dict.fromkeys(
        ("rewards", "advantages", "returns", "ratio.mean", "approx_kl.used", "policy_loss", "value_loss", "total_loss"),
        "agrees",
    )
    assert (
        "2 of 6 responses are empty, row 0, 3: only what the preset keeps behind the last token counts of them"
        in batch.notes
    )


def test_the_score_of_an_empty_response_is_looked_for_in_its_first_slot(tmp_path: Path) -> None:
    tensors, logged = run(False)
    tensors["rewards"][3, :2] = tensors["rewards"][3, 1::-1]
    batch = written(tmp_path, tensors, logged, False)
    first = verify(batch, choose(batch).values, "trl_1.12", explain=False).first
    assert first is not None
    assert first.compared.name == "rewards"
    assert first.compared.spot is not None
    assert (first.compared.spot.row, first.compared.spot.first) == (3, 0)


def test_the_value_of_an_empty_response_counts_in_the_value_loss(tmp_path: Path) -> None:
    tensors, logged = run(False)
    tensors["vpred"][0, 0] += 3
    batch = written(tmp_path, tensors, logged, False)
    first = verify(batch, choose(batch).values, "trl_1.12").first
    assert first is not None
    assert first.compared.name == "value_loss"
