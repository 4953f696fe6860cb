"""Steps of verl in several files: whitened over all ranks, losses that are shares of a minibatch, and what went wrong."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="verify needs torch: install the extra [torch]")

from blueprint.dumps import MinibatchError, Share, read_minibatch
from blueprint.verifying import StepVerdict, VerifyOptions, verify_step
from blueprint.verifying.compare import DIFFERS, NEEDS_OTHERS
from blueprint.workbooks.rlhf_ppo.verifying.parts import Scope, share_among
from tests.steps.verl import Args, write

THREE: dict[str, Any] = {"microbatch_sizes": (3, 1, 2)}
LOSSES = ("policy_loss", "value_loss", "entropy")


def says(found: StepVerdict) -> dict[str, str]:
    """Returns what is said of each quantity of a step."""
    return {each.name: each.line.says for each in found.lines}


CLEAN: dict[str, dict[str, Any]] = {
    "denominators in the metadata": {},
    "denominators from the files": {"says_share": False, "ppo_epochs": 2},
    "3 ranks, means over responses": {"ranks": 3, "loss_agg_mode": "seq-mean-token-mean", "says_share": False},
    "one rank, sums over responses": {"ranks": 1, "loss_agg_mode": "seq-mean-token-sum", **THREE},
}


@pytest.mark.parametrize("name", CLEAN)
def test_a_clean_step_is_not_accused(tmp_path: Path, name: str) -> None:
    found = verify_step(write(tmp_path, Args(**CLEAN[name])))
    assert found.agrees, (found.first, found.causes)
    assert set(says(found).values()) <= {"agrees", "too coarse"}
    assert {says(found)[each] for each in ("advantages", "returns", *LOSSES)} == {"agrees"}


PLANTED = {
    "gamma forgotten": ("advantages", "gamma = 1 instead of 0.98"),
    "whitened per rank": (
        "advantages",
        "whitening over each rank's rows of the rollout, instead of over all ranks' rows",
    ),
    "mean of the microbatch": ("policy_loss", "the mean over the tokens of each microbatch, not its share"),
    "dp_size forgotten": ("policy_loss", "everything divided by 2, the ranks"),
}


@pytest.mark.parametrize("bug", PLANTED)
def test_one_cause_is_named_for_the_step(tmp_path: Path, bug: str) -> None:
    found = verify_step(write(tmp_path, Args(bug=bug, **THREE)))
    quantity, cause = PLANTED[bug]
    assert found.first is not None
    assert found.first.name == quantity
    assert [each.said.startswith(cause) for each in found.causes] == [True], found.causes
    assert found.causes[0].rest
    assert [name for name, each in says(found).items() if each == DIFFERS] == [quantity]


def test_one_file_leaves_open_what_its_losses_are_shares_of(tmp_path: Path) -> None:
    (path,) = write(tmp_path, Args(says_share=False))[1:2]
    found = verify_step([path])
    assert found.agrees
    assert {says(found)[each] for each in ("advantages", *LOSSES)} == {NEEDS_OTHERS}
    assert says(found)["returns"] == says(found)["approx_kl.used"] == "agrees"
    assert found.lacking == (
        "microbatch 0 of 2 in minibatch 0 of rank 0",
        "minibatch 1 of 2 of rank 0",
        "rank 1 of 2",
    )


def test_losses_of_one_file_must_be_the_same_share(tmp_path: Path) -> None:
    """A value loss that was divided by the microbatch's words, beside a policy loss that was divided by the minibatch's."""
    batch = read_minibatch(write(tmp_path, Args(says_share=False))[1])
    whole = read_minibatch(write(tmp_path, Args(says_share=False, bug="mean of the microbatch"))[1])
    assert whole.logged["value_loss"] > 1.5 * batch.logged["value_loss"]
    (mixed,) = write(
        tmp_path,
        Args(says_share=False, said={"logged": dict(batch.logged) | {"value_loss": whole.logged["value_loss"] * 2}}),
    )[1:2]
    found = verify_step([mixed], VerifyOptions(causes=False))
    assert DIFFERS in {says(found)[each] for each in LOSSES}


def test_openrlhf_divides_by_the_words_of_a_microbatch_in_the_mean(tmp_path: Path) -> None:
    """utils/loss_utils.py, _optimizer_step_loss_norm: tokens / gas, of all ranks; and responses that have a word."""
    batches = [read_minibatch(path) for path in write(tmp_path, Args(minibatches=1, **THREE))]
    words = sum(int(each.mask.sum()) for each in batches)
    assert share_among(batches, Scope("batch", shares=True, per_microbatch=True)) == Share(words / 3, 12 / 3, 2.0)
    assert share_among(batches, Scope("batch", shares=True)) == Share(words, 12.0, 2.0)


def test_files_that_count_their_ranks_differently_are_refused(tmp_path: Path) -> None:
    (one,) = write(tmp_path, Args())[:1]
    (tmp_path / "other").mkdir()
    (other,) = write(tmp_path / "other", Args(ranks=3))[-1:]
    with pytest.raises(
        MinibatchError, match=r"says world_size 2 and .* world_size 3: give the files of one step of one run\."
    ):
        verify_step([one, other])
