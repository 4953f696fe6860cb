"""However a file lays its words out, slot 0 is the first word of the response; two possible readings are refused."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blueprint.dumps import Minibatch, MinibatchError, read_minibatch
from tests.dumps.batches import PROMPTS, SLOTS, WORDS, batch, raw_npz, whole


def same_words(found: Minibatch) -> None:
    """Checks that a batch holds the words and numbers of `batch()`, and the file's own columns."""
    for name, array in batch().items():
        if array.ndim == 1:
            assert np.array_equal(found.tensors[name], array)
        else:
            for row, count in enumerate(WORDS):
                assert np.array_equal(found.tensors[name][row, :count], array[row, :count]), name
    assert found.mask.sum(axis=1).tolist() == list(WORDS)
    assert all(count >= words for count, words in zip(found.slots, WORDS, strict=True))


@pytest.mark.parametrize("left", [True, False])
@pytest.mark.parametrize("shifted", [True, False])
def test_whole_sequences_are_cut_row_by_row(tmp_path: Path, shifted: bool, left: bool) -> None:
    found = read_minibatch(raw_npz(tmp_path, whole(batch(), shifted, left)))
    same_words(found)
    starts = [max(PROMPTS)] * 3 if left else list(PROMPTS)
    assert found.first.tolist() == [start - shifted for start in starts]
    for row, prompt in enumerate(PROMPTS):
        assert found.tensors["prompt_ids"][row, -prompt:].tolist() == list(range(90, 90 + prompt))
    layout = (
        "shifted, 10 tokens and 9 log-probs in a row"
        if shifted
        else "sequence, as many log-probs as tokens in a row, the first of them 0"
    )
    assert f"layout: {layout}" in found.notes


@pytest.mark.parametrize("name", ["token_mask", "loss_mask"])
def test_a_mask_over_words_fits_log_probs_over_logits(tmp_path: Path, name: str) -> None:
    tensors = whole(batch(), shifted=True, left=False)
    tensors[name] = np.pad(tensors.pop("response_mask"), ((0, 0), (1, 0)))
    same_words(read_minibatch(raw_npz(tmp_path, tensors)))


@pytest.mark.parametrize(
    ("extra", "note"),
    [
        ({"padding_mask": ~batch()["response_mask"]}, "response_mask is where padding_mask is 0"),
        ({"sequence_lengths": np.array(WORDS) - 1}, "response_mask was worked out from sequence_lengths"),
        ({"response_lengths": np.array(WORDS)}, "response_mask was worked out from response_lengths"),
        (
            {"attention_mask": np.pad(batch()["response_mask"], ((0, 0), (4, 0)))},
            "response_mask is the last 6 columns of attention_mask",
        ),
    ],
    ids=["padding_mask", "last_slots", "response_lengths", "attention_mask"],
)
def test_the_mask_is_worked_out(tmp_path: Path, extra: dict[str, Any], note: str) -> None:
    found = read_minibatch(raw_npz(tmp_path, {k: v for k, v in batch().items() if k != "response_mask"} | extra))
    same_words(found)
    assert note in found.notes


@pytest.mark.parametrize("shifted", [True, False])
@pytest.mark.parametrize("by", ["attention_mask", "input_lengths"])
def test_the_mask_is_worked_out_from_the_prompts(tmp_path: Path, shifted: bool, by: str) -> None:
    tensors = whole(batch(), shifted, left=False)
    del tensors["response_mask"]
    ends = np.array(PROMPTS) + np.array(WORDS)
    tensors["prompt_lengths"] = np.array(PROMPTS)
    tensors[by] = ends if by == "input_lengths" else np.arange(max(PROMPTS) + SLOTS) < ends[:, None]
    same_words(read_minibatch(raw_npz(tmp_path, tensors)))


def test_a_mask_may_have_holes(tmp_path: Path) -> None:
    tensors = whole(batch(), shifted=False, left=False)
    tensors["response_mask"][0, PROMPTS[0] + 2] = False
    assert read_minibatch(raw_npz(tmp_path, tensors)).mask[0, :6].tolist() == [True, True, False, True, True, True]


def test_two_possible_readings_are_refused_and_metadata_decide(tmp_path: Path) -> None:
    tensors = whole(batch(), shifted=False, left=False)
    tensors["logprobs_old"][:, 0] = -0.5
    with pytest.raises(MinibatchError) as error:
        read_minibatch(raw_npz(tmp_path, tensors))
    assert str(error.value).endswith(
        "logprobs_old has as many columns (10) as tokens, and its first column is not 0: column i could "
        "belong to token i or to "
        'token i + 1; say "layout": "response", "sequence" or "shifted" in the metadata.'
    )
    same_words(read_minibatch(raw_npz(tmp_path, tensors, json.dumps({"layout": "sequence"}))))


def test_a_mask_that_begins_late_without_words_is_refused(tmp_path: Path) -> None:
    tensors = whole(batch(), shifted=False, left=False)
    del tensors["tokens"]
    with pytest.raises(MinibatchError) as error:
        read_minibatch(raw_npz(tmp_path, tensors))
    assert "the mask of row 0 begins behind column 0, and nothing tells whether" in str(error.value)
    found = read_minibatch(raw_npz(tmp_path, tensors, json.dumps({"layout": "response"})))
    assert (found.first.tolist(), found.mask.shape) == ([0, 0, 0], (3, 10))
    assert read_minibatch(raw_npz(tmp_path, tensors, json.dumps({"library": "nemo-rl"}))).first.tolist() == list(
        PROMPTS
    )


def test_responses_as_wide_as_shifted_log_probs_are_not_taken_for_them(tmp_path: Path) -> None:
    """TRL 0.11.4 with a prompt of one word in the longest row: responses are lists, log-probs stand over whole texts."""
    tensors = {
        "input_ids": np.array([[9, 1, 2, 3, 0], [8, 8, 8, 4, 5]]),
        "responses": np.array([[1, 2, 3, 0], [4, 5, 0, 0]]),
        "mask": np.array([[1, 1, 1, 0], [0, 0, 1, 1]]),
        "logprobs_old": np.array([[-1.0, -2.0, -3.0, 0.0], [0.0, 0.0, -4.0, -5.0]]),
        "scores": np.ones(2),
    }
    with pytest.raises(MinibatchError, match="the mask of row 1 begins behind column 0, and nothing tells whether"):
        read_minibatch(
            raw_npz(tmp_path, {"response_mask": tensors["mask"]} | {k: v for k, v in tensors.items() if k != "mask"})
        )
    tensors["all_logprobs"] = tensors.pop("logprobs_old")
    found = read_minibatch(raw_npz(tmp_path, tensors))
    assert found.preset == "trl_0.11.4"
    assert found.tensors["response_ids"][1, :2].tolist() == [4, 5]
    assert found.tensors["logprobs_old"][1, :2].tolist() == [-4.0, -5.0]


def test_slots_behind_the_mask_are_kept(tmp_path: Path) -> None:
    tensors = whole(batch(), shifted=True, left=True)
    found = read_minibatch(raw_npz(tmp_path, tensors))
    assert np.array_equal(found.tensors["values_old"], batch()["values_old"])
    assert found.slots.tolist() == [SLOTS] * 3


def test_rows_that_the_library_leaves_out_are_left_out(tmp_path: Path) -> None:
    tensors = batch() | {"sample_mask": np.array([1.0, 0.0, 1.0])}
    tensors["response_mask"][1] = False
    found = read_minibatch(raw_npz(tmp_path, tensors))
    assert np.array_equal(found.tensors["rewards"], batch()["rewards"][[0, 2]])
    assert found.rows is not None
    assert found.rows.tolist() == [0, 2]
    assert "1 of 3 rows is left out, its sample_mask is 0: 1" in found.notes


def test_words_of_whole_sequences_are_left_aside_where_nothing_tells_where_responses_begin(tmp_path: Path) -> None:
    """Right-padded sequences beside arrays of responses: the last columns are no responses."""
    tensors = {name: array for name, array in batch().items() if name != "response_ids"}
    tensors["tokens"] = np.arange(30).reshape(3, 10)
    found = read_minibatch(raw_npz(tmp_path, tensors))
    assert not {"prompt_ids", "response_ids"} & found.tensors.keys()
    assert any(note.startswith("tokens were left aside") for note in found.notes)
    tensors["response_ids"] = tensors["tokens"][:, -SLOTS:]
    found = read_minibatch(raw_npz(tmp_path, tensors))
    assert found.tensors["prompt_ids"].tolist() == tensors["tokens"][:, :-SLOTS].tolist()


def test_the_attention_mask_is_no_response_mask_where_it_begins_late(tmp_path: Path) -> None:
    tensors = {name: array for name, array in batch().items() if name != "response_mask"}
    tensors["attention_mask"] = np.arange(10) < np.array([[10], [4], [9]])
    with pytest.raises(MinibatchError, match="the file has no response_mask, and nothing to work it out from"):
        read_minibatch(raw_npz(tmp_path, tensors))


def test_lists_of_one_row_with_different_lengths_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    path.write_text(
        '{"logprobs_old": [-1, -2, -3], "values": [1, 2, 3]}\n{"logprobs_old": [-1, -2], "values": [1]}\n',
        encoding="utf-8",
    )
    with pytest.raises(MinibatchError) as error:
        read_minibatch(path)
    assert str(error.value) == f"{path}: row 1: values_old (values) has 1 entry, logprobs_old 2; they need the same."
