"""A run of verl that pays one KL in the reward and another in the loss is verified, and a fault in either is named."""

from __future__ import annotations

from dataclasses import replace

import pytest

pytest.importorskip("torch", reason="the witness needs torch: install the extra [torch]")

from blueprint.dumps import Minibatch
from blueprint.verifying.logged import missing
from blueprint.verifying.settings import Setting, laid_over
from blueprint.workbooks.rlhf_ppo.verifying.replay import replay
from blueprint.workbooks.rlhf_ppo.verifying.verify import verify
from tests.verifying.dumps import FIRST, dump, settings

BOTH: dict[str, Setting] = settings(FIRST["verl"]) | {"reward.kl_in": "both"}
LOGGED = ("kl.statistic", "policy_loss", "kl_loss", "total_loss")


def run_with(**changes: Setting) -> Minibatch:
    """Returns what such a run logs, with conventions changed, `loss_kl_coef` for `loss.kl_coef`."""
    named = {key.replace("_kl", ".kl", 1) if key.startswith("loss_") else key: each for key, each in changes.items()}
    batch = dump(FIRST["verl"])
    inputs = {name: each for name, each in batch.tensors.items() if name not in ("rewards", "advantages", "returns")}
    found = replay(replace(batch, tensors=inputs), laid_over(BOTH, named))
    rewards = found.rows(range(len(batch.slots)))["rewards"][:, : batch.mask.shape[1]]
    logged = {name: found.whole[name] for name in LOGGED}
    return replace(batch, tensors=inputs | {"rewards": rewards}, logged=logged)


def test_two_kls_at_once_are_verified() -> None:
    verdict = verify(run_with(), BOTH, "verl")
    assert verdict.agrees
    assert {line.called for line in verdict.lines} >= {"rewards", *LOGGED}
    one = verify(run_with(), BOTH | {"loss.kl_estimator": "k1"}, "verl")
    assert {line.called for line in one.lines if line.says != "agrees"} >= {"kl_loss", "total_loss"}
    assert "rewards" not in {line.called for line in one.lines if line.says != "agrees"}


@pytest.mark.parametrize(
    ("change", "first", "cause"),
    [
        ({"kl_estimator": "k2"}, "rewards", "kl_estimator = k2"),
        ({"kl_coef": 0.3}, "rewards", "kl_coef = 0.3 (fitted"),
        ({"loss_kl_estimator": "k1"}, "kl_loss", "loss.kl_estimator = k1"),
        ({"loss_kl_coef": 0.3}, "total_loss", "loss.kl_coef = 0.3 (fitted"),
    ],
)
def test_a_fault_in_one_of_them_is_named(change: dict[str, Setting], first: str, cause: str) -> None:
    verdict = verify(run_with(**change), BOTH, "verl")
    assert next(line.called for line in verdict.lines if line.says != "agrees") == first
    assert [each.said for each in verdict.causes if each.said.startswith(cause)]


def test_each_needs_the_reference_where_it_is_paid() -> None:
    held = {"scores", "logprobs_old", "logprobs_new", "values_old", "values_new", "entropy", "response_mask"}
    for word, lacking in (("reward", {"rewards"}), ("loss", set()), ("both", {"rewards"}), ("none", set())):
        found = missing(held, BOTH | {"reward.kl_in": word})
        assert ("rewards" in found) == bool(lacking)
        rest = missing({*held, "rewards"}, BOTH | {"reward.kl_in": word})
        assert ("total_loss" in rest) == (word in ("loss", "both"))
