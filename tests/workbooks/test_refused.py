"""Wrong numbers are refused in a sentence that says where, what was found, and what is expected: `refused.csv` has one for each."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from blueprint.inputs import NumbersError, load
from blueprint.inputs.catalogue import OFF

with (Path(__file__).parents[1] / "data" / "refused.csv").open(encoding="utf-8", newline="") as file:
    REFUSED = [(row["numbers"], row["set"].split(" | "), row["sentence"]) for row in csv.DictReader(file)]
"""Built-in numbers, what is changed of them, and the sentence; one that does not end as a sentence does is its beginning."""


@pytest.mark.parametrize(
    ("numbers", "overrides", "sentence"), REFUSED, ids=[f"{each[0]} {each[2][:40]}" for each in REFUSED]
)
def test_wrong_numbers_are_refused_in_a_sentence(numbers: str, overrides: list[str], sentence: str) -> None:
    with pytest.raises(NumbersError) as refused:
        load(numbers, overrides)
    said = str(refused.value)
    assert said == sentence if sentence.endswith((".", "?")) else said.startswith(sentence)
    assert len(said) < 250


def test_every_step_has_a_score_per_action(tmp_path: Path) -> None:
    lines = ['level = "classic"', "[rollout]", "actions = [[0, 1]]", "rewards = [[1, 2]]", "done = [[0, 1]]"]
    lines += ["values_old = [[0, 0]]", "values_new = [[0, 0]]", "next_values = [0]"]
    lines += ["logits_old = [[[1, 2], [1, 2]]]", "logits_new = [[[1, 2], [1, 2, 3]]]"]
    path = tmp_path / "mine.toml"
    path.write_text("\n".join(lines), encoding="utf-8")
    with pytest.raises(NumbersError) as refused:
        load(path)
    assert (
        str(refused.value)
        == "rollout.logits_new, row 1, item 2: found 3 numbers, expected 2, one per action, as rollout.logits_old has."
    )
    path.write_text(path.read_text(encoding="utf-8").replace("[[1, 2], [1, 2]]", "[[1], [1]]"), encoding="utf-8")
    with pytest.raises(NumbersError) as refused:
        load(path)
    assert str(refused.value) == "rollout.logits_old, row 1, item 1: found 1 action, expected 2 to 64."


def test_off_is_a_limit_that_limits_nothing() -> None:
    assert load("classic", ["ppo.value_clip_range=off"]).ppo == {"value_clip_range": OFF}
