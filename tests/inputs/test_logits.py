"""Numbers of level "logits": what is taken from the file, and what is refused in a sentence."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from blueprint.inputs import load
from blueprint.inputs.errors import NumbersError
from blueprint.workbooks.rlhf_ppo.inputs import RlhfNumbers

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


# (override, the sentence)
REFUSED = [
    ('text.responses=[["a"], ["b", "b"]]',
     "text.responses, row 2: found 2 tokens, expected 1, one per position, as text.responses has."),
    ('text.responses=[["c", "a", "a"], ["b", "b", "b"]]',
     'text.responses, row 1, item 1: found "c", not in the vocabulary, write one of <eos>, a, b.'),
    ("text.responses=[[], []]", "text.responses, row 1: found 0 positions, expected 1 to 500."),
    ('conventions="plain"', "conventions: found plain, expected live, the only ones of numbers that begin at logits."),
    ("text.responses=[]", "text.responses: found 0 responses, expected 1 to 64."),
    ('text.vocabulary=["a"]', "text.vocabulary: found 1 token, expected 2 to 64."),
    ('text.vocabulary=["a", "A", "b"]',
     'text.vocabulary: found "a" and "A", expected tokens that differ by more than case.'),
    ('text.end_word="stop"', 'text.end_word: found "stop", not in the vocabulary, write one of <eos>, a, b.'),
    ("text.mask=[[1, 0, 2], [1, 1, 1]]", "text.mask, row 1, item 3: found 2, expected 0 or 1."),
    ("text.mask=[[1, 0], [1, 1, 1]]", "text.mask, row 1: found 2 numbers, expected 3, one per position, as text.responses has."),
    ("text.episodes=[3]", "text.episodes: found [3], expected numbers from 1 to 2, each once."),
    ("text.episodes=[1, 1]", "text.episodes: found [1, 1], expected numbers from 1 to 2, each once."),
    ("old.logits=[[[0, 1, 2]]]", "old.logits: found 1 row, expected 2, one per response, as text.responses has."),
    ("old.logits=[[[0, 1], [0, 1], [0, 1]], [[0, 1, 2], [0, 1, 2], [0, 1, 2]]]",
     "old.logits, row 1, item 1: found 2 numbers, expected 3, one per token, as text.vocabulary has."),
    ("old.logits=[[[0, nan, 1]]]", "old.logits, row 1, item 1: found nan, expected a finite number."),
    ("critic.values=[[1, 2, 3]]", "critic.values: found 1 row, expected 2, one per response, as text.responses has."),
    ("reward_model.scores=[1]", "reward_model.scores: found 1 number, expected 2, one per response, as text.responses has."),
    ("rollout.draws=[]", "rollout: not at this level; numbers that begin at "
     "weights, classic, prompts, responses or rollouts have it."),
    ("policy.Y=[]", "policy.Y: not at this level; "),
]  # fmt: skip


@pytest.mark.parametrize(("override", "sentence"), REFUSED, ids=[each[:30] for each, _ in REFUSED])
def test_what_does_not_belong_together_is_refused(small: Path, override: str, sentence: str) -> None:
    with pytest.raises(NumbersError) as refused:
        load(small, [override])
    assert str(refused.value).startswith(sentence)
