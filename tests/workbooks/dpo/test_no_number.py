"""Where a library of direct preference has inf or nan, or counts in a way of its own: its expression against the front door.

The expressions in plain torch: HALOs 4831988, trainers.py, get_sequence_rewards, IPOTrainer, SimPOTrainer; TRL 1.16.0,
orpo_trainer.py, odds_ratio_loss, cpo_trainer.py, get_batch_logps, dpo_trainer.py (ipo).
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor
from torch.nn.functional import logsigmoid

import blueprint as bp
from blueprint.notation import NotationError
from blueprint.workbooks.registry import kind_named
from tests.workbooks.apart import apart

NEAR = 1e-12
SIDES = ("chosen", "rejected")
Rows = list[float]


def built(
    policy: tuple[Rows, Rows], reference: tuple[Rows, Rows] | None, gradients: bool = True, **more: Any
) -> bp.Book:
    """Builds one pair from the log-probs of its tokens, chosen before rejected."""
    words = {side: [["w"] * len(row)] for side, row in zip(SIDES, policy, strict=True)}
    tables: dict[str, Any] = {"level": "pair-logprobs", "text": {"prompts": ["a"], **words}}
    for name, rows in (("policy", policy), ("reference", reference)):
        if rows is not None:
            tables[name] = {side: [row] for side, row in zip(SIDES, rows, strict=True)}
    return bp.build(tables, gradients=gradients, **more)


def cell(book: bp.Book, name: str) -> float:
    return float(np.ravel(book.values[book.blocks[name]])[0])


def slopes(book: bp.Book, *lengths: int) -> list[list[float]]:
    found = book.values[book.blocks["policy.logprobs.grad"]]
    return [list(map(float, row[:length])) for row, length in zip(found, lengths, strict=True)]


def leaf(row: Rows) -> Tensor:
    return torch.tensor(row, dtype=torch.float64, requires_grad=True)


def halos_mean(policy: Tensor, reference: Tensor) -> Tensor:
    """The mean reward of a token, over those whose reward is not 0."""
    rewards = policy - reference
    return rewards.sum(-1) / (rewards.abs() != 0).double().sum(-1)


HALOS_IPO = {"loss.form": "ipo", "logp.of": "mean_nonzero", "dpo.beta": 0.1}
PAIRS: dict[str, tuple[tuple[Rows, Rows], tuple[Rows, Rows]]] = {
    "one equal token": (([-1.0, -0.5], [-2.0, -1.0]), ([-1.0, -1.143], [-1.5, -0.7])),
    "a certain token of one model": (([0.0, -0.5, -3.0], [-2.0]), ([-0.25, -0.5, -1.0], [0.0])),
    "far": (([-700.0, -700.0], [-1.0, -30.0]), ([-1.0, -700.0], [-690.0, -30.0])),
}


@pytest.mark.parametrize("name", PAIRS)
def test_halos_counts_the_tokens_on_which_policy_and_reference_differ(name: str) -> None:
    policy, reference = PAIRS[name]
    book, of = built(policy, reference, set=HALOS_IPO), [leaf(row) for row in policy]
    means = [
        halos_mean(one, torch.tensor(other, dtype=torch.float64)) for one, other in zip(of, reference, strict=True)
    ]
    loss = (means[0] - means[1] - 1 / (2 * 0.1)).pow(2)
    assert cell(book, "margin") == pytest.approx((means[0] - means[1]).item(), rel=NEAR)
    assert cell(book, "total_loss") == pytest.approx(loss.item(), rel=NEAR)
    theirs = [each.tolist() for each in torch.autograd.grad(loss, of)]
    for ours, meant in zip(slopes(book, *map(len, policy)), theirs, strict=True):
        assert ours == pytest.approx(meant, rel=NEAR)
    assert apart(book) == {}


def test_the_margin_of_a_pair_with_an_equal_token_is_not_halved() -> None:
    book = built(*PAIRS["one equal token"], set=HALOS_IPO)
    assert cell(book, "chosen.ratio") == pytest.approx(0.643, abs=NEAR)


def test_without_a_reference_halos_leaves_out_certain_tokens() -> None:
    policy = ([0.0, -0.5, -1.5], [-2.0, 0.0])
    book, of = built(policy, None, preset="halos_simpo"), [leaf(row) for row in policy]
    chosen, rejected = (halos_mean(each, torch.zeros_like(each)) for each in of)
    simpo = kind_named("dpo").part("presets")().presets["halos_simpo"]
    beta, gamma = (float(simpo.values[key]) for key in ("beta", "loss.gamma"))
    loss = -logsigmoid(beta * (chosen - rejected) - gamma)
    assert cell(book, "total_loss") == pytest.approx(loss.item(), rel=NEAR)
    theirs = [each.tolist() for each in torch.autograd.grad(loss, of)]
    for ours, meant in zip(slopes(book, 3, 2), theirs, strict=True):
        assert ours == pytest.approx(meant, rel=NEAR, abs=NEAR)


NOTHING: dict[str, tuple[tuple[Rows, Rows], tuple[Rows, Rows] | None, Mapping[str, Any]]] = {
    "HALOs' SimPO, a certain response": (([0.0, 0.0], [-1.0]), None, {"preset": "halos_simpo"}),
    "HALOs' SimPO, a certain rejected response": (([-1.0], [0.0]), None, {"preset": "halos_simpo"}),
    "HALOs' IPO on a first step": (([-1.0], [-2.0]), ([-1.0], [-2.0]), {"set": HALOS_IPO}),
    "SimPO, a response without tokens": (([-1.0], []), None, {"preset": "simpo"}),
}


@pytest.mark.parametrize("name", NOTHING)
def test_a_mean_of_no_token_has_no_number(name: str) -> None:
    policy, reference, how = NOTHING[name]
    zeros = [torch.zeros(len(row)).double() for row in policy]
    others = zeros if reference is None else [torch.tensor(row, dtype=torch.float64) for row in reference]
    means = [halos_mean(leaf(row), other) for row, other in zip(policy, others, strict=True)]
    assert not all(torch.isfinite(each) for each in means)
    with pytest.raises(NotationError, match=r"policy\.mean \(.*\) has no number: .* cannot be divided by 0; "):
        built(policy, reference, gradients=False, **how)


def test_such_pairs_have_numbers_where_nothing_is_divided_by_their_tokens() -> None:
    certain = ([0.0, 0.0], [-1.0]), ([0.0, 0.0], [-1.0])
    for settings in ({}, {"logp.of": "mean", "loss.form": "ipo"}, {"loss.form": "hinge"}):
        assert apart(built(*certain, set=settings)) == {}


def test_trl_divides_the_sum_of_no_token_by_one() -> None:
    rows: dict[str, Any] = {"chosen": [[-1.0], [-1.0]], "rejected": [[], [-1.0]]}
    others = {"chosen": [[-2.0], [-1.0]], "rejected": [[], [-1.0]]}
    words = {"prompts": ["a", "b"], "chosen": [["w"], ["w"]], "rejected": [[], ["w"]]}
    tables = {"level": "pair-logprobs", "text": words, "policy": rows, "reference": others}
    book = bp.build(tables, set={"logp.of": "mean", "loss.form": "ipo", "dpo.beta": 0.5}, gradients=True)
    assert list(np.ravel(book.values[book.blocks["loss.ipo"]])) == [(1 - 0 - 1) ** 2, 1.0]
    assert apart(book) == {}


BETA = 0.1


def orpo(chosen: Tensor, rejected: Tensor) -> Tensor:
    """TRL's odds ratio, of the mean log-probs of both responses, less the likelihood of the chosen one's tokens."""

    def log1mexp(x: Tensor) -> Tensor:
        return torch.where(x < -0.6931471805599453, torch.log1p(-torch.exp(x)), torch.log(-torch.expm1(x)))

    one, other = chosen.mean(), rejected.mean()
    log_odds = (one - other) - (log1mexp(one) - log1mexp(other))
    return -one - BETA * logsigmoid(log_odds)


ORPO = {"loss.form": "orpo", "logp.of": "mean", "reference.used": "off", "loss.nll_coef": 1, "dpo.beta": BETA}


@pytest.mark.parametrize(
    "policy",
    [
        ([-0.5, -1.0], [-2.0]),
        ([-1e-17], [-0.3]),
        ([-1e-300], [-1e-20]),
        ([-0.3], [-1e-12]),
        ([-700.0], [-40.0, -690.0]),
    ],
)
def test_odds_near_certainty_have_all_their_digits(policy: tuple[Rows, Rows]) -> None:
    book, of = built(policy, None, set=ORPO), [leaf(row) for row in policy]
    loss = orpo(*of)
    assert cell(book, "total_loss") == pytest.approx(loss.item(), rel=NEAR)
    theirs = [each.tolist() for each in torch.autograd.grad(loss, of)]
    for ours, meant in zip(slopes(book, *map(len, policy)), theirs, strict=True):
        if not np.isnan(meant).any():  # where e^A is rounded to 1, as the note at `odds.certain` says
            assert ours == pytest.approx(meant, rel=1e-10, abs=NEAR)
    assert apart(book) == {}


def test_of_a_certain_chosen_response_trl_has_a_loss_and_no_gradient() -> None:
    of = [leaf([0.0, 0.0]), leaf([-0.3])]
    loss = orpo(*of)
    (slope, _) = torch.autograd.grad(loss, of)
    assert (loss.item(), bool(slope.isnan().all())) == (0.0, True)
    book = built(([0.0, 0.0], [-0.3]), None, gradients=False, set=ORPO)
    assert (cell(book, "total_loss"), cell(book, "odds.certain")) == (0.0, 1.0)
    assert apart(book) == {}
    with pytest.raises(NotationError, match=r"\.grad \(.*\) has no number: .* cannot be divided by 0; "):
        built(([0.0, 0.0], [-0.3]), None, set=ORPO)


@pytest.mark.parametrize(("policy", "theirs"), [(([-0.3], [0.0]), np.inf), (([0.0], [0.0]), np.nan)])
def test_of_a_certain_rejected_response_trl_has_no_loss(policy: tuple[Rows, Rows], theirs: float) -> None:
    assert orpo(*map(leaf, policy)).item() == pytest.approx(theirs, nan_ok=True)
    with pytest.raises(NotationError, match=r"odds\.lost \(.*\) has no number: 0 has no logarithm; "):
        built(policy, None, gradients=False, set=ORPO)


def test_the_recalculated_workbook_says_the_same(tmp_path: Path) -> None:
    """Three pairs near certainty and far from it, and one of which a response is certain. ironcalc takes −1e-17 for 0."""
    chosen, rejected = [[-1e-13], [-0.3, -2.0], [-700.0], [0.0]], [[-0.3], [-1e-12], [-40.0, -690.0], [-1.0]]
    words = {side: [["w"] * len(row) for row in rows] for side, rows in zip(SIDES, (chosen, rejected), strict=True)}
    said = {"chosen": chosen, "rejected": rejected}
    tables = {"level": "pair-logprobs", "text": {"prompts": list("abcd"), **words}, "policy": said}
    book = bp.build(tables, set=ORPO)
    book.save(tmp_path / "odds.xlsx")
    assert book.prove(tmp_path / "odds.xlsx").failures == []
