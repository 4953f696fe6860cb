"""GRPO from prompts on: the policy writes, rules score, the loss follows, and its gradient goes to every weight."""

from functools import cache

import numpy as np
import pytest

from blueprint.book import Book
from blueprint.inputs.load import load
from blueprint.workbooks import blueprint_of

ROLLED = (
    "three <eos>", "four <eos>", "is three <eos>", "two <eos>", "four <eos>", "three <eos>", "two plus two plus", "three <eos>",
    "two <eos>", "two <eos>", "is two <eos>", "two <eos>",
)  # fmt: skip
"""What the policy writes on the draws of the default, four answers to each sum."""
RIGHT = ("three", "four", "two")


@cache
def book(*overrides: tuple[str, object]) -> Book:
    """Computes the default numbers with some of them changed."""
    return Book(blueprint_of(load("grpo", dict(overrides))))


def row(name: str, *overrides: tuple[str, object]) -> np.ndarray:
    """Returns a row of such a workbook."""
    made = book(*overrides)
    return np.asarray(made.values[next(each for each in made.blueprint.blocks() if each.name == name)])


def score(response: str, answer: str) -> float:
    """Scores a response as the rules are told to a class: right if the answer stands last, and then nothing but the end."""
    return float(response.split()[-2:] == [answer, "<eos>"])


def test_the_policy_writes_what_the_draws_say() -> None:
    words, mask = row("word_written"), row("mask")
    for said, written, m in zip(ROLLED, words, mask, strict=True):
        assert " ".join(word for word, counts in zip(written, m, strict=True) if counts) == said


def test_rules_give_what_one_reads_off_the_responses() -> None:
    wanted = [score(each, RIGHT[at // 4]) for at, each in enumerate(ROLLED)]
    assert row("score").tolist() == wanted
    assert sum(wanted[:4]) == 2, (
        "the first group is half right, so that the sheet opens on a derivation and not on zeros"
    )
    assert (sum(wanted[4:8]), sum(wanted[8:])) == (1, 4)
    assert np.abs(row("advantages")[:4]).max() > 0.5
    assert row("truncated").tolist() == [float(not each.endswith("<eos>")) for each in ROLLED]


@pytest.mark.parametrize("free", [1, 2, 3])
def test_tokens_beyond_those_that_are_free_cost_a_hundredth_each(free: int) -> None:
    wanted = [score(each, RIGHT[at // 4]) - 0.01 * max(0, len(each.split()) - free) for at, each in enumerate(ROLLED)]
    np.testing.assert_allclose(row("score", ("reward.free_tokens", free)), wanted, rtol=0, atol=1e-15)


def test_a_hundredth_is_divided_up_to_full_size_where_nothing_else_differs() -> None:
    """The last group is all right: its spread is that of the length penalty alone, and its longest answer pays for it."""
    assert np.abs(row("advantages")[8:]).max() == 0
    costly = row("advantages", ("reward.free_tokens", 2))[8:]
    assert costly.min() == pytest.approx(-1.5 / (1 + 1e-4 / 0.005), abs=1e-9)


def test_anywhere_pays_for_a_response_that_says_more_than_the_answer() -> None:
    """two plus two plus holds no four; with another answer it would be right as soon as the word falls."""
    swapped = ("text.answers", ("three", "two", "two"))
    assert row("score", swapped)[6] == 0
    assert row("score", swapped, ("reward.answer", "anywhere"))[6] == 1


def test_typed_scores_and_the_reward_model_take_the_place_of_the_rules() -> None:
    assert row("score", ("reward.from", "typed")).tolist() == row("score.typed").tolist()
    judged = row("score", ("reward.from", "model"))
    np.testing.assert_array_equal(judged, row("judge.score").sum(-1))
    assert len(set(judged.round(6))) > 3


def test_the_loss_is_0_at_the_first_step_and_yet_it_learns() -> None:
    """With each response weighing the same the loss is the mean of centred advantages; its gradient is that of REINFORCE."""
    first = (("ppo.update_step", 0), ("loss.aggregation", "seq_mean_token_mean"), ("gradients", "on"))
    assert abs(float(row("total_loss", *first))) < 1e-15
    assert np.abs(row("ratio", *first) - 1).max() == 0
    slope, m, A = row("policy.logprobs.grad", *first), row("mask", *first), row("advantages", *first)
    np.testing.assert_allclose(slope, -A * m / (12 * m.sum(1, keepdims=True)), rtol=0, atol=1e-15)
    assert float(row("policy.grad.norm", *first)) > 0.1


def test_a_prompt_that_is_not_that_of_its_group_is_found() -> None:
    """Another prompt above one response of a group: no rule could tell what is right there."""
    outline = blueprint_of(load("grpo"))
    given = next(each for each in outline.blocks() if each.name == "given")
    typed = np.array(outline.typed[given], dtype=object)
    typed[5, 0] = "one"
    changed = Book(outline.with_typed({"given": typed}))
    blocks = {each.name: each for each in outline.blocks()}
    assert changed.values[blocks["check.same_prompt"]].max() > 0
    assert book().values[next(b for b in book().blueprint.blocks() if b.name == "check.same_prompt")].max() == 0
