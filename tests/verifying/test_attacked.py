"""Damaged steps of every library, through the front door: each ends in a report or in a sentence that says what is wrong."""

from __future__ import annotations

import json
import random
import warnings
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner, Result

pytest.importorskip("torch", reason="verify needs torch")

from safetensors import safe_open
from safetensors.numpy import save_file

from blueprint.cli import main
from blueprint.commands.errors import TRACEBACK

REAL = Path(__file__).parents[1] / "data" / "real"
Tensors = dict[str, Any]
FILES = {
    "dpo": "trl_dpo/sft/dpo_000000_0_0", "weighted dpo": "trl_dpo/weighted/dpo_000000_0_1", "reward": "trl_reward/plain",
    "cleanrl": "cleanrl/clipped/cleanrl_32_0_0", "sb3": "sb3/free/sb3_48_0", "dr_grpo": "trl_grpo/dr_grpo",
    "trl": "trl_1_12/float32", "verl": "verl_0_9",
}  # fmt: skip


def file_of(name: str) -> Path:
    """Returns a recorded file: the one of that name, or the first of that folder."""
    path = REAL / FILES[name]
    return path.with_suffix(".safetensors") if not path.is_dir() else min(path.rglob("*.safetensors"))


def read(path: Path) -> tuple[Tensors, dict[str, str]]:
    with safe_open(path, "numpy") as file:
        return {name: file.get_tensor(name) for name in file.keys()}, dict(file.metadata() or {})  # noqa: SIM118


def run(*words: str | Path) -> Result:
    """Runs a command; what nobody foresaw is raised."""
    return CliRunner().invoke(main, [*map(str, words)], catch_exceptions=False, env={TRACEBACK: "1"})


def damaged(folder: Path, name: str, change: Callable[[Tensors, dict[str, str]], object]) -> Path:
    tensors, metadata = read(file_of(name))
    change(tensors, metadata)
    path = folder / "damaged.safetensors"
    save_file({key: np.ascontiguousarray(each) for key, each in tensors.items()}, path, metadata)
    return path


def _filled(tensor: str, value: float) -> Callable[[Tensors, dict[str, str]], object]:
    return lambda tensors, metadata: tensors.update({tensor: np.full_like(tensors[tensor], value)})


def _as(tensor: str, dtype: type) -> Callable[[Tensors, dict[str, str]], object]:
    return lambda tensors, metadata: tensors.update({tensor: tensors[tensor].astype(dtype)})


def _shaped(tensor: str, *shape: int) -> Callable[[Tensors, dict[str, str]], object]:
    return lambda tensors, metadata: tensors.update({tensor: tensors[tensor].reshape(shape)})


def _said(key: str, text: str) -> Callable[[Tensors, dict[str, str]], object]:
    return lambda tensors, metadata: metadata.update({key: text})


def _without(tensor: str) -> Callable[[Tensors, dict[str, str]], object]:
    return lambda tensors, metadata: tensors.pop(tensor)


def _first_empty(tensors: Tensors, metadata: dict[str, str]) -> None:
    tensors["attention_mask"][0] = 0


REFUSED: list[tuple[str, str, Callable[[Tensors, dict[str, str]], object], str]] = [
    ("import", "dpo", _filled("completion_mask", 0), "has no token in any of the responses there: a workbook needs one"),
    ("import", "dpo", _filled("completion_mask", 7), "completion_mask: found 7 in row 0, column 0; a mask is 0 or 1."),
    ("verify", "dpo", _as("ref_per_token_logps", np.bool_), "ref_per_token_logps: found true and false, expected numbers."),
    ("verify", "dpo", _shaped("per_token_logps", 8, 2, 5), "per_token_logps: found the shape [8, 2, 5], expected [2P, T]: a row"),
    ("verify", "dpo", _without("per_token_logps"), "log-probs of tokens are there of the reference alone: write those"),
    ("verify", "weighted dpo", _shaped("log_sum_sq_probs", -1, 2), "need the same"),
    ("verify", "reward", _filled("attention_mask", 7), "attention_mask: found 7 in row 0, column 0; a mask is 0 or 1."),
    ("import", "reward", _first_empty, "has a text without a token there, in row 0: name others with --rows"),
    ("verify", "dr_grpo", _said("loss_scale_factor", '{"a": 1}'), "loss_scale_factor: found {\"a\": 1}, expected a number."),
]  # fmt: skip


@pytest.mark.parametrize(("command", "name", "change", "sentence"), REFUSED)
def test_what_cannot_be_is_refused_in_a_sentence(
    tmp_path: Path, command: str, name: str, change: Callable[[Tensors, dict[str, str]], object], sentence: str
) -> None:
    target: list[str | Path] = ["-o", tmp_path / "a.xlsx"] if command == "import" else []
    found = run(command, damaged(tmp_path, name, change), *target)
    assert found.exit_code in (2, 3)
    assert sentence in found.output
    assert "no answer" not in found.output


def test_a_tensor_of_whole_numbers_is_computed_with(tmp_path: Path) -> None:
    found = run("verify", damaged(tmp_path, "dpo", _as("ref_per_token_logps", np.int32)))
    assert found.exit_code == 1  # log-probs cut to whole numbers: the margins differ
    assert "DIFFERS" in found.output


@pytest.mark.parametrize("name", ["cleanrl", "sb3"])
def test_one_damaged_file_of_a_rollout_stops_none_of_the_others(tmp_path: Path, name: str) -> None:
    cut = tmp_path / "cut.safetensors"
    cut.write_bytes(file_of(name).read_bytes()[:100])
    others = sorted(file_of(name).parent.glob("*.safetensors"))[:2]
    for files in ([*others, cut], [others[0], cut]):
        found = run("verify", *files)
        assert found.exit_code == 3, found.output
        assert f"Not read: {cut}: its header should be " in found.output
        assert f"{len(files) - 1} files of " in found.output
        assert " steps" in found.output


def test_a_damaged_file_beside_several_steps_is_told_behind_them(tmp_path: Path) -> None:
    files = [damaged(tmp_path, "trl", _said("step", str(step))).rename(tmp_path / f"{step}.st") for step in (1, 2)]
    cut = tmp_path / "cut.safetensors"
    cut.write_bytes(files[0].read_bytes()[:100])
    found = run("verify", *files, cut, "--json")
    reports = found.output.split("\n\n")
    assert found.exit_code == 3
    assert [json.loads(each)["deviates"] for each in reports] == [False, False, False]
    assert json.loads(reports[-1])["agrees"] is None
    assert list(json.loads(reports[-1])["not_read"]) == [str(cut)]
    assert run("verify", cut, cut.rename(tmp_path / "other.safetensors")).output.startswith("Error: ")


@pytest.mark.parametrize(
    ("name", "key", "text", "says"),
    [
        ("trl", "step", "1e999", "metadata, step: found inf, expected a whole number."),
        ("verl", "hyperparameters", f'{{"rollout_is": 1{"0" * 400}}}', "rollout_is = 1000000"),
    ],
)
def test_numbers_of_any_size_in_metadata_are_answered(
    tmp_path: Path, name: str, key: str, text: str, says: str
) -> None:
    found = run("verify", damaged(tmp_path, name, _said(key, text)), *([file_of("trl")] if name == "trl" else []))
    assert found.exit_code in (0, 1, 2, 3)
    assert says in found.output


@pytest.mark.parametrize("rows", ["-1", "0,-3", "1e3", "9" * 400, "", "0,,1", "٣", "0.5"])
def test_rows_are_numbers_from_0_on(rows: str) -> None:
    found = run("import", file_of("dpo"), "--rows", rows)
    assert found.exit_code == 2
    assert "is no list of rows: write numbers from 0 on with commas, such as 0,3" in found.output


VALUES = (0, 1, 7, -1, np.nan, np.inf, -np.inf, 1e308, -1e308, 2**31, 1e-320)
DTYPES = (np.int32, np.int64, np.uint8, np.bool_, np.float16, np.float64)
WORDS = ("null", "-1", "1e308", "NaN", "Infinity", "1" + "0" * 400, '""', '"x"', "[]", "{}", "[[]]", "true")


def _mutations(dice: random.Random) -> Iterator[Callable[[Tensors, dict[str, str]], object]]:
    """Yields a change or two: another dtype, value or shape of a tensor, one that is missing, odd words in the metadata."""

    def one(tensors: Tensors, metadata: dict[str, str]) -> None:
        name = dice.choice(sorted(tensors))
        array = tensors[name]
        match dice.randrange(8):
            case 0:
                tensors[name] = array.astype(dice.choice(DTYPES))
            case 1:
                tensors[name] = np.full(array.shape, dice.choice(VALUES)).astype(array.dtype)
            case 2:
                tensors[name] = array.reshape(dice.choice([(-1,), (1, *array.shape), (*array.shape, 1)]))
            case 3 if len(tensors) > 1:
                del tensors[name]
            case 4:
                tensors[name] = array[: dice.randrange(len(array) + 1)]
            case 5:
                tensors[name] = np.concatenate([array, array[:1]])
            case 6:
                tensors |= {key: each[:1] for key, each in tensors.items()}
            case _ if metadata:
                metadata[dice.choice(sorted(metadata))] = dice.choice(WORDS)

    for _ in range(dice.choice((1, 1, 2))):
        yield one


@pytest.mark.parametrize("name", FILES)
def test_whatever_is_damaged_is_answered(tmp_path: Path, name: str) -> None:
    dice = random.Random(name)
    for turn in range(4):
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", RuntimeWarning)  # of NaN there is no whole number
            path = damaged(tmp_path, name, lambda tensors, said: [each(tensors, said) for each in _mutations(dice)])
        words = ("verify",) if turn % 2 else ("import", "-o", tmp_path / "a.xlsx", "--force", "--no-proof")
        found = run(words[0], path, *words[1:])
        assert found.exit_code in (0, 1, 2, 3)
        assert "no answer" not in found.output
