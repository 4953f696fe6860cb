"""The three workbooks for a pencil: every result is a short decimal, and a pencil and a table lead to the workbook's numbers.

The pencil is decimal arithmetic, written here without the definitions. It refuses a result of more than three decimals, and
looks up exp, σ and −ln σ in a table of three decimals, as a student does.
"""

from __future__ import annotations

from collections.abc import Iterable
from decimal import Decimal
from math import exp, log1p
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest

from blueprint.book import Book
from blueprint.inputs import load
from tests.page.workshop import made, row

NAMES = ("by-hand", "by-hand-grpo", "by-hand-dpo")
MOST = 3
"""Decimals of a result."""
ROUNDING = 1e-12
"""What double precision may leave of a short decimal: the log-probs of `by-hand` are differences of logits."""
TABLE = 0.001
"""What a table of three decimals leaves of a product and of the loss: 0.0005 of exp, times an advantage below 2."""


class LongNumber(ValueError):
    """A result that has more decimals than one writes with a pencil."""


def short(number: Decimal) -> Decimal:
    """Returns a result that is short enough.

    Raises:
        LongNumber: if it has more than three decimals.
    """
    number = number.normalize()
    if -int(number.as_tuple().exponent) > MOST:
        raise LongNumber(str(number))
    return number


def tenths(rows: object) -> list[list[Decimal]]:
    """Returns what a file gives, which must be whole tenths, in rows."""
    return [[_tenth(each) for each in row] for row in rows]  # type: ignore[attr-defined]


def _tenth(number: float) -> Decimal:
    assert abs(10 * number - round(10 * number)) < 10 * ROUNDING, number
    return Decimal(round(10 * number)) / 10


def looked_up(number: float) -> Decimal:
    """Returns what a table of three decimals says."""
    return Decimal(f"{number:.3f}")


def total(numbers: Iterable[Decimal]) -> Decimal:
    """Adds up, in steps that are each short."""
    found = Decimal(0)
    for each in numbers:
        found = short(found + each)
    return found


class Clipped(NamedTuple):
    """A token under the clip.

    Attributes:
        ratio: of the new policy to the old one, from the table.
        kept: the smaller of the two products, U_min.
        case: the sign of the advantage, and where the ratio lies.
    """

    ratio: Decimal
    kept: Decimal
    case: str


def clip(log_ratio: Decimal, advantage: Decimal) -> Clipped:
    """Clips a ratio to 0.8 … 1.2, and takes the smaller product."""
    ratio = looked_up(exp(log_ratio))
    held = min(max(ratio, Decimal("0.8")), Decimal("1.2"))
    where = "inside" if held == ratio else "above" if ratio > held else "below"
    kept = min(short(ratio * advantage), short(held * advantage))
    return Clipped(ratio, kept, f"{'good' if advantage > 0 else 'bad'}, {where}")


SIGNAL = ("rewards", "td_errors", "advantages_used", "returns")
FOUR = {"good, above", "good, below", "bad, above", "bad, below"}


def rows(book: Book, name: str, lengths: Iterable[int]) -> list[list[float]]:
    """Returns a block of a workbook on the tokens of the responses, without pads."""
    found = np.asarray(book.values[book.blocks[name]], dtype=float)
    return [list(row[:length]) for row, length in zip(found, lengths, strict=True)]


def agree(book: Book, name: str, by_pencil: list[list[Decimal]], within: float = ROUNDING) -> None:
    """Holds a block of a workbook against what a pencil wrote."""
    for ours, theirs in zip(rows(book, name, map(len, by_pencil)), by_pencil, strict=True):
        assert ours == pytest.approx([float(each) for each in theirs], abs=within), name


def test_ppo_from_log_probs_to_the_loss() -> None:
    book = made(numbers="by-hand")
    lengths = (3, 2)
    names = ("old.logprobs", "reference.logprobs", "policy.logprobs", "old_critic.values", "critic.values")
    old, ref, new, v_old, v = (tenths(rows(book, name, lengths)) for name in names)
    (scores,) = tenths([load("by-hand")["reward_model.scores"]])
    made_of: dict[str, list[list[Decimal]]] = {name: [] for name in SIGNAL}
    ratios: list[list[Decimal]] = []
    kept: list[list[Decimal]] = []
    losses: list[Decimal] = []
    cases: set[str] = set()
    for n, length in enumerate(lengths):
        k1 = [short(a - b) for a, b in zip(old[n], ref[n], strict=True)]
        r = [short(-each / 10 + (scores[n] if t == length - 1 else 0)) for t, each in enumerate(k1)]
        delta = [short(r[t] + (v_old[n][t + 1] if t + 1 < length else 0) - v_old[n][t]) for t in range(length)]
        A: list[Decimal] = []
        for each in reversed(delta):
            A.insert(0, short(each + short(A[0] / 2) if A else each))
        R = [short(a + b) for a, b in zip(A, v_old[n], strict=True)]
        steps = [clip(short(a - b), c) for a, b, c in zip(new[n], old[n], A, strict=True)]
        for t in range(length):
            held = min(max(v[n][t], v_old[n][t] - Decimal("0.2")), v_old[n][t] + Decimal("0.2"))
            losses.append(short(max(short((v[n][t] - R[t]) ** 2), short((held - R[t]) ** 2)) / 2))
        for name, numbers in zip(SIGNAL, (r, delta, A, R), strict=True):
            made_of[name].append(numbers)
        ratios.append([each.ratio for each in steps])
        kept.append([each.kept for each in steps])
        cases |= {each.case for each in steps}
    for name, by_pencil in made_of.items():
        agree(book, name, by_pencil)
    agree(book, "ratio", ratios, TABLE)
    agree(book, "surrogate", kept, TABLE)
    agree(book, "value.word_loss", [losses[:3], losses[3:]])
    policy, value = short(-total(each for row in kept for each in row) / 5), short(total(losses) / 5)
    assert [policy, value, short(policy + short(value / 2))] == [Decimal("-0.236"), Decimal("0.706"), Decimal("0.117")]
    assert [_cell(book, name) for name in ("policy_loss", "value_loss", "total_loss")] == pytest.approx(
        [float(policy), float(value), float(policy + value / 2)], abs=TABLE
    )
    assert cases > FOUR


def test_grpo_from_rewards_to_the_loss() -> None:
    book, numbers = made(numbers="by-hand-grpo"), load("by-hand-grpo")
    old, new = tenths(numbers["old.logprobs"]), tenths(numbers["policy.logprobs"])
    (scores,) = tenths([numbers["reward.scores"]])
    mean = short(total(scores) / 4)
    left = [short(each - mean) for each in scores]
    # The squares 0.5625 and three times 0.0625 are the only longer numbers: one adds nine sixteenths and three sixteenths.
    spread = short((sum((each * each for each in left), Decimal(0)) / 3).sqrt())
    assert (mean, spread) == (Decimal("0.25"), Decimal("0.5"))
    advantages = [short(each / spread) for each in left]
    steps = [
        [clip(short(a - b), advantage) for a, b in zip(one, other, strict=True)]
        for one, other, advantage in zip(new, old, advantages, strict=True)
    ]
    agree(book, "advantages", [[A] * len(row) for A, row in zip(advantages, new, strict=True)])
    agree(book, "ratio", [[each.ratio for each in row] for row in steps], TABLE)
    agree(book, "surrogate", [[each.kept for each in row] for row in steps], TABLE)
    loss = short(-total(each.kept for row in steps for each in row) / 5)
    assert loss == Decimal("-0.246")
    assert _cell(book, "total_loss") == pytest.approx(float(loss), abs=TABLE)
    assert {each.case for row in steps for each in row} > FOUR


def test_dpo_from_log_probs_to_the_loss() -> None:
    book, numbers = made(numbers="by-hand-dpo"), load("by-hand-dpo")
    sums = {
        (model, side): [total(row) for row in tenths(numbers[f"{model}.{side}"])]
        for model in ("policy", "reference")
        for side in ("chosen", "rejected")
    }
    ratio = {
        side: [short(a - b) for a, b in zip(sums["policy", side], sums["reference", side], strict=True)]
        for side in ("chosen", "rejected")
    }
    margins = [short((a - b) / 10) for a, b in zip(ratio["chosen"], ratio["rejected"], strict=True)]
    losses = [looked_up(log1p(exp(-each))) for each in margins]
    loss = short(total(losses) / 2)
    assert margins == [Decimal("0.3"), Decimal("-0.1")]
    assert losses == [Decimal("0.554"), Decimal("0.744")]
    assert [looked_up(1 / (1 + exp(-each))) for each in margins] == [Decimal("0.574"), Decimal("0.475")]
    assert loss == Decimal("0.649")
    assert row(book, "watch.margin") == pytest.approx([float(each) for each in margins], abs=ROUNDING)
    assert row(book, "loss.pair") == pytest.approx([float(each) for each in losses], abs=TABLE)
    assert _cell(book, "total_loss") == pytest.approx(float(loss), abs=TABLE)


def _cell(book: Book, name: str) -> float:
    return float(book.values.cell(book.blocks[name]))


def test_the_pencil_refuses_what_is_long() -> None:
    assert short(Decimal("0.125")) == Decimal("0.125")
    with pytest.raises(LongNumber):
        short(Decimal("0.0625"))
    with pytest.raises(AssertionError):
        tenths([[0.25]])


@pytest.mark.parametrize("name", NAMES)
def test_the_table_in_the_file_says_what_exp_and_sigma_are(name: str) -> None:
    """The comments name each entry that a pencil needs, to three decimals."""
    from blueprint.workbooks.registry import built_in_file

    file = built_in_file(name)
    assert file is not None
    text = file.read_text(encoding="utf-8").replace("−", "-")
    entries = {f"exp({each})": exp(each) for each in (-0.4, 0.3)} if name != "by-hand-dpo" else {}
    if name == "by-hand-dpo":
        entries = {f"σ({each})": 1 / (1 + exp(-each)) for each in (0.3, -0.1)}
        entries |= {f"-ln σ({each})": log1p(exp(-each)) for each in (0.3, -0.1)}
    for entry, value in entries.items():
        assert f"{entry} = {value:.3f}" in text


@pytest.mark.parametrize("name", NAMES)
def test_torch_agrees(name: str, tmp_path: Path) -> None:
    pytest.importorskip("torch", reason="the outside witness needs torch")
    import blueprint as bp

    made(numbers=name).save(tmp_path / "book.xlsx")
    assert bp.check(tmp_path / "book.xlsx").frame.agrees.all()
