"""The exact frontier: the golden table of forty responses, best-of-n by listing every pair of draws, Gao's forms."""

from __future__ import annotations

from itertools import product
from math import exp, log, sqrt

import numpy as np
import pytest

from tests.page.workshop import made, row

EXACT = 1e-12
BOOK = made(numbers="frontier")
GOLDEN = {
    1e9: (-0.202, -0.564, 0.0),
    2: (-0.030, -0.350, 0.04),
    1: (0.156, -0.146, 0.18),
    0.5: (0.606, 0.215, 0.87),
    0.3: (1.300, 0.381, 2.71),
    0.2: (1.869, 0.027, 5.02),
    0.1: (2.186, -0.473, 7.03),
    0.05: (2.200, -0.500, 7.19),
}
"""By β proxy, gold and KL, as they were computed before there was a workbook: three decimals, and two of the KL."""
CHANCE = {"<eos>": 0.5, "very": 0.05, "happy": 0.1, "sleepy": 0.35}


def texts() -> list[tuple[str, ...]]:
    """Lists all responses, in any order: each goes on until it ends or has three tokens."""
    found: list[tuple[str, ...]] = []
    open_: list[tuple[str, ...]] = [()]
    while open_:
        said = open_.pop()
        if len(said) == 3 or said[-1:] == ("<eos>",):
            found.append(said)
        else:
            open_ += [(*said, word) for word in CHANCE]
    return found


def chance(said: tuple[str, ...]) -> float:
    return float(np.prod([CHANCE[word] for word in said]))


def proxy(said: tuple[str, ...]) -> float:
    return ("happy" in said) - ("sleepy" in said) + 0.6 * said.count("very")


def gold(said: tuple[str, ...]) -> float:
    repeated = sum(word in said[:place] for place, word in enumerate(said))
    return ("happy" in said) - ("sleepy" in said) + 0.5 * ("very" in said) - repeated - ("<eos>" not in said)


def test_every_response_is_there_with_what_it_earns() -> None:
    expected = {" ".join(said): (chance(said), proxy(said), gold(said)) for said in texts()}
    words = [str(said) for said in BOOK.values[BOOK.blocks["response"]]]
    found = zip(row(BOOK, "reference.chance"), row(BOOK, "reward.proxy"), row(BOOK, "reward.gold"), strict=True)
    assert len(words) == 40
    assert dict(zip(words, found, strict=True)) == {
        said: pytest.approx(values, abs=EXACT) for said, values in expected.items()
    }


def test_the_golden_table() -> None:
    book = made(f"sweep.betas={list(GOLDEN)}", numbers="frontier")
    for place, known in enumerate(("sweep.proxy", "sweep.gold")):
        np.testing.assert_allclose(row(book, known), [each[place] for each in GOLDEN.values()], rtol=0, atol=0.0005)
    np.testing.assert_allclose(row(book, "sweep.kl"), [kl for *_, kl in GOLDEN.values()], rtol=0, atol=0.005)
    likeliest = [str(said) for said in book.values[book.blocks["sweep.likeliest"]]]
    assert likeliest == ["<eos>"] * 4 + ["happy <eos>"] + ["very very happy"] * 3


def test_the_optimum_by_plain_loops_and_the_best_of_each_row() -> None:
    tilted = {said: chance(said) * exp(proxy(said) / 0.3) for said in texts()}
    share = {said: weight / sum(tilted.values()) for said, weight in tilted.items()}
    expected = {
        "optimum.proxy": sum(p * proxy(said) for said, p in share.items()),
        "optimum.gold": sum(p * gold(said) for said, p in share.items()),
        "optimum.kl": sum(p * log(p / chance(said)) for said, p in share.items()),
        "optimum.objective": 0.3 * log(sum(tilted.values())),
    }
    assert {name: float(row(BOOK, name)) for name in expected} == pytest.approx(expected, abs=EXACT)
    assert (float(row(BOOK, "sweep.best_beta")), float(row(BOOK, "best.best_draws"))) == (0.3, 64)
    assert float(row(BOOK, "best.gold_best")) == pytest.approx(0.7511, abs=5e-5)


@pytest.mark.parametrize("many", [1, 2, 3])
def test_best_of_n_by_listing_every_draw(many: int) -> None:
    """Of draws that tie the first one is kept; by hand, with no formula for the order."""
    kept: dict[tuple[str, ...], float] = dict.fromkeys(texts(), 0.0)
    for draws in product(texts(), repeat=many):
        # Sums of the same parts in another order may differ in their last digit, and then would not tie.
        kept[max(draws, key=lambda said: round(proxy(said), 9))] += float(np.prod([chance(said) for said in draws]))
    book = made(f"sweep.draws=[{many}, 4]", numbers="frontier")
    words = [str(said) for said in book.values[book.blocks["response"]]]
    expected = {" ".join(said): p for said, p in kept.items()}
    np.testing.assert_allclose(row(book, "best.p")[0], [expected[said] for said in words], rtol=0, atol=EXACT)
    kl = sum(p * log(p / chance(said)) for said, p in kept.items())
    assert float(row(book, "best.kl")[0]) == pytest.approx(kl, abs=EXACT)


def test_the_kl_of_best_of_n_is_below_its_bound_and_reaches_it_where_nothing_ties() -> None:
    assert (row(BOOK, "best.kl_bound") - row(BOOK, "best.kl") >= -EXACT).all()
    assert row(BOOK, "best.kl_bound")[1] == pytest.approx(log(2) - 1 / 2, abs=EXACT)
    loose = made("proxy.once=[0, 0, 0, 0]", "proxy.each=[0, 0, 0, 0]", numbers="frontier")
    # All tie: the first draw is kept. n·log F is 0 but for n = 4,096 times what rounding leaves of F = 1.
    np.testing.assert_allclose(row(loose, "best.kl"), 0, rtol=0, atol=1e-11)


def test_the_proxy_only_rises_and_gold_has_a_top_inside_the_row() -> None:
    for way in ("sweep", "best"):
        assert (np.diff(row(BOOK, f"{way}.proxy")) > 0).all()
        assert (np.diff(row(BOOK, f"{way}.kl")) > 0).all()
        assert 0 < row(BOOK, f"{way}.gold").argmax() < len(row(BOOK, f"{way}.gold")) - 1
    # Best-of-n has the gold of the best β at less than half its KL.
    enough = row(BOOK, "best.gold") > float(row(BOOK, "sweep.gold_best"))
    assert row(BOOK, "best.kl")[enough].min() < 0.6 * float(row(BOOK, "sweep.best_kl"))


@pytest.mark.parametrize(("override", "falls"), [("proxy.each=[0, 0, 0, 0]", False), ("frontier.beta=2", True)])
def test_what_start_says_of_the_flaw(override: str, falls: bool) -> None:
    assert (np.diff(row(made(override, numbers="frontier"), "sweep.gold")) < 0).any() == falls


def test_what_start_says_of_the_punishments() -> None:
    kinder = made("frontier.repeated=0", "frontier.cut=0", numbers="frontier")
    assert float(row(kinder, "sweep.best_beta")) == 0.05
    golds = [float(row(made(f"frontier.beta={beta}", numbers="frontier"), "optimum.gold")) for beta in (2, 0.3, 0.05)]
    np.testing.assert_allclose(golds, [-0.35, 0.38, -0.5], rtol=0, atol=0.005)


def test_the_typed_coefficients_are_the_least_squares_fit() -> None:
    """Gao et al. 2022: d·(α − β·log d) for RL, d·(α − β·d) for best-of-n; each is linear in its coefficients."""
    start = float(row(BOOK, "reference.gold"))
    for name, way, bends in (("rl", "sweep", np.log), ("bon", "best", lambda d: d)):
        far = row(BOOK, f"{way}.kl") > 1e-4
        d, gained = np.sqrt(row(BOOK, f"{way}.kl")[far]), row(BOOK, f"{way}.gold")[far] - start
        fitted = np.linalg.lstsq(np.stack([d, -d * bends(d)], 1), gained, rcond=None)[0]
        typed = [float(row(BOOK, f"{name}_{letter}")) for letter in ("alpha", "beta")]
        np.testing.assert_allclose(fitted, typed, rtol=0, atol=0.005)
        expected = start + d * (typed[0] - typed[1] * bends(d))
        np.testing.assert_allclose(row(BOOK, f"form.{name}")[far], expected, rtol=0, atol=EXACT)
    assert sqrt(float(row(BOOK, "best.kl")[5])) == pytest.approx(float(row(BOOK, "best.distance")[5]), abs=EXACT)
