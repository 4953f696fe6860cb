"""Recorded steps of DPO, KTO, reward models and fine-tuning with one thing of them changed: each is refused in one sentence that
names the file's own tensor or setting, what was found and what is expected; and what says less is compared as far as it goes."""

from __future__ import annotations

import json
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

pytest.importorskip("torch", reason="verify needs torch")

from safetensors import safe_open

from blueprint.cli import main
from blueprint.dumps import MinibatchError, inspect, read_dump
from blueprint.verifying import VerifyOptions, verify_step
from tests.dumps.batches import raw_npz

REAL = Path(__file__).parents[1] / "data" / "real"
FILES = {
    "dpo": "trl_dpo/sigmoid/dpo", "ipo": "trl_dpo/ipo/dpo", "weighted": "trl_dpo/weighted/dpo", "shared": "trl_dpo/shared/dpo",
    "rm": "trl_reward/margin/reward", "rm_pad": "trl_reward/pad_eos/reward", "kto": "trl_kto/kto/kto", "apo": "trl_kto/apo/kto",
    "sft": "trl_sft/text/sft",
}  # fmt: skip
Tensors = dict[str, Any]
Change = Callable[[Any], Any]


def read(name: str) -> tuple[Tensors, dict[str, Any]]:
    """Returns tensors and metadata of a recorded file."""
    with safe_open(REAL / f"{FILES[name]}_000000_0_0.safetensors", "numpy") as file:
        said = dict(file.metadata() or {})
        return {each: file.get_tensor(each) for each in file.keys()}, {key: _value(said[key]) for key in said}  # noqa: SIM118


def _value(text: str) -> Any:
    try:
        return json.loads(text)
    except ValueError:
        return text


def changed(
    folder: Path, name: str, tensors: dict[str, Change | None] | None = None, drop: tuple[str, ...] = (), **said: Any
) -> Path:
    """Writes a recorded file with tensors changed, or left out where None stands; and with metadata left out or changed."""
    found, metadata = read(name)
    for tensor, change in (tensors or {}).items():
        array = found.pop(tensor)
        if change is not None:
            found[tensor] = np.asarray(change(array))
    metadata["hyperparameters"] |= said.pop("hyperparameters", {})
    metadata = {key: each for key, each in (metadata | said).items() if key not in drop}
    return raw_npz(folder, found, json.dumps(metadata))


def filled(value: float) -> Change:
    """Fills with a number, of its own dtype where that is a float's."""
    return lambda array: np.full(array.shape, value, array.dtype if array.dtype.kind == "f" else float)


def first(value: int) -> Change:
    """Puts a whole number into the first cell."""

    def put(array: Any) -> Any:
        made = array.astype(np.int64)
        made.flat[0] = value
        return made

    return put


def scalar(array: Any) -> Any:
    return array.flat[0]


def more_rows(array: Any) -> Any:
    return np.concatenate([array, array[:1]])


def no_columns(array: Any) -> Any:
    return array[:, :0]


REFUSED: list[tuple[str, str, Change, str]] = [
    # numbers that are not finite where they count
    ("dpo", "per_token_logps", filled(-np.inf),
     "per_token_logps, row 0, column 2: found -inf, expected a log-prob, a finite number, at most 0."),
    ("dpo", "chosen_logps", filled(-np.inf), "chosen_logps, pair 0: found -inf, expected a log-prob, a finite number, at most 0."),
    ("weighted", "log_sum_sq_probs", filled(np.nan), "log_sum_sq_probs, row 0, column 2: found nan, expected the logarithm of"),
    # shapes
    ("dpo", "completion_mask", scalar, "completion_mask: found the shape [], expected [2P, T]: a row for each response"),
    ("dpo", "per_token_logps", np.ravel, "per_token_logps: found the shape [80], expected [2P, T]"),
    ("dpo", "input_ids", no_columns, "input_ids: found the shape [8, 0], expected [2P, T]"),
    ("dpo", "margins", scalar, "margins: found the shape [], expected [P], a number for each pair."),
    ("dpo", "margins", lambda array: np.stack([array, array], 1), "margins: found the shape [4, 2], expected [P]"),
    ("dpo", "ref_rejected_logps", lambda array: array[None],
     "ref_chosen_logps [4] and ref_rejected_logps [1, 4] disagree: both sides need the same shape"),
    ("dpo", "margins", lambda array: array[:1], "margins has 1 pair and "),
    ("dpo", "per_token_logps", lambda array: array[:, :1], "completion_mask has 11 columns and per_token_logps 1: they need the"),
    ("rm", "input_ids", scalar, "input_ids: found the shape [], expected [2P, T]"),
    ("rm", "position_scores", no_columns, "position_scores: found the shape [8, 0], expected [2P, T]"),
    ("rm", "margin", scalar, "margin: found the shape [], expected [P], a number for each pair."),
    ("kto", "label", scalar, "label: found the shape [], expected [N], 1 on desirable responses."),
    ("kto", "label", lambda array: array[:0], "label is empty: there is no response in the file."),
    ("kto", "label", lambda array: array[:-1], " found the shape [4"),
    ("kto", "per_token_logps", scalar, "per_token_logps: found the shape [], expected [4, T], a row for each entry of"),
    ("kto", "per_token_logps", lambda array: array[:, :-1], "completion_mask has 11 columns and per_token_logps 9: they need the"),
    ("kto", "ref_per_token_logps", lambda array: array[:, :-1], "ref_per_token_logps has 9 columns and per_token_logps 10; they"),
    ("kto", "completion_mask", lambda array: array[:, :1], "completion_mask has 1 column and per_token_logps 10: they need the"),
    ("kto", "completion_mask", more_rows, "completion_mask: found the shape [5, 11], expected [4, T], a row for each entry of"),
    ("kto", "ref_KL_logps", more_rows, "ref_KL_logps: found the shape [5], expected [4], a number for each entry of label."),
    ("kto", "KL_logps", lambda array: array[:-1], "KL_logps: found the shape [3], expected [4], a number for each entry of label."),
    ("rm", "position_scores", filled(np.nan), "position_scores: found no finite number in row 0, column 0, where a token"),
    ("rm", "position_scores", lambda array: array[:, :-1], "position_scores has 10 columns and input_ids 11; they need the same."),
    ("dpo", "ref_per_token_logps", lambda array: array[:, :-1], "ref_per_token_logps has 9 columns and per_token_logps 10; they"),
    ("sft", "per_token_logps", np.ravel, "per_token_logps: found the shape [40], expected [B, T]: texts, positions."),
    # masks and token ids
    ("ipo", "completion_mask", first(2), "completion_mask: found 2 in row 0, column 0; a mask is 0 or 1."),
    ("dpo", "completion_mask", first(2**62), "completion_mask: found 4611686018427387904 in row 0, column 0; a mask is 0 or 1."),
    ("dpo", "attention_mask", filled(np.nan), "attention_mask: found nan in row 0, column 0; a mask is 0 or 1."),
    ("dpo", "completion_mask", lambda array: array + (np.arange(8) == 5)[:, None] * 3, "found 3 in row 5, column 0; a mask is"),
    ("rm", "attention_mask", filled(np.nan), "attention_mask: found nan in row 0, column 0; a mask is 0 or 1."),
    ("kto", "completion_mask", first(-1), "completion_mask: found -1 in row 0, column 0; a mask is 0 or 1."),
    ("kto", "label", filled(np.nan), "label: found nan in row 0, expected 0 or 1."),
    ("sft", "mask", filled(np.nan), "mask: found nan in row 0, column 0; a mask is 0 or 1."),
    ("rm", "input_ids", filled(np.nan), "input_ids: found nan in row 0, column 0, expected whole numbers, as token ids are."),
    ("dpo", "input_ids", filled(0.5), "input_ids: found 0.5 in row 0, column 0, expected whole numbers, as token ids are."),
]  # fmt: skip


@pytest.mark.parametrize(("name", "tensor", "change", "sentence"), REFUSED)
def test_a_tensor_that_cannot_be_is_refused_in_a_sentence(
    name: str, tensor: str, change: Change, sentence: str, tmp_path: Path
) -> None:
    path = changed(tmp_path, name, {tensor: change})
    with pytest.raises(MinibatchError) as error:
        read_dump(path)
    assert str(error.value).startswith(f"{path}: ")
    assert sentence in str(error.value)
    assert inspect(path).refusal in str(error.value)


@pytest.mark.parametrize("name", ["dpo", "rm", "kto", "sft"])
def test_a_file_without_a_column_or_a_row_is_refused(name: str, tmp_path: Path) -> None:
    tensors, _ = read(name)
    for part in (lambda array: array[:0], lambda array: array[:, :0] if array.ndim > 1 else array):
        with pytest.raises(MinibatchError, match=r"found the shape|has 0 rows|is empty|no token counts"):
            read_dump(changed(tmp_path, name, dict.fromkeys(tensors, part)))


SAID: list[tuple[str, dict[str, Any], str]] = [
    ("dpo", {"hyperparameters": {"loss_type": []}}, "loss_type: found [], expected names of losses."),
    ("dpo", {"hyperparameters": {"loss_type": ["zzz"]}}, "loss_type: found zzz, expected one of sigmoid, hinge, ipo, exo_pair, "),
    ("dpo", {"hyperparameters": {"ld_alpha": 7}}, ": ld_alpha: found 7, expected a number from 0 to 1."),
    ("dpo", {"hyperparameters": {"use_weighting": "abc"}}, ": use_weighting: found abc, expected true or false."),
    ("kto", {"hyperparameters": {"beta": False}}, "hyperparameter beta: found false, expected a number from 0 to 100 (kto.beta)."),
    ("rm", {"hyperparameters": {"center_rewards_coefficient": -5}},
     "center_rewards_coefficient: found -5, expected a number from 0 to 1000."),
    ("rm", {"hyperparameters": {"center_rewards_coefficient": float("inf")}}, "found inf, expected a number from 0 to 1000."),
    ("rm", {"hyperparameters": {"center_rewards_coefficient": float("nan")}}, "found nan, expected a number from 0 to 1000."),
    ("sft", {"num_items_in_batch": 0.5},
     "metadata, num_items_in_batch: found 0.5, expected a whole number from 1 to 1,000,000,000,000."),
    ("sft", {"num_items_in_batch": "many"}, "metadata, num_items_in_batch: found many, expected a number."),
    ("sft", {"dp_size": 1e308}, "metadata, dp_size: found 1e+308, expected a whole number from 1 to 1,000,000."),
]  # fmt: skip


@pytest.mark.parametrize(("name", "said", "sentence"), SAID)
def test_a_setting_that_means_nothing_is_refused_under_the_name_of_the_file(
    name: str, said: dict[str, Any], sentence: str, tmp_path: Path
) -> None:
    with pytest.raises(MinibatchError) as error:
        read_dump(changed(tmp_path, name, **said))
    assert sentence in str(error.value)


@pytest.mark.parametrize("name", ["ipo", "weighted", "shared"])
def test_what_is_taken_for_trl_is_read_as_trl(name: str, tmp_path: Path) -> None:
    (part,) = verify_step([changed(tmp_path, name, drop=("library",))], VerifyOptions(causes=False)).parts
    assert part.verdict.first is None
    assert part.chosen.why == "because the file is taken for trl"
    assert not any("not understood" in note for note in part.verdict.notes)


@pytest.mark.parametrize("name", ["kto", "apo"])
def test_what_says_kto_is_kto_without_its_labels(name: str, tmp_path: Path) -> None:
    with pytest.raises(MinibatchError, match="nothing says which responses are good: label"):
        read_dump(changed(tmp_path, name, {"label": None}))


@pytest.mark.parametrize(
    ("said", "expected"),
    [
        ({"completion_only_loss": "zzz"}, "completion_only_loss: found zzz, expected one of true, false (sft.region)"),
        ({"loss_type": "zzz"}, "hyperparameter loss_type: found zzz, expected one of nll, dft (loss.dft)"),
        ({"loss.dft": "zzz"}, "hyperparameter loss.dft: found zzz, expected one of off, on (loss.dft)"),
    ],
)  # fmt: skip
def test_what_is_expected_of_a_library_s_setting_are_its_own_words(
    said: dict[str, str], expected: str, tmp_path: Path
) -> None:
    with pytest.raises(MinibatchError, match=re.escape(expected)):
        read_dump(changed(tmp_path, "sft", hyperparameters=said))


@pytest.mark.parametrize(
    ("name", "tensor"),
    [("rm", "attention_mask"), ("rm_pad", "attention_mask"), ("rm_pad", "input_ids")],
)  # fmt: skip
def test_without_what_tells_where_scores_are_read_these_are_not_compared(
    name: str, tensor: str, tmp_path: Path
) -> None:
    (part,) = verify_step([changed(tmp_path, name, {tensor: None})], VerifyOptions(causes=False)).parts
    assert part.verdict.first is None
    assert part.verdict.uncompared == dict.fromkeys(("rewards_chosen", "rewards_rejected"), tensor)
    assert len(part.verdict.lines) == 6
    assert "at which position scores are read, nothing tells" in part.verdict.replayed.batch.head


def test_a_file_without_margins_is_said_to_have_none(tmp_path: Path) -> None:
    of_margins = "no margin is there, and the loss is computed without one"
    assert of_margins in read_dump(changed(tmp_path, "rm", {"margin": None})).head
    assert of_margins not in read_dump(changed(tmp_path, "rm")).head


def test_kinds_that_cannot_be_compared_are_called_what_they_are(tmp_path: Path) -> None:
    files = [changed(tmp_path, "kto").rename(tmp_path / "kto.npz"), changed(tmp_path, "rm").rename(tmp_path / "rm.npz")]
    found = CliRunner().invoke(main, ["compare", *map(str, files)])
    said = f"{files[0]} is a step of KTO and {files[1]} a step of a reward model: compare two dumps of the same kind."
    assert said in found.output


LISTS: dict[str, list[dict[str, Any]]] = {
    "kto": [{"label": 1, "per_token_logps": [-1.0, -2.0], "ref_per_token_logps": [-1.0, -2.5], "completion_mask": [1.0, 1.0]},
            {"label": 0, "per_token_logps": [-1.0], "ref_per_token_logps": [-1.0], "completion_mask": [1.0]}],
    "sft": [{"logprobs": [-1.0, -2.0], "mask": [1.0, 1.0]}, {"logprobs": [-1.0], "mask": [1.0]}],
    "dpo": [{"per_token_logps": [-1.0, -2.0], "completion_mask": [1.0, 1.0], "input_ids": [1.0, 2.0]},
            {"per_token_logps": [-1.0], "completion_mask": [1.0], "input_ids": [3.0]}],
}  # fmt: skip


@pytest.mark.parametrize("name", LISTS)
def test_behind_the_end_of_a_list_a_mask_may_hold_nothing(name: str, tmp_path: Path) -> None:
    path = tmp_path / "lists.jsonl"
    path.write_text("\n".join(map(json.dumps, [{"metadata": {"algorithm": name}}, *LISTS[name]])), encoding="utf-8")
    assert read_dump(path).mask.tolist() == [[True, True], [True, False]]
