"""GRPO from one's own rewards and log-probs: what is not given, what follows, and torch beside it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("torch", reason="the outside witness needs torch")

from blueprint import Book
from blueprint.inputs import NumbersError, load, tables_of
from blueprint.reopening import back_from
from blueprint.workbooks import blueprint_of
from tests.checking.running import judged
from tests.reopening.alike import fields_that_differ
from tests.workbooks.apart import apart

LOGPROBS = {"policy": 0.1, "old": 0.0, "reference": -0.3, "engine": -0.05}
"""By model, by how much its log-probs are above others."""
WRITTEN = [["four"], ["it", "is", "=1+1"], ["a", "🙂", "*", "four"], []]


def given(*models: str, entropy: bool = False, **more: Any) -> dict[str, Any]:
    """Returns two prompts with two responses each, one of one token and one empty, and log-probs of some models."""
    words = {"prompts": ["two plus two", "=1+1"], "responses": WRITTEN}
    told: dict[str, Any] = {
        name: {"logprobs": [[-0.5 - 0.3 * place + LOGPROBS[name] * (place + 1) for place, _ in enumerate(row)] for row in WRITTEN]}
        for name in models
    }  # fmt: skip
    if entropy:
        told["policy"]["entropy"] = [[0.5 + place for place, _ in enumerate(row)] for row in WRITTEN]
    tables: dict[str, Any] = {"level": "rollouts", "text": words, "reward": {"scores": [1, 0, 0.5, -1]}, **told}
    return {key: {**tables.get(key, {}), **value} if isinstance(value, dict) else value for key, value in more.items()} | {
        key: each for key, each in tables.items() if key not in more
    }  # fmt: skip


def built(tables: dict[str, Any], *overrides: str) -> Book:
    return Book(blueprint_of(load(tables_of(tables), overrides)))


ALL = ("policy", "old", "reference", "engine")
SETS: tuple[tuple[tuple[str, ...], bool, tuple[str, ...]], ...] = (
    ((), False, ("gradients=on",)),
    (("policy",), False, ("preset=cispo_paper",)),
    (("policy", "old"), True, ("loss.ent_coef=0.01", "gradients=on")),
    (("policy", "reference"), False, ("preset=openrlhf",)),
    (("policy", "engine"), False, ("rollout.level=token", "rollout.high=1.04", "rollout.statistic=binary_kl")),
    (ALL, True, ("preset=verl_grpo", "kl.place=loss", "gradients=on")),
)


@pytest.mark.parametrize(("models", "entropy", "overrides"), SETS)
def test_torch_agrees_whatever_is_given(models: tuple[str, ...], entropy: bool, overrides: tuple[str, ...]) -> None:
    assert apart(built(given(*models, entropy=entropy), *overrides)) == {}


def test_without_any_log_prob_loss_and_gradient_are_those_of_a_first_step() -> None:
    """The loss is minus the mean of the advantages over tokens, and pulls each token by minus its own over N."""
    book = built(given(), "gradients=on")
    rows = {block.name: array for block, array in book.values.arrays.items()}
    r = np.array([[1, 0], [0.5, -1]])
    A = ((r - r.mean(1, keepdims=True)) / (r.std(1, ddof=1, keepdims=True) + 1e-4)).ravel()
    lengths = np.array([len(row) for row in WRITTEN])
    assert float(rows["total_loss"]) == pytest.approx(-(A * lengths).sum() / lengths.sum(), abs=1e-12)
    slopes = rows["policy.logprobs.grad"]
    for row, length, own in zip(slopes, lengths, A, strict=True):
        assert row[:length] == pytest.approx(-own / lengths.sum(), abs=1e-12)
    assert not {"kl.place", "rollout.level", "loss.ent_coef"} & rows.keys()


def test_a_token_that_is_certain_under_one_model_alone_is_computed() -> None:
    """A log-prob of exactly 0, as rounding leaves it, has no KL of two outcomes: nothing else asks for one."""
    sure = given("policy", "old", "engine")
    sure["policy"]["logprobs"][0] = sure["old"]["logprobs"][0] = [0.0]
    assert apart(built(sure)) == {}


@pytest.mark.parametrize("models", [(), ALL])
def test_a_saved_workbook_is_checked_and_comes_back(models: tuple[str, ...], tmp_path: Path) -> None:
    tables = given(*models, entropy=bool(models))
    path = tmp_path / "mine.xlsx"
    built(tables, "gradients=on").save(path)
    verdict = judged(path)
    assert verdict.firsts == ()
    assert "policy.logprobs.grad" in {line.name for line in verdict.lines}
    back = back_from(path)
    assert (back.unheld, back.remarks) == ([], [])
    assert fields_that_differ(load(tables_of(tables), ["gradients=on"]), back.numbers) == []


TOGETHER = (
    "old.logprobs: found numbers of each token, expected those of policy.logprobs, too, with which they are compared."
)
UNREAD = "kl.coef: found 0.1 without reference.logprobs, expected no such key, or reference.logprobs in the file, which it reads."
EMPTY = "text.responses: found no token in any response, expected a token in at least one of them."
SENTENCES = (
    (given("old"), TOGETHER),
    (given(kl={"coef": 0.1}), UNREAD),
    (given(text={"responses": [["a"], ["b"], ["c"]]}, reward={"scores": [1, 2, 3]}),
     "text.responses: found 3 responses, expected as many for each of the 2 prompts."),
    (given(text={"responses": [[], [], [], []]}), EMPTY),
    (given(policy={"logprobs": [[0.1], [-1, -1, -1], [-1, -1, -1, -1], []]}),
     "policy.logprobs, row 1, item 1: found 0.1, expected a log-probability of at most 0."),
    (given(policy={"logprobs": [[-0.1], [-1, -1], [-1, -1, -1, -1], []]}),
     "policy.logprobs, row 2: found 2 numbers, expected 3, one per position, as text.responses has."),
)  # fmt: skip


@pytest.mark.parametrize(("tables", "sentence"), SENTENCES, ids=[each[1][:24] for each in SENTENCES])
def test_what_does_not_go_together_is_refused(tables: dict[str, Any], sentence: str) -> None:
    with pytest.raises(NumbersError) as refused:
        load(tables_of(tables))
    assert str(refused.value) == sentence
