"""What verify says where numbers are nearly right, not what the preset calls them, or too coarse to tell."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch", reason="the witness needs torch: install the extra [torch]")

from blueprint.dumps import Array, Minibatch
from blueprint.verifying import Verdict, data_of, text_of
from blueprint.verifying.rounding import TOLERANCES, held_in
from blueprint.workbooks.common.conventions import rlhf
from blueprint.workbooks.rlhf_ppo.verifying.replay import replay
from blueprint.workbooks.rlhf_ppo.verifying.verify import verify
from tests.replayed import FIRST, RESPONSES, SLOTS, minibatch, replayed, with_everything_logged
from tests.verifying.dumps import as_dtype

BARE = replace(minibatch("advantages"), logged={})


def under(preset: str, batch: Minibatch, **options: float | str) -> Verdict:
    """Verifies under a preset and changes of it, `reward_kl_in` for `reward.kl_in`."""
    return verify(batch, replayed(preset, batch, **options).options, preset)


def with_tensors(batch: Minibatch, tensors: Mapping[str, Array], dtype: str = "float32") -> Minibatch:
    """Returns a dump of one dtype with other tensors."""
    found = {**batch.tensors, **tensors}
    floats = {name: as_dtype(each, dtype) for name, each in found.items() if each.dtype.kind == "f"}
    return replace(batch, tensors={**found, **floats}, dtypes=dict.fromkeys(floats, dtype))


def results(preset: str, batch: Minibatch, **options: float | str) -> dict[str, Array]:
    """Returns what a library that computes in float32 would have logged of rows."""
    rows = replayed(preset, batch, **options).rows(range(RESPONSES))
    names = {"rewards": "rewards", "advantages": "advantages_used", "returns": "returns"}
    return {name: rows[row][:, :SLOTS].astype(np.float32) for name, row in names.items()}


def test_whole_scores_do_not_make_a_file_coarse() -> None:
    """A score of 0 … 20 is exact in bfloat16; the log-probs of the file are float32 numbers."""
    batch = with_tensors(BARE, {"scores": np.arange(float(RESPONSES))})
    many = with_tensors(batch, {"scores": np.arange(float(RESPONSES * SLOTS)).reshape(RESPONSES, SLOTS) % 21})
    assert set(held_in(batch).values()) == set(held_in(many).values()) == {"float32"}
    no_kl = with_tensors(batch, {"rewards": results("trl_0.11.4", batch, reward_kl_in="none")["rewards"]})
    verdict = under("trl_0.11.4", no_kl)
    assert verdict.first is not None
    found = verdict.first.compared
    assert found.name == "rewards"
    largest = float(verdict.replayed.largest("rewards"))
    assert found.allowed == pytest.approx(TOLERANCES["float32"] * (1 + largest))
    assert any("reward.kl_in = none" in each.said for each in verdict.causes)


def test_whole_numbers_and_scores_of_float64_tell_nothing_of_their_dtype() -> None:
    """As from jsonl: values that are whole numbers, and scores in quarters, of which there are many; what else the file holds
    tells what they are.
    """
    cells = RESPONSES * SLOTS
    counted = np.arange(float(cells)).reshape(RESPONSES, SLOTS)
    round_ones = {"values_old": counted % 200, "scores": counted / 4 % 100}
    of_float32 = held_in(with_tensors(BARE, round_ones, "float64"))
    finer = {
        name: each.astype(np.float64) * (1 + 1e-9) for name, each in BARE.tensors.items() if each.dtype.kind == "f"
    }
    of_float64 = held_in(with_tensors(BARE, finer | round_ones, "float64"))
    assert set(of_float32.values()) == {"float32"}
    assert set(of_float64.values()) == {"float64"}


@pytest.mark.parametrize(
    ("preset", "name", "row"), [("verl", "advantages", "advantages"), ("openai", "rewards", "rewards.raw")]
)
def test_one_wrong_word_of_a_tensor_logged_before_whitening_is_placed(preset: str, name: str, row: str) -> None:
    batch = replace(with_everything_logged(preset), logged={})
    rows = results(preset, batch)
    raw = replayed(preset, batch).rows(range(RESPONSES))[row][:, :SLOTS].astype(np.float32)
    right = with_tensors(batch, {**rows, name: raw})
    assert under(preset, right).agrees
    at = int(np.nonzero(batch.mask.sum(axis=1) > 3)[0][2])
    damaged = raw.copy()
    damaged[at, 3] += 0.3
    verdict = under(preset, with_tensors(right, {name: damaged}))
    assert verdict.first is not None
    found = verdict.first.compared
    assert (found.name, found.means, found.deviating) == (name, "before whitening", 1)
    assert found.spot is not None
    assert (found.spot.row, found.spot.first, found.spot.last) == (at, FIRST + 3, FIRST + 3)
    assert found.spot.logged - found.spot.recomputed == pytest.approx(0.3, abs=1e-5)
    assert [line.called for line in verdict.lines if line.says == "DIFFERS"] == [name]
    assert verdict.causes == ()
    text = text_of(verdict)
    assert f"{name} (before whitening)" in text
    assert "In that row 1 of its tokens deviates, in all 1 of" in text


def test_raw_advantages_stay_what_they_are_where_something_else_is_wrong() -> None:
    batch = with_everything_logged("verl")
    losses = {name: replayed("verl", batch).whole[name] for name in ("policy_loss", "value_loss")}
    wrong = replace(batch, logged=losses | {"value_loss": losses["value_loss"] + 0.1})
    verdict = under("verl", wrong)
    assert verdict.first is not None
    assert verdict.first.compared.name == "value_loss"
    assert {line.called: line.says for line in verdict.lines}["advantages"] == "agrees"


@pytest.fixture(scope="module", name="nearly")
def _nearly() -> tuple[Minibatch, Verdict]:
    """A KL penalty left out of every reward, each by less than its tolerance: their sums deviate by more."""
    rng = np.random.default_rng(0)
    old = np.where(BARE.mask, BARE.tensors["logprobs_old"], -1.0)
    reference = np.minimum(old + rng.normal(0, 0.02, old.shape), -1e-3)
    inputs = with_tensors(BARE, {"logprobs_ref": reference, "scores": np.full(RESPONSES, 5.0)})
    batch = with_tensors(inputs, results("verl", inputs, reward_kl_in="none"))
    return batch, under("verl", batch, reward_kl_in="reward", kl_coef=0.001)


def test_what_follows_from_a_fault_within_the_tolerance_is_no_fault_of_its_own(
    nearly: tuple[Minibatch, Verdict],
) -> None:
    _, verdict = nearly
    rewards, advantages, returns = verdict.lines
    assert rewards.says == "agrees"
    assert (advantages.says, returns.says) == ("follows", "follows")
    assert not verdict.agrees
    assert verdict.first == advantages
    assert verdict.causes == ()
    share = rewards.compared.largest / rewards.compared.allowed
    assert 0 < share < 1
    assert advantages.within == {"rewards": share}
    told = f"advantages follows from differences within the tolerance of: rewards ({100 * share:.0f} % of it)."
    text = text_of(verdict)
    assert told in text
    assert "It matches with" not in text
    assert "This only follows from it" not in text
    assert data_of(verdict)["first"]["within"] == {"rewards": share}


@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_a_number_that_may_as_well_be_0_is_too_coarse_to_agree(dtype: str) -> None:
    """A small policy loss of the opposite sign: float32 sees it, bfloat16 cannot."""
    old = np.where(BARE.mask, BARE.tensors["logprobs_old"], -1.0)
    new = old * (1 + np.random.default_rng(0).normal(0, 0.02, old.shape))
    moved = with_tensors(BARE, {"logprobs_new": new}, dtype)
    loss = replay(moved, rlhf().preset("verl").values).whole
    assert 1e-3 < abs(loss["policy_loss"]) < TOLERANCES["bfloat16"]
    logged = {"policy_loss": -loss["policy_loss"], "value_loss": loss["value_loss"]}
    verdict = under("verl", replace(moved, logged=logged))
    says = {line.called: line.says for line in verdict.lines}
    assert says["value_loss"] == "agrees"
    if dtype == "float32":
        assert says["policy_loss"] == "DIFFERS"
        return
    assert says["policy_loss"] == "too coarse"
    assert verdict.agrees
    text = text_of(verdict)
    assert (
        "1 agrees; 1 is too coarse to tell.\n  policy_loss: it is off by 200 %; rounding of its tokens in bfloat16 explains "
        in text
    )
    assert "A fault of 1 % could hide in what is too coarse: write float32 to tell." in text
    assert "All 2" not in text


def test_a_0_that_should_be_0_agrees() -> None:
    batch = with_tensors(BARE, {"logprobs_new": BARE.tensors["logprobs_old"]}, "bfloat16")
    (line,) = under("verl", replace(batch, logged={"approx_kl.used": 0.0})).lines
    assert (line.compared.recomputed, line.says) == (0, "agrees")
