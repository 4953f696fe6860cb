"""Files that are made to fill memory, to run code or to mislead: refused in a sentence before they do."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pyarrow
import pytest

from blueprint.dumps import MinibatchError, Raw, read_minibatch, save
from blueprint.dumps.formats import npz_safetensors_torch, open_and_save
from blueprint.dumps.formats.raw import LARGEST_TENSOR
from tests.dumps.crafted import answered, f32, npz, npz_with, safetensors, table

TOO_MANY = f"which is more than {LARGEST_TENSOR:,} entries; save fewer responses, and no logits."
HOSTILE: dict[str, tuple[Callable[[], bytes], str]] = {
    "header longer than the file": (
        lambda: safetensors({"a": 1}, length=10_000),
        "its header should be 10,000 bytes long, the file has 16: it is cut off or damaged.",
    ),
    "overlap": (
        lambda: safetensors({"a": f32([2], 0, 8), "b": f32([2], 4, 12)}, b"\0" * 12),
        "b: its bytes overlap those of a.",
    ),
    "behind the end": (
        lambda: safetensors({"a": f32([2], 0, 8)}, b"\0" * 4),
        "a: it ends at byte 8 of 4: the file is cut off or damaged.",
    ),
    "offsets and shape": (
        lambda: safetensors({"a": f32([2], 0, 4)}, b"\0" * 4),
        "a: its shape needs 8 bytes, it has 4.",
    ),
    "1e9 tokens": (lambda: safetensors({"a": f32([10**9], 0, 4)}, b"\0" * 4), f"a: found [1000000000], {TOO_MANY}"),
    "1e9 axes of one": (
        lambda: safetensors({"a": f32([1] * 9, 0, 4)}, b"\0" * 4),
        "a: found [1, 1, 1, 1, 1, 1, 1, 1, 1], expected one to 3 axes.",
    ),
    "odd dtype": (
        lambda: safetensors({"a": {"dtype": "F8_E4M3", "shape": [], "data_offsets": [0, 1]}}, b"\0"),
        "a: its dtype is F8_E4M3, expected one of BOOL, U8, I8, I16, U16, I32, U32, I64, U64, F16, BF16, F32, F64.",
    ),
    "npz with 1e12 tokens": (lambda: npz((10**6, 10**6), b""), f"logprobs_old: found [1000000, 1000000], {TOO_MANY}"),
    "npz that unpacks to more than it says": (
        lambda: npz((2,), b"\0" * 10**6, times=50),
        "logprobs_old: its header promises 8 bytes, the entry holds more.",
    ),
    "npz that unpacks to less than it says": (
        lambda: npz((200,), b"\0" * 8),
        "logprobs_old: its header promises 800 bytes, the entry has 136.",
    ),
    "npz with a header of open brackets": (
        lambda: npz_with(b"[" * 1000),
        "logprobs_old: its header does not say of what type and shape it is; save it again with numpy.savez.",
    ),
    "npz with a header of open quotes": (
        lambda: npz_with(b"'" * 999),
        "logprobs_old: its header does not say of what type and shape it is; save it again with numpy.savez.",
    ),
    "npz of many zeros": (
        lambda: npz((10**8,), b"\0" * 10**6, times=200),
        "its tensors fill 200,000,128 bytes, more than 16 times as many as the file, which no dump of numbers does: "
        "save fewer responses, or without compression.",
    ),
    "parquet of many zeros": (
        lambda: table(pyarrow.nulls(LARGEST_TENSOR // 2, pyarrow.bool_())),
        "its tensors fill 400,000,000 bytes, more than 16 times as many as the file, which no dump of numbers does: "
        "save fewer responses, or without compression.",
    ),
    "a ragged bomb of many keys": (
        lambda: b"\n".join(
            [json.dumps({f"k{i}": [0] * 20_000 for i in range(10)}).encode()]
            + [json.dumps({f"k{i}": [0] for i in range(10)}).encode()] * 500
        ),
        "its tensors fill 160,320,000 bytes, more than 16 times as many as the file, which no dump of numbers does: "
        "save fewer responses, or without compression.",
    ),
    "deep JSON": (lambda: b'{"a": ' + b"[" * 100_000, "line 1: the JSON is nested too deeply to be read."),
    "a key twice": (lambda: b'{"a": 1, "a": 2}', "line 1: the key a stands there twice; keep one."),
    "no list in some lines": (lambda: b'{"a": [1]}\n{"a": 1}', "a: some lines have a list there and some do not."),
    "a key in some lines": (
        lambda: b'{"a": 1}\n{"b": 1}',
        "line 2: the key a is missing there; every line has the same keys.",
    ),
    "a list in a line": (lambda: b'{"a": 1}\n[1]', "line 2: found list, expected an object {…} per response."),
    "a text among numbers": (lambda: b'{"a": [1, "x"]}', "line 1, a: found 'x' among the numbers of a row."),
    "a huge whole number": (
        lambda: b'{"a": [1' + b"0" * 30 + b"]}",
        "line 1, a: a whole number is larger than 64 bits hold.",
    ),
    "a ragged bomb": (
        lambda: b"\n".join([json.dumps({"a": [0] * 20_000}).encode(), *[b'{"a": [0]}'] * 5_001]),
        f"a: found [5002, 20000], {TOO_MANY}",
    ),
    "parquet of 2e8 zeros": (
        lambda: table(pyarrow.nulls(LARGEST_TENSOR + 1, pyarrow.bool_())),
        f"logprobs_old: more than {LARGEST_TENSOR:,} entries; save fewer responses, and no logits.",
    ),
    "lists of texts": (lambda: table([["a"]]), "logprobs_old: found list<element: string>, expected lists of numbers."),
    "missing lists": (lambda: table([[1.0], None]), "logprobs_old: 1 row has no list; write an empty one."),
    "missing whole numbers": (
        lambda: table([[1], [None]]),
        "logprobs_old: 1 entry is missing (null); write numbers.",
    ),
}


@pytest.mark.parametrize(("make", "sentence"), HOSTILE.values(), ids=HOSTILE.keys())
def test_a_hostile_file_is_refused_before_it_fills_memory(make: Callable[[], bytes], sentence: str) -> None:
    assert answered(make()) == sentence


def test_a_line_of_gigabytes_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("blueprint.dumps.formats.jsonl_and_parquet.LONGEST_LINE", 1000)
    assert answered(b'{"a": "' + b"x" * 2000) == "line 1: longer than 1,000 bytes; write one response per line."


def test_a_file_that_is_cut_off_while_it_is_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A mapped file would end the program here, by the signal SIGBUS and without a word."""
    path, check = tmp_path / "run.safetensors", npz_safetensors_torch._check_places
    save(path, {"logprobs_old": -np.ones((100, 1000))})

    def cut(*given: object) -> None:
        check(*given)  # type: ignore[arg-type]
        with path.open("r+b") as file:
            file.truncate(1000)

    monkeypatch.setattr(npz_safetensors_torch, "_check_places", cut)
    with pytest.raises(MinibatchError) as refused:
        read_minibatch(path)
    assert str(refused.value) == (
        f"{path}: logprobs_old: the file became shorter while it was read; wait until it is written."
    )


@pytest.mark.parametrize("ending", ["safetensors", "npz", "jsonl", "parquet"])
def test_a_file_that_is_written_to_while_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, ending: str
) -> None:
    path = tmp_path / f"run.{ending}"
    save(path, {"logprobs_old": -np.ones((2, 3))})
    name = open_and_save.format_of(path)
    read = open_and_save.READERS[name]

    def interfering(path: Path, into: Raw, head_only: bool) -> None:
        read(path, into, head_only)
        path.write_bytes(path.read_bytes() + b" ")

    monkeypatch.setitem(open_and_save.READERS, name, interfering)
    with pytest.raises(MinibatchError) as refused:
        open_and_save.open_raw(path)
    assert str(refused.value) == (
        f"{path}: it was written to while it was read; wait until it is whole, and read it again."
    )
