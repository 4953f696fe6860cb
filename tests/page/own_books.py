"""Books that nobody wrote a page for: a blueprint of a few blocks, and what is hard to show on one page."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from blueprint.book import Book
from blueprint.notation import Axis, Sum, block, book, exp, log, maximum, typed

t, k, n = Axis("t", "year", start=1), Axis("k", "plan"), Axis("n", "saver", start=1)


def savings() -> Book:
    """The blueprint of docs/own-blueprint.md, its interest in a row of its own."""
    rate = typed("rate", (k,), "i", "interest of each plan", decimals=2)
    plan = typed("plan", (t,), "plan", "plan chosen in the year, counted from 0", decimals=0)
    paid = typed("paid_in", (t,), "d", "paid in", decimals=0)
    applied = block("applied", (t,), "r", "rate of the year", decimals=2)
    interest = block("interest", (t,), "z", "interest of the year", decimals=2)
    balance = block("balance", (t,), "B", "balance at the end of the year", decimals=2)
    total = block("total_paid", (), "D", "paid in altogether", decimals=0)
    applied[t] = rate[plan[t]]
    balance[t.first - 1] = 0
    interest[t] = balance[t - 1] * applied[t]
    balance[t] = balance[t - 1] + interest[t] + paid[t]
    total[()] = Sum(t, paid[t])
    given = {rate: [0.01, 0.05], plan: [0, 1, 1], paid: [100, 0, 50]}
    return book("Savings", [rate, plan, paid, applied, interest, balance, total], t, given, one_page=True)


def backwards() -> Book:
    """A recursion from right to left over more columns than there is room for, of which two are taken out."""
    paid, growth = typed("paid", (n, t), "p", "what is paid"), typed("growth", (), "g", "growth")
    worth = block("worth", (n, t), "W", "what all that is still to come is worth")
    grown = block("worth.grown", (n, t), "G", "e to it, or 1")
    worth[n, t.last + 1] = 0
    worth[n, t] = paid[n, t] + growth * worth[n, t + 1]
    grown[n, t] = maximum(exp(worth[n, t]), 1)
    numbers = {paid: np.linspace(-1, 1, 48).reshape(2, 24), growth: 0.9}
    return book("Backwards", [paid, growth, worth, grown], t, numbers, one_page=True)


def long_ones() -> Book:
    """Long names, words in braces, numbers with many digits, some too long for any column, names that mean something else."""
    a = typed(
        "class", (t,), "the_amount_that_was_paid", "what is {paid} in the whole of a year by everybody who lives here"
    )
    b = typed("large", (t,), "ℓ", "a large number")
    vast = block("vast", (t,), "v", "a vast number")
    doubled = block("doubled", (t,), "b₂", "its double")
    rest = block("rest.of_it", (t,), "rest", "what is left", decimals=2)
    total = block("total", (), 'the_total_"sum"_of_all', "all of it")
    vast[t] = b[t] * b[t]
    doubled[t] = b[t] + b[t]
    rest[t] = doubled[t] - a[t]
    total[()] = Sum(t, rest[t])
    numbers = {a: [-123456.789] * 8, b: [87654321.5] * 8}
    title = "A title as long as one may be i"
    return book(title, [a, b, vast, doubled, rest, total], t, numbers, one_page=True)


def many_lines() -> Book:
    """More lines than there is room for."""
    first = typed("x0", (t,), "x₀", "the first")
    rows = [first]
    for i in range(30):
        rows.append(block(f"x{i + 1}", (t,), f"x_{i + 1}", "the logarithm of one more, and one"))
        rows[-1][t] = log(1 + rows[-2][t]) + 1
    return book("Many lines", rows, t, {first: [1, 2, 3, 4]}, one_page=True)


OWN: dict[str, Callable[[], Book]] = {
    "own/savings": savings,
    "own/backwards": backwards,
    "own/long": long_ones,
    "own/many": many_lines,
}
