"""Mistakes planted in the equations of a minibatch's workbook, and in the witness: each is seen, and named first."""

from __future__ import annotations

from collections.abc import Callable

import pytest

pytest.importorskip("torch", reason="the witness needs torch: install the extra [torch]")

from torch import Tensor

from blueprint.book import Book
from blueprint.checking.deviations import TOLERANCES, compare
from blueprint.language import Block, NotationError, Operand, Sum
from blueprint.language.blocks import Definition
from blueprint.language.nodes import Expr, wrap
from blueprint.witness import advantages
from blueprint.witness.tensors import sums_from
from blueprint.workbooks import blueprint_of
from blueprint.workbooks.common import n, t
from blueprint.workbooks.common.conventions.data import LIVE
from blueprint.workbooks.minibatch.witness.compute import OfWindow
from blueprint.workbooks.registry import witness_of as witness
from tests.replayed import window_numbers, with_everything_logged
from tests.witness.stage import Array, arrays
from tests.witness.windows import computed_in

Blocks = dict[str, Block]
NUMBERS = window_numbers("trl_1.12", 16, with_everything_logged("trl_1.12"))
MOVED = {"gamma.yours": 0.9, "gae_lambda.yours": 0.8, "vf_coef.yours": 0.3, "ent_coef.yours": 0.2}
"""Settings by which every part of a loss weighs something."""


BLUEPRINT = blueprint_of(NUMBERS).with_typed(MOVED)
BLOCKS = {block.name: block for block in BLUEPRINT.blocks()}


def deviating(*files: dict[str, Array]) -> list[list[str]]:
    """Lists for each workbook in what it and torch differ, in the order of derivation; torch computes them in one call."""
    found = zip(files, witness(list(files), device="cpu"), strict=True)
    compared = [compare(file, theirs, TOLERANCES["float64"], {}) for file, theirs in found]
    return [[each.name for each in lines if not each.agrees] for lines in compared]


def planted_in(name: str, equation: int, change: Callable[[Expr, Blocks], Operand]) -> dict[str, Array] | None:
    """Returns the workbook in which one equation is another one; None where the notation refuses what it comes to."""
    definitions = BLOCKS[name].definitions
    right = definitions[equation]
    definitions[equation] = Definition(right.target, wrap(change(right.expr, BLOCKS)))
    try:
        return arrays(Book(BLUEPRINT))
    except NotationError:
        return None
    finally:
        definitions[equation] = right


@pytest.mark.parametrize(
    ("name", "equation", "change"),
    [
        ("advantages", -1, lambda b: b["td_errors"][n, t] + b["gamma"] * b["advantages"][n, t + 1]),
        ("advantages", 0, lambda b: 0 * b["after.advantages"][n]),
        ("td_errors", -1, lambda b: b["rewards"][n, t] + b["gae.ahead"][n, t + 1] - b["values.kept"][n, t]),
        ("advantage.centred", -1, lambda b: b["advantages"][n, t] - b["mean.advantages"]),
        ("policy_loss", -1, lambda b: -Sum((n, t), b["policy.weight.row"][n, t] * b["surrogate"][n, t])),
        ("policy.weight.token_mean", -1, lambda b: 1 / b["window.words"]),
        ("off.returns", -1, lambda b: b["logged.returns"][n, t] - b["returns"][n, t]),
    ],
    ids=["λ forgotten", "A behind", "γ forgotten", "mean of the tokens shown", "rest", "tokens shown", "no sign"],
)
def test_a_mistake_is_named_first(name: str, equation: int, change: Callable[[Blocks], Operand]) -> None:
    file = planted_in(name, equation, lambda right, blocks: change(blocks))
    assert file is not None
    assert deviating(file)[0][0] == name


def test_whatever_equation_is_another_one_its_row_is_named_first() -> None:
    """Every equation of the level in turn comes to 2 more, edges of rows, too: no row is left unchecked."""
    book = Book(blueprint_of(NUMBERS))
    rows = {block.name: block for block, array in book.values.arrays.items() if array.dtype != object}
    of_settings = {f"{name}{part}" for name in LIVE for part in ("", ".preset", ".outside", ".number")}
    names = computed_in(book) & rows.keys() - of_settings
    planted = [(name, place) for name in names for place in range(len(rows[name].definitions))]
    assert len(planted) > 150
    files = {each: planted_in(*each, lambda right, blocks: right + 2) for each in planted}
    computed = {each: file for each, file in files.items() if file is not None}  # one that comes to no number is seen
    named = dict(zip(computed, deviating(*computed.values()), strict=True))
    assert [each for each, names in named.items() if names[:1] != [each[0]]] == []
    assert len(computed) > 150


def forgetting_lambda(values: Tensor, decay: Tensor, behind: Tensor | None = None) -> Tensor:
    """Sums with γ = λ = 1."""
    return SUMS_FROM(values, (decay > 0).to(decay.dtype), behind)


def forgetting_what_follows(values: Tensor, decay: Tensor, behind: Tensor | None = None) -> Tensor:
    """Sums as if a response ended with its window."""
    return SUMS_FROM(values, decay)


SUMS_FROM = sums_from


@pytest.mark.parametrize(
    ("wrong", "first"), [(forgetting_lambda, "advantages"), (forgetting_what_follows, "gae.ahead")]
)
def test_a_mistake_in_the_witness_is_seen(
    monkeypatch: pytest.MonkeyPatch, wrong: Callable[..., Tensor], first: str
) -> None:
    file = arrays(Book(blueprint_of(NUMBERS).with_typed(MOVED)))
    assert deviating(file) == [[]]
    monkeypatch.setattr(advantages, "sums_from", wrong)
    assert deviating(file)[0][0] == first


def test_a_witness_that_weighs_as_if_nothing_else_were_in_the_batch_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    right = OfWindow.total

    def total(self: OfWindow, name: str, values: Tensor) -> Tensor:
        return right(self, name, values) * 0 + 48 if name.endswith(".words") else right(self, name, values)

    monkeypatch.setattr(OfWindow, "total", total)
    assert deviating(arrays(Book(blueprint_of(NUMBERS))))[0][0] == "policy.weight.token_mean"
