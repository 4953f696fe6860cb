"""What cannot be inside the mask is refused: which tensor, how many, where first in the file's own rows and columns."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from blueprint.dumps import MinibatchError, read_minibatch, rounding
from tests.dumps.batches import batch, raw_npz, whole

Change = Callable[[dict[str, Any]], Any]


def refused(folder: Path, tensors: dict[str, Any], metadata: str | None = None) -> str:
    """Returns the sentence with which a file is refused, without its path."""
    path = raw_npz(folder, tensors, metadata)
    with pytest.raises(MinibatchError) as error:
        read_minibatch(path)
    return str(error.value).removeprefix(f"{path}: ")


def put(name: str, row: int, column: int, value: Any) -> Change:
    """Returns a change of one entry."""

    def change(tensors: dict[str, Any]) -> None:
        tensors[name][row, column] = value

    return change


def give(name: str, value: Any) -> Change:
    """Returns a change of one tensor."""
    return lambda tensors: tensors.update({name: value})


def drop(*names: str) -> Change:
    """Returns a change that takes tensors away."""
    return lambda tensors: [tensors.pop(name) for name in names]


FINE = batch()
CASES: list[tuple[str, Change, str]] = [
    (
        "nan",
        put("advantages", 1, 2, np.nan),
        "advantages: NaN or infinity in 1 of its places inside the mask, the first is nan in row 1, "
        "column 2; find out where it comes from first.",
    ),
    (
        "infinity",
        put("logprobs_old", 0, 3, -np.inf),
        "logprobs_old: NaN or infinity in 1 of its places inside the mask, the first is -inf in row 0, "
        "column 3; find out where it comes from first.",
    ),
    (
        "above 0",
        put("logprobs_ref", 2, 1, 1.0),
        "logprobs_ref: log-probs above 0 in 1 of its places inside the mask, the first is 1 in row 2, "
        "column 1; these are no log-probs, or the mask is shifted by one; --above-zero accepts made-up ones.",
    ),
    (
        "entropy",
        put("entropy", 2, 0, -0.5),
        "entropy: entropies below 0 in 1 of its places inside the mask, the first is -0.5 in row 2, "
        "column 0; an entropy is at least 0.",
    ),
    (
        "scores",
        give("scores", np.array([1.0, np.nan, 2.0])),
        "scores: NaN or infinity in 1 of its places inside the mask, the first is nan in row 1; find "
        "out where it comes from first.",
    ),
    (
        "mask",
        give("response_mask", FINE["response_mask"] * 2),
        "response_mask: found 2 in row 0, column 0; a mask is 0 or 1.",
    ),
    (
        "mask 0.5",
        give("response_mask", np.where(FINE["response_mask"], 1, 0.5)),
        "response_mask: found 0.5 in row 1, column 3; a mask is 0 or 1.",
    ),
    (
        "empty",
        give("response_mask", FINE["response_mask"] * 0),
        "all 3 responses are empty: the mask is 0 throughout; find out where it comes from first.",
    ),
    (
        "columns",
        give("values_old", np.zeros((3, 5))),
        "values_old [3, 5] and logprobs_old [3, 6] disagree; they need the same rows and columns.",
    ),
    (
        "rows",
        give("returns", np.zeros((2, 6))),
        "returns [2, 6] and logprobs_old [3, 6] disagree; they need the same rows and columns.",
    ),
    ("mask shape", give("response_mask", np.ones((3, 4))), "response_mask [3, 4] and logprobs_old [3, 6] disagree."),
    ("axes", give("rewards", np.zeros((3, 6, 2))), "rewards: found the shape [3, 6, 2], expected [B, T]."),
    ("flat", give("logprobs_old", np.zeros(3)), "logprobs_old: found the shape [3], expected [B, T]."),
    (
        "no mask",
        drop("response_mask"),
        "the file has no response_mask, and nothing to work it out from: attention_mask beside "
        "response_ids, padding_mask, last_slots, response_lengths, prompt_lengths with input_lengths or "
        "attention_mask, or rows of different lengths.",
    ),
    (
        "no log-probs",
        drop("logprobs_old"),
        "logprobs_old is missing (log-prob of each token before the update); the file has response_ids, "
        "response_mask, logprobs_ref, logprobs_new, entropy, values_old, values_new, scores, rewards, "
        "advantages, returns.",
    ),
    (
        "ids",
        give("response_ids", np.full((3, 6), 0.5)),
        "response_ids: found float64, expected whole numbers.",
    ),
    ("bool values", give("values_new", np.ones((3, 6), bool)), "values_new: found true and false, expected numbers."),
    ("text", give("values_new", np.array(["a"])), "values_new: found <U1, expected numbers or true and false."),
    (
        "no rows",
        lambda tensors: tensors.update({name: array[:0] for name, array in tensors.items()}),
        "logprobs_old is empty; there is no response in the file.",
    ),
    ("nothing left", give("sample_mask", np.zeros(3)), "sample_mask is 0 in every row; nothing is left."),
    ("sample_mask", give("sample_mask", np.array([1, 3, 1])), "sample_mask: found 3 in row 1; a mask is 0 or 1."),
]


@pytest.mark.parametrize(("change", "sentence"), [case[1:] for case in CASES], ids=[case[0] for case in CASES])
def test_each_fault_is_refused_in_a_sentence(tmp_path: Path, change: Change, sentence: str) -> None:
    tensors = batch()
    change(tensors)
    assert refused(tmp_path, tensors) == sentence


def test_one_tensor_more_than_the_old_log_probs_is_needed(tmp_path: Path) -> None:
    tensors = {name: batch()[name] for name in ("response_mask", "logprobs_old", "response_ids")}
    assert refused(tmp_path, tensors).startswith(
        "logprobs_old alone tells nothing; save at least one of logprobs_ref, "
    )
    assert read_minibatch(raw_npz(tmp_path, tensors | {"scores": np.zeros((3, 1))})).tensors["scores"].shape == (3,)


def test_the_place_is_that_of_the_file_where_prompts_and_rows_were_cut_off(tmp_path: Path) -> None:
    tensors = whole(batch(), shifted=True, left=False) | {"sample_mask": np.array([0, 1, 1])}
    tensors["logprobs_new"][2, 5] = np.nan
    assert "the first is nan in row 2, column 5; " in refused(tmp_path, tensors)


def test_the_files_own_name_is_named(tmp_path: Path) -> None:
    tensors = batch()
    tensors["old_log_probs"] = tensors.pop("logprobs_old")
    tensors["old_log_probs"][0, 0] = 2
    assert refused(tmp_path, tensors).startswith("logprobs_old (old_log_probs): log-probs above 0 in 1 of its places")


def test_outside_the_mask_anything_may_stand(tmp_path: Path) -> None:
    tensors = batch()
    for name, array in tensors.items():
        if array.dtype.kind == "f" and array.ndim == 2:
            array[~tensors["response_mask"]] = np.nan if name != "entropy" else -np.inf
    found = read_minibatch(raw_npz(tmp_path, tensors))
    assert np.isnan(found.tensors["values_old"][1, 5])


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16, torch.float32])
def test_rounding_may_lift_a_log_prob_above_0_and_no_more(tmp_path: Path, dtype: torch.dtype) -> None:
    """The room is what logits up to 32 need: measured as z − logsumexp(z) computed in the dtype itself."""
    logits = torch.rand(4096, 8, generator=torch.Generator().manual_seed(0)) * 8
    logits[:, 0] = 24 + 8 * torch.rand(4096, generator=torch.Generator().manual_seed(1))
    low = logits.to(dtype)
    worst = float((low[:, 0] - low.logsumexp(-1)).max())
    room = rounding(str(dtype).removeprefix("torch."))
    assert worst <= room == 16 * torch.finfo(dtype).eps
    for value, fine in ((room, True), (room * 1.02, False)):
        tensors = {name: torch.from_numpy(array) for name, array in batch().items() if array.dtype.kind != "i"}
        tensors["logprobs_old"][0, 0] = value
        halves = {name: each.to(dtype) if each.is_floating_point() else each for name, each in tensors.items()}
        save_file(halves, tmp_path / "run.safetensors")
        if fine:
            read_minibatch(tmp_path / "run.safetensors")
        else:
            with pytest.raises(MinibatchError, match="log-probs above 0"):
                read_minibatch(tmp_path / "run.safetensors")


def test_metadata_are_refused_word_for_word(tmp_path: Path) -> None:
    """Of the file, of its place in the run, and of what losses were divided by."""
    table: dict[str, str] = tomllib.loads(Path(__file__).with_name("refused.toml").read_text(encoding="utf-8"))
    assert {said: refused(tmp_path, batch(), said) for said in table} == table
    assert len(table) == 21
