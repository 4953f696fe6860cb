"""The bandit: twenty pulls by a plain loop, what a temperature does, and regret by its definition."""

from __future__ import annotations

from decimal import Decimal
from math import exp, log
from typing import Any, NamedTuple

import numpy as np
import pytest

from blueprint.book import Book
from blueprint.inputs import load
from blueprint.workbooks.registry import blueprint_of
from blueprint.worksheets import worksheet
from tests.page.workshop import made, row

EXACT = 1e-12
BOOK = made(numbers="bandit")
MEANS = (0.5, 1.0, 2.0, -0.5)


class Played(NamedTuple):
    """What a loop over the pulls found: the arms, from 0, what they paid, the policies, and the last estimates."""

    arms: list[int]
    paid: list[float]
    policies: list[list[float]]
    last: list[float]


def arms(book: Book) -> str:
    return "".join(map(str, book.values[book.blocks["pull.arm"]]))


def play(book: Book, epsilon: float = 0.2, tau: float = 0.0, alpha: float = 0.0, start: float = 0.0) -> Played:
    """Plays with the book's draws: ε-greedy, or with τ by a soft-max; with 1/n, or with α. One line of the workbook is one here."""
    q, n = [start] * 4, [0] * 4
    done = Played([], [], [], q)
    for u, z in zip(row(book, "pull.uniform"), row(book, "pull.noise"), strict=True):
        greedy = q.index(max(q))
        p = [epsilon / 4 + (1 - epsilon) * (arm == greedy) for arm in range(4)]
        if tau:
            weights = [exp((each - max(q)) / tau) for each in q]
            p = [weight / sum(weights) for weight in weights]
        arm = max(arm for arm in range(4) if sum(p[:arm]) <= u)
        paid = MEANS[arm] + z
        n[arm] += 1
        q[arm] += (alpha or 1 / n[arm]) * (paid - q[arm])
        done.arms.append(arm)
        done.paid.append(paid)
        done.policies.append(p)
    return done


RULES: dict[str, tuple[tuple[str, ...], dict[str, Any]]] = {
    "ε-greedy": ((), {}),
    "soft-max": (("bandit.strategy=softmax",), {"tau": 0.5}),
    "greedy": (("bandit.epsilon=0",), {"epsilon": 0.0}),
    "all arms alike": (("bandit.epsilon=1",), {"epsilon": 1.0}),
    "constant step": (("bandit.step=constant", "bandit.alpha=0.3"), {"alpha": 0.3}),
    "optimistic": (
        ("bandit.start=5", "bandit.epsilon=0", "bandit.step=constant"),
        {"epsilon": 0, "alpha": 0.5, "start": 5},
    ),
}


@pytest.mark.parametrize("rule", RULES)
def test_the_pulls_are_those_of_a_plain_loop(rule: str) -> None:
    overrides, said = RULES[rule]
    book = made(*overrides, numbers="bandit")
    done = play(book, **said)
    assert arms(book) == "".join("ABCD"[arm] for arm in done.arms)
    np.testing.assert_allclose(row(book, "pull.reward"), done.paid, rtol=0, atol=EXACT)
    np.testing.assert_allclose(row(book, "arm.p"), done.policies, rtol=0, atol=EXACT)
    np.testing.assert_allclose(row(book, "last.estimate"), done.last, rtol=0, atol=EXACT)
    gaps = [2.0 - MEANS[arm] for arm in done.arms]
    np.testing.assert_allclose(row(book, "regret.total"), np.cumsum(gaps), rtol=0, atol=EXACT)
    expected = [2.0 - sum(p * q for p, q in zip(each, MEANS, strict=True)) for each in done.policies]
    np.testing.assert_allclose(row(book, "regret.expected"), expected, rtol=0, atol=EXACT)
    assert float(row(book, "share.best")) == pytest.approx(done.arms.count(2) / 20, abs=EXACT)


def test_the_twenty_pulls_as_they_are_told() -> None:
    """A disappoints, B seems good for eight pulls, and then one that explores finds C."""
    assert arms(BOOK) == "ABBBBBBBBCCACCDCCCCC"
    assert arms(made("bandit.epsilon=0", numbers="bandit")) == "A" + 19 * "B"
    assert arms(made("bandit.epsilon=0", "bandit.start=5", numbers="bandit"))[:4] == "ABCD"
    assert float(row(BOOK, "regret.mean")) == pytest.approx(0.675, abs=EXACT)
    every = row(made("bandit.epsilon=1", numbers="bandit"), "regret.expected")
    np.testing.assert_allclose(every, 2 - np.mean(MEANS), rtol=0, atol=EXACT)


def test_greedy_at_a_temperature_near_0_and_uniform_at_10() -> None:
    p, last = row(BOOK, "tau.p"), row(BOOK, "last.estimate")
    for at, tau in enumerate((0.01, 0.1, 0.3, 1, 3, 10)):
        weights = [exp((q - max(last)) / tau) for q in last]
        np.testing.assert_allclose(p[at], np.array(weights) / sum(weights), rtol=0, atol=EXACT)
    np.testing.assert_allclose(p[0], [0, 0, 1, 0], rtol=0, atol=1e-12)
    assert float(row(BOOK, "tau.to_greedy")[0]) < 1e-12
    # At τ = 10 the arms differ by e^(3/10) at most; at 1,000 by 0.3 %.
    assert 0 < float(row(BOOK, "tau.to_uniform")[-1]) < 0.04
    hot = made("sweep.temperatures=[0.001, 1000]", numbers="bandit")
    assert float(row(hot, "tau.to_uniform")[1]) < 0.0005
    assert (np.diff(row(BOOK, "tau.entropy")) > 0).all()
    assert float(row(hot, "tau.entropy")[1]) == pytest.approx(log(4), abs=1e-5)


@pytest.mark.parametrize(("tau", "policy"), [(0.001, "greedy"), (1000, "uniform")])
def test_the_soft_max_in_use_becomes_greedy_and_uniform(tau: float, policy: str) -> None:
    book = made("bandit.strategy=softmax", f"bandit.tau={tau}", numbers="bandit")
    p, hot = row(book, "arm.p"), row(book, "greedy.is")
    if policy == "uniform":
        np.testing.assert_allclose(p, 0.25, rtol=0, atol=0.001)
        return
    # Estimates that tie, as all do at first, stay alike however cold it is.
    alone = row(book, "greedy.is_top").sum(-1) == 1
    assert alone.sum() >= 18
    np.testing.assert_allclose(p[alone], hot[alone], rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    "overrides", [('arms.names=["A"]', "arms.means=[1]"), ("arms.means=[1, 1, 1, 1]", "bandit.noise=0")]
)
def test_where_no_arm_is_better_nothing_is_regretted(overrides: tuple[str, ...]) -> None:
    assert float(row(made(*overrides, numbers="bandit"), "regret.mean")) == 0


def short(number: Decimal) -> Decimal:
    """Returns a result that one writes with a pencil: of three decimals at most."""
    assert number == round(number, 3), number
    return number


def test_the_pulls_for_a_pencil_need_no_more_than_three_decimals() -> None:
    """Decimal arithmetic, one line of the worksheet after the other, leads to the workbook's numbers."""
    book, half, even = made(numbers="by-hand-bandit"), Decimal("0.5"), Decimal("0.05")
    means = [Decimal(f"{mean:.1f}") for mean in row(book, "arm.mean")]
    q, lost, paid_in_all, found = [Decimal(0)] * 4, Decimal(0), Decimal(0), []
    for u, z in zip(row(book, "pull.uniform"), row(book, "pull.noise"), strict=True):
        p = [even] * 4
        p[q.index(max(q))] += Decimal("0.8")
        arm = max(arm for arm in range(4) if sum(p[:arm]) <= Decimal(f"{u:.2f}"))
        paid = short(means[arm] + Decimal(f"{z:.1f}"))
        error = short(paid - q[arm])
        q[arm] = short(q[arm] + half * error)
        lost = short(lost + max(means) - means[arm])
        expected = short(sum((each * (max(means) - mean) for each, mean in zip(p, means, strict=True)), Decimal(0)))
        paid_in_all += paid
        found.append((paid, error, q[arm], lost, expected))
    names = ("pull.reward", "pull.error", "pull.new", "regret.total", "regret.expected")
    for name, theirs in zip(names, zip(*found, strict=True), strict=True):
        np.testing.assert_allclose(row(book, name), [float(each) for each in theirs], rtol=0, atol=EXACT)
    assert float(row(book, "regret.mean")) == pytest.approx(float(short(lost / 8)), abs=EXACT)
    assert float(row(book, "pull.mean")) == pytest.approx(float(short(paid_in_all / 8)), abs=EXACT)


def test_a_worksheet_of_it_asks_for_nothing_that_needs_a_table() -> None:
    asked = worksheet(blueprint_of(load("by-hand-bandit", [])), 12, seed="one")
    rows = {blank.block.name for blank in asked.blanks}
    assert len(asked.blanks) == 12
    assert not [name for name in rows if name.startswith(("boltzmann.", "tau.", "last."))]
    for blank in asked.blanks:
        for cell in blank.cells:
            number = float(asked.full.values.cell(blank.block, *cell))
            assert number == pytest.approx(round(number, 3), abs=EXACT), blank.title
