"""Before the first update the policy is the old one: what breaks that is found and described, and no clean forward is accused."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest

pytest.importorskip("torch", reason="the witness needs torch: install the extra [torch]")

import torch

from blueprint.dumps import Minibatch, Place
from blueprint.verifying.two_forwards import MOST, USUAL, before_first_update, padded_rows
from blueprint.workbooks.common.conventions import rlhf
from tests.verifying.dumps import as_dtype
from tests.verifying.forwards import Forward, clean, column_off, says, step, with_tensors

F32, F16, BF16 = torch.float32, torch.float16, torch.bfloat16
VERL = rlhf().preset("verl").values
UNSAID = Place(rank=0)


@pytest.mark.parametrize("stored", ["float32", "float16", "bfloat16"])
@pytest.mark.parametrize("dtype", [F32, F16, BF16])
def test_a_clean_step_is_not_accused(dtype: torch.dtype, stored: str) -> None:
    """Whatever the forwards compute in, whatever the numbers are stored in, and whether the file says it or not."""
    batch = clean(dtype)
    assert dtype == F32 or np.abs(batch.tensors["logprobs_new"] - batch.tensors["logprobs_old"]).max() > 1e-3
    floats = {name: as_dtype(each, stored) for name, each in batch.tensors.items() if each.dtype.kind == "f"}
    batch = replace(with_tensors(batch, **floats), dtypes=dict.fromkeys(floats, stored))
    for said in (None, str(dtype).removeprefix("torch.")):
        found = before_first_update(replace(batch, forward_dtype=said))
        assert [(line.compared.name, line.says) for line in found.lines] == [
            ("logprobs_new", "agrees"),
            ("values_new", "agrees"),
        ]
        assert found.said == found.notes == ()


@pytest.mark.parametrize("rms", [0.01, 0.055, 0.19])
def test_the_noise_that_was_measured_on_real_models_is_not_accused(rms: float) -> None:
    """bfloat16, one sequence at a time against eight: 0.055 with Qwen2.5-0.5B; 60 % beyond ±0.1 with pythia-160m is 0.19."""
    drawn = np.random.default_rng(2)
    old = -np.abs(drawn.normal(0, 2.5, (64, 128)))
    noisy = old + rms * drawn.standard_t(5, old.shape) / np.sqrt(5 / 3)
    tensors = {"logprobs_old": old, "logprobs_new": noisy, "response_mask": np.ones_like(old, bool)}
    sizes = np.full(64, 128), np.zeros(64, int)
    batch = Minibatch("noise", tensors, {}, {}, *sizes, place=Place(optimizer_step=0))
    found = before_first_update(batch)
    assert [line.says for line in found.lines] == ["agrees" if rms < USUAL["bfloat16"] else "too coarse"]
    assert found.differs is None
    precise = before_first_update(replace(batch, forward_dtype="float32"))
    assert (precise.differs is not None) == (rms > MOST["float32"])


def permuted(batch: Minibatch) -> Minibatch:
    """Returns a step whose new log-probs are of other rows, for the first six of them."""
    order = np.arange(len(batch.slots))
    order[:6] = np.roll(order[:6], 2)
    return with_tensors(batch, logprobs_new=batch.tensors["logprobs_new"][order])


def without_pads_known(batch: Minibatch) -> Minibatch:
    """Returns a step without its prompts, so that nothing says which of them are padded."""
    return replace(batch, tensors={name: each for name, each in batch.tensors.items() if name != "prompt_ids"})


def same(batch: Minibatch) -> Minibatch:
    """Changes nothing."""
    return batch


BUGS: tuple[tuple[str, dict[str, object], Callable[[Minibatch], Minibatch], str], ...] = (
    ("column after", {}, column_off(-1), "it is the old number of the token after it: one of the two tensors is a column off"),
    ("column before", {}, column_off(1), "it is the old number of the token before it: one of the two"),
    ("temperature", {"temperature": 0.7}, same, "it grows with the log-prob, as of a temperature that only one side has (by the"),
    ("temperature", {"temperature": 1.5}, without_pads_known, "it grows with the log-prob, as of a temperature that only one"),
    ("dropout", {"dropout": 0.1}, same, "it is scattered over rows and tokens, as by dropout in one forward"),
    ("position ids", {"skips_pads": False}, same, "only in rows with a padded prompt (0, 3, 6, 9, 12, 15 …): position ids"),
    ("position ids", {"skips_pads": False}, without_pads_known, "only in 8 of 24 rows (0, 3, 6, 9, 12, 15 …)"),
    ("rows", {}, permuted, "the rows are permuted: row 0 is the old row 4, row 1 is the old row 5, row 2 is the old row 0 …"),
)  # fmt: skip


@pytest.mark.parametrize("dtype", [F32, BF16])
@pytest.mark.parametrize(("bug", "new", "change", "like"), BUGS, ids=[bug[0] for bug in BUGS])
def test_a_bug_is_found_and_described(
    dtype: torch.dtype, bug: str, new: dict[str, object], change: Callable[[Minibatch], Minibatch], like: str
) -> None:
    batch = change(step(Forward(dtype), Forward(dtype, split=True, **new)))  # type: ignore[arg-type]
    found = before_first_update(batch)
    assert found.differs is not None
    assert found.differs.compared.name == "logprobs_new"
    assert found.said[0].startswith("logprobs_new should be logprobs_old, but ")
    assert found.said[1].startswith(f"  logprobs_new: {like}"), found.said


def test_a_temperature_is_told_nearly_and_the_files_own_beside_it() -> None:
    batch = step(Forward(), Forward(temperature=0.8), hyperparameters={"batch.temperature": 0.8})
    told = before_first_update(batch).said[1]
    assert "by the slope about 0.83; the file says a temperature of 0.8" in told


def test_values_must_be_the_old_ones() -> None:
    batch = clean(BF16)
    assert says(column_off(1, "values_new")(batch)) == {"logprobs_new": "agrees", "values_new": "DIFFERS"}
    noisy = batch.tensors["values_old"] * (1 + 2**-8)
    assert says(with_tensors(batch, values_new=noisy))["values_new"] == "agrees"
    large = {name: batch.tensors[name] + 50 for name in ("values_old", "values_new")}
    assert says(with_tensors(batch, **large))["values_new"] == "agrees"


def test_a_single_row_that_differs_is_placed() -> None:
    batch = clean(F32)
    new = np.array(batch.tensors["logprobs_new"])
    new[5] -= 0.5
    (line, _) = before_first_update(replace(with_tensors(batch, logprobs_new=new), rows=np.arange(24) + 100)).lines
    assert line.says == "DIFFERS"
    spot = line.compared.spot
    assert spot is not None
    assert (spot.episode, spot.row, spot.first) == (5, 105, 0)
    assert line.compared.deviating == spot.words == batch.mask[5].sum()


def test_a_row_of_another_prompt_is_found_among_noise() -> None:
    batch = step(Forward(BF16), Forward(BF16, split=True), rows=200)
    row = int(np.argmax(batch.mask.sum(axis=1)))
    new = np.array(batch.tensors["logprobs_new"])
    new[row] = new[row][::-1] - 0.3
    found = before_first_update(with_tensors(batch, logprobs_new=new))
    assert found.lines[0].says == "DIFFERS"
    assert found.said[1] == f"  logprobs_new: only in 1 of 200 rows ({row})."


BROKEN = step(Forward(), Forward(temperature=0.5))


@pytest.mark.parametrize(
    ("place", "old_from", "rollout", "checked"),
    [
        (Place(optimizer_step=0), None, False, True),
        (Place(epoch=0, minibatch=0, microbatch=3), None, False, True),
        (Place(optimizer_step=0), "trainer", True, True),
        (Place(optimizer_step=0), "engine", False, False),
        (Place(optimizer_step=0), None, True, False),
        (Place(optimizer_step=1), None, False, False),
        (Place(epoch=0, minibatch=1), None, False, False),
        (UNSAID, None, False, False),
        (None, None, False, False),
    ],
)
def test_it_is_checked_only_where_it_must_hold(
    place: Place | None, old_from: str | None, rollout: bool, checked: bool
) -> None:
    batch = replace(BROKEN, place=place, old_from=old_from)
    if rollout:
        batch = with_tensors(batch, logprobs_rollout=batch.tensors["logprobs_old"].copy())
    found = before_first_update(batch)
    assert (found.differs is not None) == checked
    if not checked and place == Place(optimizer_step=0):
        assert found.notes[0].startswith(
            "before the first update the ratio need not be 1, and is not checked: logprobs_old are"
        )


@pytest.mark.parametrize("place", [UNSAID, None])
def test_without_the_key_it_is_only_noted_and_only_if_something_is_wrong(place: Place | None) -> None:
    (note,) = before_first_update(replace(BROKEN, place=place)).notes
    assert note.startswith(
        "if this was before the first update (optimizer_step 0), logprobs_new should be logprobs_old, but "
    )
    assert "as of a temperature" in note
    assert before_first_update(replace(clean(BF16), place=place)).notes == ()
    generated = with_tensors(BROKEN, logprobs_rollout=BROKEN.tensors["logprobs_old"])
    assert before_first_update(replace(generated, place=place)).notes == ()
    later = Place(optimizer_step=3)
    assert before_first_update(replace(BROKEN, place=later)).notes == ()


@pytest.mark.parametrize(
    ("logged", "expected"),
    [
        ({"approx_kl": 0.0, "clip_fraction": 0.0, "ratio": 1.0}, ["agrees"] * 3),
        ({"approx_kl": 0.002, "ratio": 1.01}, ["agrees", "agrees"]),
        ({"approx_kl": 0.31, "clip_fraction": 0.46, "ratio": 1.377}, ["DIFFERS"] * 3),
    ],
)
def test_what_was_logged_of_the_ratio_is_checked_where_the_log_probs_are_missing(
    logged: dict[str, float], expected: list[str]
) -> None:
    tensors = {name: each for name, each in BROKEN.tensors.items() if name not in ("logprobs_new", "values_new")}
    found = before_first_update(replace(BROKEN, tensors=tensors, logged=logged))
    assert [line.says for line in found.lines] == expected
    assert len(found.said) == expected.count("DIFFERS")


def test_padded_prompts_are_told_by_the_word_that_they_begin_with() -> None:
    prompts = np.array([[0, 0, 5, 6], [7, 5, 4, 3], [0, 0, 0, 2], [9, 9, 1, 2]])
    batch = with_tensors(BROKEN, prompt_ids=prompts)
    found = padded_rows(batch)
    assert found is not None
    assert found.tolist() == [True, False, True, False]
    assert padded_rows(with_tensors(BROKEN, prompt_ids=prompts[[0, 2]])) is None
    assert padded_rows(with_tensors(BROKEN, prompt_ids=prompts[[1, 1]])) is None
