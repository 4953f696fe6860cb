"""The brackets are right: a random expression has one value, however it is spelled and whoever computes it."""

from typing import Any

import ironcalc
from hypothesis import given, settings
from hypothesis import strategies as st

from blueprint.language import Axis, Block, Expr, block, compute
from blueprint.language.nodes import Ref
from blueprint.language.spelling.excel import excel
from blueprint.language.spelling.numbers import with_numbers
from blueprint.language.spelling.text import text
from tests.language.trees import LEAVES, Tree, arithmetic, python_value, trees, well_behaved

NAMED = {leaf.name: value for leaf, value in LEAVES.items()}

# Steps stay below 1e4 and divisors above 1e-2, so that a last bit (2e-16) grows to 1e-12 of the largest step at most
# in all but contrived trees; a missing bracket changes the first digits. `derandomize` makes every run the same.
TOLERANCE = 1e-12
DRAWS = 1000


class FirstRow:
    """Knows that the leaves stand in the cells of row 1 that are called like them."""

    def cell(self, ref: Ref) -> str:
        """Returns the leaf's address."""
        return f"{ref.block.name}1"

    def span(self, ref: Ref, axes: tuple[Axis, ...]) -> str:
        """Fails: no leaf runs along an axis."""
        raise AssertionError(ref)

    def number(self, axis: Axis) -> str:
        """Fails: no axis is drawn."""
        raise AssertionError(axis)

    def changes(self) -> str:
        """Fails: no count of changes is drawn."""
        raise AssertionError


def drawn(strategy: st.SearchStrategy[Tree]) -> list[Tree]:
    """Returns different well-behaved trees, the shortest first, so that the first to fail is the one to look at."""
    met: dict[str, Tree] = {}

    @settings(max_examples=DRAWS, deadline=None, derandomize=True, database=None)
    @given(strategy)
    def collect(tree: Tree) -> None:
        if well_behaved(tree, NAMED):
            met[tree.python] = tree

    collect()
    return sorted(met.values(), key=lambda tree: len(tree.python))


def agree(found: float, tree: Tree) -> bool:
    """Tells whether a value is what Python computes, measured by the largest of its steps."""
    largest = max([1.0, *(abs(python_value(part, NAMED)) for part in tree.parts)])
    return abs(found - python_value(tree.python, NAMED)) <= TOLERANCE * largest


def computed(exprs: list[Expr]) -> list[float]:
    """Returns the values that the notation computes."""
    blocks: list[Block] = []
    for number, expr in enumerate(exprs):
        made = block(f"y{number}", ())
        made[()] = expr
        blocks.append(made)
    values = compute([*LEAVES, *blocks], {}, LEAVES)
    return [float(values[made]) for made in blocks]


def calculated(exprs: list[Expr]) -> list[Any]:
    """Returns what a spreadsheet engine computes from the formulas."""
    model = ironcalc.create("brackets", "en", "UTC", "en")
    for name, value in NAMED.items():
        model.set_user_input(0, 1, ironcalc.column_number_from_name(name), str(value))
    for row, expr in enumerate(exprs, start=2):
        model.set_user_input(0, row, 1, f"={excel(expr, FirstRow())}")
    model.evaluate()
    return [model.get_cell_value(0, row, 1) for row in range(2, len(exprs) + 2)]


def reread(line: str) -> float:
    """Returns the value of a printed calculation, read by Python."""
    return python_value(line.replace("·", "*").replace("−", "-"), NAMED)


def test_notation_spreadsheet_and_python_agree() -> None:
    calm = drawn(trees())
    assert len(calm) > DRAWS / 4  # else nearly all were skipped, and nothing is shown
    exprs = [tree.expr for tree in calm]
    for tree, ours, theirs in zip(calm, computed(exprs), calculated(exprs), strict=True):
        formula = excel(tree.expr, FirstRow())
        assert agree(ours, tree), f"numpy computes {ours} for {tree.python}"
        assert isinstance(theirs, float), f"the engine says {theirs} for {formula}"
        assert agree(theirs, tree), f"the engine computes {theirs} for {formula}, from {tree.python}"


def test_what_is_printed_has_the_same_value() -> None:
    """Python reads the printed equation, with its letters and with the numbers put in (few enough digits to be exact)."""
    values = compute([*LEAVES], {}, LEAVES)
    calm = drawn(arithmetic())
    assert len(calm) > DRAWS / 4
    for tree in calm:
        for line in (text(tree.expr), with_numbers(tree.expr, {}, values)):
            assert agree(reread(line), tree), f"{line} is printed for {tree.python}"
