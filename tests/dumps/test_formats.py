"""Every format brings the same numbers back; what could run code, or is of no format, is refused with the way out."""

from __future__ import annotations

import gzip
import json
import pickle
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from safetensors.torch import save_file

from blueprint.dumps import MinibatchError, read_minibatch, save
from tests.dumps.batches import LIBRARY, batch, raw_npz, reread

WAY_OUT = 'save the tensors with safetensors.torch.save_file({name: tensor, …}, "run.safetensors").'


@pytest.mark.parametrize("ending", ["safetensors", "npz", "jsonl", "parquet"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
def test_every_format_brings_back_what_was_saved(tmp_path: Path, ending: str, dtype: str) -> None:
    said = {**LIBRARY, "hyperparameters": {"gamma": 0.5}, "logged": {"actor/pg_loss": 0.25}}
    found = reread(tmp_path, batch(dtype), said, ending)
    for name, array in batch(dtype).items():
        assert np.array_equal(found.tensors[name], array), name
    assert (found.library, found.version, found.step, found.preset) == ("verl", "0.9.1", 120, "verl")
    assert (found.hyperparameters, found.logged) == ({"ppo.gamma": 0.5}, {"policy_loss": 0.25})
    assert found.dtypes["values_old"] == ("float64" if ending == "jsonl" else dtype)
    assert found.dtypes["response_mask"] == "bool"


@pytest.mark.parametrize("dtype", [torch.bfloat16, torch.float16])
@pytest.mark.parametrize("ending", ["safetensors", "pt"])
def test_half_precision_comes_in_as_float32(tmp_path: Path, dtype: torch.dtype, ending: str) -> None:
    tensors = {name: torch.from_numpy(array) for name, array in batch().items()}
    tensors = {name: each.to(dtype) if each.is_floating_point() else each for name, each in tensors.items()}
    path = tmp_path / f"run.{ending}"
    torch.save(tensors, path) if ending == "pt" else save_file(tensors, path)
    found = read_minibatch(path)
    assert found.dtypes["values_old"] == str(dtype).removeprefix("torch.")
    assert found.tensors["values_old"].dtype == np.float32
    for name, tensor in tensors.items():
        assert np.array_equal(
            found.tensors[name], tensor.float().numpy() if tensor.is_floating_point() else tensor.numpy()
        )


def test_float16_of_npz_and_parquet_comes_in_as_float32(tmp_path: Path) -> None:
    for ending in ("npz", "parquet"):
        found = reread(tmp_path, batch("float16"), ending=ending)
        assert (found.dtypes["values_old"], found.tensors["values_old"].dtype.name) == ("float16", "float32")
        assert np.array_equal(found.tensors["values_old"], batch("float16")["values_old"].astype(np.float32))


def test_a_pt_of_ragged_rows_is_padded_and_its_lengths_are_the_mask(tmp_path: Path) -> None:
    rows = [-torch.arange(1.0, length + 1) for length in (3, 1, 2)]
    path = tmp_path / "trl.pt"
    torch.save({"logprobs": rows, "values": rows, "scores": [torch.tensor(0.5)] * 3, "metadata": {"step": 4}}, path)
    found = read_minibatch(path)
    assert found.mask.tolist() == [[True, True, True], [True, False, False], [True, True, False]]
    assert found.slots.tolist() == [3, 1, 2]
    assert np.isnan(found.tensors["logprobs_old"][1, 1])
    assert found.tensors["scores"].tolist() == [0.5, 0.5, 0.5]
    assert found.step == 4
    assert "response_mask: every entry of logprobs counts" in found.notes


def test_the_content_tells_the_format_and_not_the_ending(tmp_path: Path) -> None:
    for ending in ("safetensors", "npz", "jsonl", "parquet"):
        save(tmp_path / f"a.{ending}", batch())
        moved = (tmp_path / f"a.{ending}").rename(tmp_path / "run.pkl.bin")
        assert np.array_equal(read_minibatch(moved).mask, batch()["response_mask"])


def test_nemo_rl_jsonl_is_read_as_it_is(tmp_path: Path) -> None:
    """Written as nemo_rl/utils/logger.py, log_batched_dict_as_jsonl at 7ea279a does: every value a "
    "slice of length 1."""
    batched: dict[str, list[Any]] = {
        "content": ["a b c", "d e"],
        "rewards": [1.0, 0.0],
        "input_lengths": [5, 4],
        "token_ids": [[7, 8, 1, 2, 3, 0], [9, 4, 5, 6, 0, 0]],
        "token_loss_mask": [[0, 0, 1, 0, 1, 0], [0, 1, 1, 1, 0, 0]],
        "sample_loss_mask": [1.0, 1.0],
        "advantages": [[0.0, 0.0, 0.5, 0.0, 0.25, 0.0], [0.0, -1.0, -2.0, -3.0, 0.0, 0.0]],
        "generation_logprobs": [[0.0, 0.0, -1.0, 0.0, -2.0, 0.0], [0.0, -3.0, -4.0, -5.0, 0.0, 0.0]],
        "prev_logprobs": [[0.0, -9.0, -1.5, -9.0, -2.5, -9.0], [0.0, -3.5, -4.5, -5.5, -9.0, -9.0]],
    }
    path = tmp_path / "train_data_step3.jsonl"
    with path.open("w") as file:
        for row in range(2):
            file.write(json.dumps({key: value[row : row + 1] for key, value in batched.items()} | {"idx": row}) + "\n")
    found = read_minibatch(path)
    assert (found.library, found.preset) == ("nemo_rl", "nemo_rl")
    assert found.first.tolist() == [2, 1]
    assert found.slots.tolist() == [4, 5]
    assert found.mask.tolist() == [[True, False, True, False, False], [True, True, True, False, False]]
    assert found.tensors["logprobs_old"].tolist() == [[-1.5, -9.0, -2.5, -9.0, 0.0], [-3.5, -4.5, -5.5, -9.0, -9.0]]
    assert found.tensors["scores"].tolist() == [1.0, 0.0]
    assert found.tensors["prompt_ids"].tolist() == [[7, 8], [-1, 9]]
    assert found.tensors["response_ids"].tolist() == [[1, 2, 3, 0, 0], [4, 5, 6, 0, 0]]


def test_a_line_may_hold_a_batch(tmp_path: Path) -> None:
    path = tmp_path / "run.jsonl"
    line = {"logprobs_old": [[-1.0, -2.0], [-3.0]], "logprobs_new": [[-1.0, -2.0], [-3.0]], "scores": [1, 0]}
    path.write_text(json.dumps({"metadata": {"step": 2}}) + "\n\n" + json.dumps(line) + "\n")
    found = read_minibatch(path)
    assert found.mask.tolist() == [[True, True], [True, False]]
    assert (found.tensors["scores"].tolist(), found.step) == ([1.0, 0.0], 2)


class Anything:
    """A class of one's own, as a pickle may hold it."""


def _text(text: str) -> Callable[[Path], Any]:
    return lambda path: path.write_text(text, encoding="utf-8")


REFUSED: list[tuple[str, Callable[[Path], Any], str]] = [
    (
        "a.pkl",
        lambda path: path.write_bytes(pickle.dumps({"a": 1})),
        f"this is a pickle, which could run any code and is never opened; {WAY_OUT}",
    ),
    (
        "b.bin",
        lambda path: path.write_bytes(pickle.dumps([1], protocol=2)),
        f"this is a pickle, which could run any code and is never opened; {WAY_OUT}",
    ),
    ("c.pickle", _text("(lp0\n."), f"this is a pickle, which could run any code and is never opened; {WAY_OUT}"),
    (
        "old.pt",
        lambda path: torch.save({"a": torch.ones(1)}, path, _use_new_zipfile_serialization=False),
        f"this is a pickle, which could run any code and is never opened; {WAY_OUT}",
    ),
    (
        "d.pt",
        lambda path: torch.save({"a": Anything()}, path),
        "torch finds more in it than plain tensors, or it is damaged; it is not opened, because a "
        "pickle could run any code; save tensors with safetensors.torch.save_file({name: tensor, …}, "
        '"run.safetensors").',
    ),
    ("e.pt", lambda path: torch.save([1], path), "found list, expected a dictionary of tensors by name."),
    (
        "f.npy",
        lambda path: np.save(path, np.ones(2)),
        "this is a single array (npy); save all of them with numpy.savez.",
    ),
    ("g.jsonl.gz", lambda path: path.write_bytes(gzip.compress(b"{}")), "this is packed with gzip; unpack it first."),
    ("h.jsonl", lambda path: path.write_text("{}", encoding="utf-16"), "this is text in UTF-16; save it as UTF-8."),
    ("i.json", _text("[1]"), "this is one JSON list; write one object per line (jsonl)."),
    ("j.txt", _text("hello"), f"found neither safetensors, npz, parquet, jsonl nor a torch file; {WAY_OUT}"),
    ("k.npz", _text(""), "the file is empty."),
    ("l", Path.mkdir, "this is a directory; name the file in it."),
    ("m.npz", lambda path: None, "there is no such file."),
]


@pytest.mark.parametrize(("name", "write", "sentence"), REFUSED, ids=[name for name, _, _ in REFUSED])
def test_what_is_no_dump_is_refused_with_the_way_out(
    tmp_path: Path, name: str, write: Callable[[Path], Any], sentence: str
) -> None:
    write(tmp_path / name)
    with pytest.raises(MinibatchError) as error:
        read_minibatch(tmp_path / name)
    assert str(error.value) == f"{tmp_path / name}: {sentence}"


def test_an_array_of_objects_is_refused_and_not_unpickled(tmp_path: Path) -> None:
    path = raw_npz(tmp_path, {"logprobs_old": np.array([[Opened()]], dtype=object)})
    with pytest.raises(MinibatchError, match=r"logprobs_old: an array of Python objects is a pickle, .* never opened"):
        read_minibatch(path)


class Opened:
    """Fails where it is unpickled."""

    def __setstate__(self, state: object) -> None:
        pytest.fail("it was unpickled")

    def __getstate__(self) -> object:
        return {"a": 1}


def test_save_refuses_in_a_sentence(tmp_path: Path) -> None:
    for path, tensors, said, sentence in (
        ("a.pkl", batch(), {}, "found the ending .pkl, expected one of .safetensors, .npz, .jsonl, .parquet."),
        ("a.npz", {}, {}, "expected tensors with the same number of rows, found none."),
        (
            "a.npz",
            {"a": np.ones(2), "b": np.ones(3)},
            {},
            "expected tensors with the same number of rows, found {'a': 2, 'b': 3}.",
        ),
        ("a.npz", {"a": np.array(["x"])}, {}, "a: found <U1 of 1 axis, expected numbers, [B] or [B, T]."),
        (
            "a.npz",
            batch(),
            {"step": Path()},
            "metadata cannot be written as JSON: Object of type PosixPath is not JSON serializable.",
        ),
    ):
        with pytest.raises(MinibatchError) as error:
            save(tmp_path / path, tensors, said)
        assert str(error.value) == f"{tmp_path / path}: {sentence}"
    assert list(tmp_path.iterdir()) == []
