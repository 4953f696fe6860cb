"""Numbers of level "logits": what is taken from the file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from blueprint.inputs import load
from blueprint.workbooks.rlhf_ppo.conventions_and_update import RlhfNumbers

ROLLOUT = json.loads((Path(__file__).parents[1] / "data" / "golden_runs.json").read_text(encoding="utf-8"))["rollout"]

SMALL = """
level = "logits"
[text]
vocabulary = ["<eos>", "a", "b"]
responses = [["a", "<eos>", "a"], ["b", "b", "b"]]
[old]
logits = [[[0, 1, 2], [1, 0, 0], [0, 0, 0]], [[0, 1, 2], [1, 0, 0], [0, 0, 0]]]
[reference]
logits = [[[0, 1, 2], [1, 0, 0], [0, 0, 0]], [[0, 1, 2], [1, 0, 0], [0, 0, 0]]]
[policy]
logits = [[[0, 1, 2], [1, 0, 0], [0, 0, 0]], [[0, 1, 2], [1, 0, 0], [0, 0, 0]]]
[old_critic]
values = [[1, 2, 3], [1, 2, 3]]
[critic]
values = [[1, 2, 3], [1, 2, 3]]
[reward_model]
scores = [1, -1]
"""


def loaded(source: str | Path, *overrides: str) -> RlhfNumbers:
    """Loads numbers of this level."""
    found = load(source, overrides)
    assert isinstance(found, RlhfNumbers)
    return found


@pytest.fixture
def small(tmp_path: Path) -> Path:
    """Writes a small file."""
    path = tmp_path / "small.toml"
    path.write_text(SMALL, encoding="utf-8")
    return path


def test_the_built_in_batch_is_the_one_on_which_the_libraries_were_run() -> None:
    numbers = loaded("ten-libraries")
    slots = slice(ROLLOUT["Q"] - 1, -1)  # the column that reads a word scores the word behind it
    for ours, theirs in (("old", "old"), ("reference", "ref"), ("policy", "new")):
        assert np.array_equal(numbers[f"{ours}.logits"], np.array(ROLLOUT[f"logits_{theirs}"])[:, slots])
    for ours, theirs in (("old_critic", "old"), ("critic", "new")):
        assert np.array_equal(numbers[f"{ours}.values"], np.array(ROLLOUT[f"values_full_{theirs}"])[:, slots])
    ids = {word: number for number, word in enumerate(numbers["text.vocabulary"])}
    assert [[ids[word] for word in row] for row in numbers["text.responses"]] == ROLLOUT["responses"]
    assert numbers["text.mask"].sum(axis=1).tolist() == ROLLOUT["response_lens"]
    assert numbers["reward_model.scores"].tolist() == ROLLOUT["scores"]
    assert (ids[numbers["text.end_word"]], numbers.conventions.live) == (ROLLOUT["eos_id"], True)


def test_the_mask_reaches_up_to_the_first_end_word_unless_it_is_given(small: Path) -> None:
    assert loaded(small)["text.mask"].tolist() == [[1, 1, 0], [1, 1, 1]]
    assert loaded(small, 'text.end_word="b"')["text.mask"].tolist() == [[1, 1, 1], [1, 0, 0]]
    assert loaded(small, "text.mask=[[1, 0, 1], [0, 0, 0]]")["text.mask"].tolist() == [[1, 0, 1], [0, 0, 0]]


def test_a_minibatch_is_taken_in_the_order_asked_for(small: Path) -> None:
    numbers = loaded(small, "text.episodes=[2]")
    assert (numbers["text.responses"], numbers["reward_model.scores"].tolist(), numbers["old.logits"].shape) == (
        (("b", "b", "b"),),
        [-1],
        (1, 3, 3),
    )
    assert loaded(small, "text.episodes=[2, 1]")["reward_model.scores"].tolist() == [-1, 1]
