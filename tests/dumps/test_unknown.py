"""What is not understood is said, by its name, with the known name that it may have meant."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from blueprint.dumps import MinibatchError, inspect, read_dump
from blueprint.dumps.read import MOST_LISTED
from tests.dumps.batches import batch, reread

SAID = {
    "hyperparameters": {"lr": 1e-6, "algorithm": {"lamda": 0.95, "gamma": 1.0}},
    "logged": {"perf/mfu": 0.3, "policy_los": 1.0, "loss": 1.0},
    "librari": "verl",
}


def unknown(notes: tuple[str, ...]) -> list[str]:
    """Returns the sentences on what is not understood."""
    return [note for note in notes if "not understood" in note]


def test_each_kind_of_unknown_names_is_said_once(tmp_path: Path) -> None:
    found = reread(tmp_path, batch() | {"advantags": np.ones((3, 6))}, SAID)
    assert unknown(found.notes) == [
        "tensors that are not understood and change nothing: advantags (did you mean advantages?)",
        "hyperparameters that are not understood and change nothing: algorithm.lamda (did you mean algorithm.lam?), lr",
        "logged numbers that are not understood and change nothing: policy_los (did you mean policy_loss?), perf/mfu",
        "metadata that are not understood and change nothing: librari (did you mean library?)",
    ]
    assert found.hyperparameters == {"ppo.gamma": 1.0}


def test_nothing_is_said_where_all_is_understood(tmp_path: Path) -> None:
    assert unknown(reread(tmp_path, batch(), {"library": "verl", "hyperparameters": {"lam": 0.9}}).notes) == []


def test_a_whole_configuration_is_cut_short_and_the_likely_mistake_goes_first(tmp_path: Path) -> None:
    many: dict[str, float] = {f"optimiser_{number:02}": 0.0 for number in range(40)}
    (said,) = unknown(reread(tmp_path, batch(), {"hyperparameters": many | {"lamda": 0.9}}).notes)
    assert said.partition(": ")[2].startswith("lamda (did you mean lam?), optimiser_00, optimiser_01")
    assert said.endswith(f" … and {41 - MOST_LISTED} more")
    assert said.count("optimiser_") == MOST_LISTED - 1


def test_inspect_lists_them_in_its_own_places_only(tmp_path: Path) -> None:
    reread(tmp_path, batch(), SAID)
    found = inspect(tmp_path / "run.npz")
    assert found.mentioned.unknown_settings == ("lr", "algorithm.lamda")
    assert found.batch is not None
    assert unknown(found.batch.notes) == []


REAL = Path(__file__).parents[1] / "data" / "real"


def test_tensors_that_are_known_and_not_read_are_said_and_token_ids_are_not(tmp_path: Path) -> None:
    of_verl = read_dump(REAL / "verl_grpo" / "grpo" / "verl-batch_000000.safetensors")
    said = "tensors that nothing here reads, and that are not compared: "
    assert f"{said}returns, token_level_rewards" in of_verl.notes
    ids = {"position_ids": np.ones((3, 6), np.int64), "sum_pi_squared": np.ones((3, 6))}
    assert f"{said}sum_pi_squared" in reread(tmp_path, batch() | ids, {"library": "verl"}).notes
    of_kto = min((REAL / "trl_kto" / "kto").glob("*.safetensors"))
    assert not [note for note in read_dump(of_kto).notes if note.startswith(said)]


def test_a_logged_number_in_quotes_is_refused_as_that(tmp_path: Path) -> None:
    said = {"library": "verl", "logged": {"actor/pg_loss": "-0.5"}}
    with pytest.raises(MinibatchError, match=r'logged actor/pg_loss: found "-0\.5" in quotes, expected a number\.'):
        reread(tmp_path, batch(), said)


@pytest.mark.parametrize(
    ("name", "value"),
    [("response_mask", ["True", "True"]), ("response_mask", "11"), ("scores", "0.5"), ("logprobs_new", ["-0.1"] * 2)],
)
def test_texts_in_the_place_of_numbers_are_refused_and_not_left_out(tmp_path: Path, name: str, value: object) -> None:
    row = {
        "logprobs_old": [-0.5, -0.5],
        "logprobs_new": [-0.5, -0.4],
        "response_mask": [1, 0],
        "scores": 1.0,
        "advantages": 0.5,
    }
    lines = [{"metadata": {"algorithm": "grpo", "layout": "response"}}, row | {name: value}, row | {name: value}]
    path = tmp_path / "words.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    with pytest.raises(MinibatchError, match=f"{name}: found texts, such as .*, expected numbers or true and false"):
        read_dump(path)


def test_texts_of_prompts_and_responses_may_stand_beside_numbers(tmp_path: Path) -> None:
    row = {
        "old_log_probs": [-0.5],
        "log_prob": [-0.4],
        "prompts": "Why?",
        "responses": "So.",
        "uid": "a",
        "advantages": 0.5,
    }
    lines = [{"metadata": {"library": "verl", "algorithm": "grpo", "layout": "response"}}, row, row]
    path = tmp_path / "words.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)), "utf-8")
    assert read_dump(path).kind == "grpo"
