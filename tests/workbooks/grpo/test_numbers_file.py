"""A wrong numbers file of GRPO is refused in a sentence: where, what was found, what is expected; what is small is taken."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the outside witness needs torch")

from blueprint.book import Book
from blueprint.inputs import NumbersError, load
from blueprint.language import NoNumber
from blueprint.workbooks import blueprint_of
from tests.workbooks.apart import apart

BASE = load("grpo-batch")
RESPONSES, MASK = (
    [list(row) for row in BASE["text.responses"]],
    [[int(each) for each in row] for row in BASE["text.mask"]],
)
SCORES, LOGITS = list(map(float, BASE["reward.scores"])), np.array(BASE["policy.logits"]).tolist()
VOCABULARY = list(BASE["text.vocabulary"])
REFUSED: list[tuple[dict[str, Any], str]] = [
    ({"text.responses": RESPONSES[:11]}, "text.mask: found 12 rows, expected 11, one per response, as text.responses has."),
    ({"reward.scores": SCORES[:11]}, "reward.scores: found 11 numbers, expected 12, one per response, as text.responses has."),
    ({"reward.scores": ["good", *SCORES[1:]]}, 'reward.scores, item 1: found "good", expected a number.'),
    ({"reward.scores": [float("nan"), *SCORES[1:]]}, "reward.scores, item 1: found nan, expected a finite number."),
    ({"reward.scores": [True, *SCORES[1:]]}, "reward.scores, item 1: found true, expected a number."),
    ({"reward.scores": [1e308, *SCORES[1:]]}, "reward.scores, item 1: found 1e+308, expected at most 9.99e+307, all that a"),
    ({"text.mask": [[0.5, *MASK[0][1:]], *MASK[1:]]}, "text.mask, row 1, item 1: found 0.5, expected 0 or 1."),
    ({"text.mask": [[1, 0, 1, 0, 0, 0], *MASK[1:]]}, "text.mask: found a 1 behind a 0, expected 1 from the first position to"),
    ({"text.mask": [MASK[0][:5], *MASK[1:]]}, "text.mask, row 1: found 5 numbers, expected 6, one per position, as text."),
    ({"text.prompts": list("abcde"), "reward.greedy": [0.0] * 5},
     "text.responses: found 12 responses, expected as many for each of the 5 prompts."),
    ({"text.responses": [["zzz", *RESPONSES[0][1:]], *RESPONSES[1:]]},
     "text.responses, row 1: found zzz, expected a token of text.vocabulary."),
    ({"text.vocabulary": [*VOCABULARY[:-1], VOCABULARY[1].upper()]},
     f'text.vocabulary: found "{VOCABULARY[1]}" and "{VOCABULARY[1].upper()}", expected tokens that differ by more than case.'),
    ({"policy.logits": LOGITS[0]}, "policy.logits, row 1, item 1: found 1.2, expected a list."),
    ({"policy.logits": [LOGITS[0][:5], *LOGITS[1:]]}, "policy.logits, row 1: found 5 lists, expected 6, one per position, as"),
    ({"reward.score": SCORES}, "reward.score: unknown key, did you mean reward.scores?"),
]  # fmt: skip


@pytest.mark.parametrize(("given", "sentence"), REFUSED, ids=[sentence[:40] for _, sentence in REFUSED])
def test_a_wrong_file_is_refused_in_a_sentence(given: dict[str, Any], sentence: str) -> None:
    with pytest.raises(NumbersError) as refused:
        load("grpo-batch", given)
    assert str(refused.value).startswith(sentence)
    assert len(str(refused.value)) < 250


def first(responses: int, prompts: int, positions: int = 6) -> dict[str, Any]:
    """Returns the first responses of the batch, as those to so many prompts."""
    logits = {f"{name}.logits": np.array(BASE[f"{name}.logits"])[:responses, :positions].tolist()
              for name in ("policy", "old", "reference", "engine")}  # fmt: skip
    return logits | {
        "text.responses": [row[:positions] for row in RESPONSES[:responses]], "text.truncated": [0] * responses,
        "text.mask": [row[:positions] for row in MASK[:responses]], "reward.scores": SCORES[:responses],
        "reward.greedy": [0.5] * prompts, "text.prompts": [f"prompt {place}" for place in range(prompts)],
    }  # fmt: skip


TAKEN = {
    "one response to each prompt": first(12, 12), "one response in all": first(1, 1), "groups of two": first(12, 6),
    "one position": first(12, 3, 1), "an empty group": {"text.mask": [[0] * 6] * 4 + MASK[4:]},
    "one reward that differs": {"reward.scores": [0.7, 0.7, 0.7, 1, 0.9, 0, 0.9, 0.9, *[0.1] * 4], "preset": "nemo_rl"},
}  # fmt: skip


@pytest.mark.parametrize("name", TAKEN)
def test_what_is_small_or_empty_is_taken(name: str) -> None:
    book = Book(blueprint_of(load("grpo-batch", TAKEN[name])))
    assert np.isfinite(float(book.values.cell(book.blocks["total_loss"])))
    assert apart(book) == {}


def test_rewards_that_add_up_beyond_the_largest_number_are_a_sentence() -> None:
    numbers = load("grpo-batch", {"reward.scores": [9e307] * 12})
    with pytest.raises(
        NoNumber, match=r"group.total \(q = 1, Groups!\w+\) has no number: .* is beyond 1.8e308, the largest"
    ):
        Book(blueprint_of(numbers))
