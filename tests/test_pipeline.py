"""One small model through all stages: what each hands over, rounded, is what the next ones begin with, number by number."""

from __future__ import annotations

from functools import cache
from math import log
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from blueprint.book import Book
from blueprint.inputs.load import load
from blueprint.workbooks import blueprint_of
from tests.commands import run_command
from tests.page.workshop import Array
from tests.pipeline import CHAIN, NAME, STAGES, file_of, handed_over, passed_on, with_weights

PASSED = [(each, *to) for each in CHAIN for to in passed_on(each)]


@cache
def numbers(stage: str) -> Any:
    """Reads the numbers of a stage; each kind keeps them in a way of its own."""
    return load(NAME(stage))


@cache
def book(stage: str) -> Book:
    """Computes the workbook of a stage."""
    return Book(blueprint_of(numbers(stage)))


def row(stage: str, name: str) -> Array:
    """Returns a row of such a workbook."""
    made = book(stage)
    return np.asarray(made.values[next(each for each in made.blueprint.blocks() if each.name == name)])


def weight(stage: str, key: str) -> Array:
    """Returns weights of a numbers file, wherever its kind keeps them."""
    found = numbers(stage)
    return np.asarray(found.weights[key] if hasattr(found, "weights") else found[key])


@cache
def made(place: int) -> dict[str, Array]:
    """Returns what a stage hands over."""
    each = CHAIN[place]
    return handed_over(book(each.stage), each.model, each.parts)


@pytest.mark.parametrize(("place", "stage", "table"), [(CHAIN.index(each), *to) for each, *to in PASSED])
def test_what_a_stage_hands_over_is_what_the_next_begins_with(place: int, stage: str, table: str) -> None:
    found = made(place)
    assert max(len(str(number).partition(".")[2]) for part in found.values() for number in part.ravel().tolist()) == 2
    for part, each in found.items():
        assert weight(stage, f"{table}.{part}").tolist() == each.tolist()
    text = file_of(stage).read_text(encoding="utf-8")
    assert with_weights(text, table, found) == text, "python -m tests.pipeline writes the same file again"


def test_rounding_is_shown_and_moves_no_weight_by_more_than_half_a_unit() -> None:
    for part in "EWY":
        exact, rounded = row("sft", f"update3.policy.{part}"), row("sft", f"update3.handed.policy.{part}")
        assert 0 < np.abs(exact - rounded).max() <= 0.005 + 1e-15


def test_the_first_stage_learns_its_demonstrations() -> None:
    assert (np.diff(row("sft", "epochs.perplexity")) < 0).all()


def judged(text: str) -> float:
    """Scores a text with the weights that PPO's judge is given, as a class would: a loop over its tokens."""
    E, W, w, b = (weight("ppo", f"reward_model.{part}") for part in ("E", "W", "w", "b"))
    words, h = list(numbers("sft")["text.vocabulary"]), np.zeros(W.shape[1])
    for word in text.split():
        h = np.tanh(np.concatenate([E[words.index(word)], h, [1.0]]) @ W)
    return float(h @ w + b)


def test_the_rounded_reward_model_ranks_as_it_was_taught_and_judges_ppo() -> None:
    old, other = "the old dog is {} <eos>".format, "the dog is {} <eos>".format
    assert judged(old("very sleepy")) > judged(old("sleepy")) > judged(old("happy"))
    assert judged(other("sleepy")) > judged(other("happy"))
    written = [judged(old("very sleepy")), judged(other("happy"))]
    np.testing.assert_allclose(row("ppo", "reward.score").sum(1), written, rtol=0, atol=1e-14)
    np.testing.assert_allclose(row("grpo", "score")[[0, 4]], written, rtol=0, atol=1e-14)


def test_the_reward_model_is_right_before_its_steps_end() -> None:
    assert row("reward-model", "epochs.accuracy")[-1] == 1
    assert (np.diff(row("reward-model", "epochs.total_loss")) < 0).all()


def test_dpo_learns_the_pairs_of_the_reward_model() -> None:
    found = numbers("dpo")
    pairs = zip(found["text.prompts"], found["text.chosen"], found["text.rejected"], strict=True)
    texts = [tuple(text) for text in numbers("reward-model")["text.texts"]]
    named = {(1 + texts.index(x + good), 1 + texts.index(x + bad)) for x, good, bad in pairs}
    taught = (np.asarray(numbers("reward-model")[f"pairs.{side}"]).tolist() for side in ("chosen", "rejected"))
    assert named == {*zip(*taught, strict=True)}
    assert len(named) == 4


def test_policy_and_reference_are_one_model_when_ppo_begins() -> None:
    for stage, name in (("ppo", "log_ratio"), ("ppo", "kl.exact"), ("grpo", "kl.exact")):
        assert np.abs(row(stage, name)).max() < 1e-15
    assert np.ptp(row("grpo", "ratio")) == 0


def test_dpo_begins_at_ln_2_and_its_chosen_reward_falls_while_the_margin_grows() -> None:
    loss, chosen, margin = (
        row("dpo", f"epochs.{name}") for name in ("preference_loss", "rewards.chosen", "rewards.margins")
    )
    assert loss[0] == pytest.approx(log(2), abs=1e-15)
    assert loss[1] < loss[0]
    assert chosen[1] < 0 < margin[1]


def test_all_stages_have_one_vocabulary_and_the_same_prompts() -> None:
    def vocabulary(stage: str) -> tuple[str, ...]:
        found = numbers(stage)
        return tuple(found.vocabulary if hasattr(found, "vocabulary") else found["text.vocabulary"])

    assert len({vocabulary(stage) for stage in STAGES}) == 1
    assert {" ".join(each) for each in numbers("dpo")["text.prompts"]} == {"the old dog is", "the dog is"}
    assert {" ".join(each) for each in numbers("grpo")["text.prompts"]} == {"the old dog is", "the dog is"}
    assert {" ".join(each) for each in numbers("ppo").prompts} == {"the old dog is", "the dog is"}


def test_a_stage_is_built_under_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    built = run_command("build", "--numbers", "pipeline/sft", "--set", "update.epochs=1", "--no-proof")
    assert built.exit_code == 0, built.output
    assert (tmp_path / "pipeline-sft.xlsx").exists()
    told = run_command("numbers", "pipeline-sft.xlsx")
    assert "decimals = 2" in told.output


def test_what_rounding_leaves_of_0_is_called_so(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    numbers, left, *_ = run_command("build", "--numbers", "pipeline/ppo", "--no-proof").output.splitlines()[2:]
    assert left == f"  {numbers.split()[0]} is 0: it is what rounding has left"
