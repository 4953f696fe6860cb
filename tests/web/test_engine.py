"""The page's engine computes every cell of every built-in workbook as Python does, also after changes, and spells it alike."""

from __future__ import annotations

import json
import random
from collections.abc import Iterable
from itertools import islice
from typing import Any

import numpy as np
import pytest

from blueprint.book import Book
from blueprint.inputs import NumbersError, load
from blueprint.language import Block, NoNumber, NotationError, Values
from blueprint.language.cells import Cell, filled_by, reads
from blueprint.language.evaluate import Computation
from blueprint.language.spelling.mathml import STYLE, mathml_equation, mathml_explained, mathml_symbol
from blueprint.web.contents import plain
from blueprint.workbooks import blueprint_of
from tests.page.workshop import BUILT_IN, MAINS
from tests.web.conftest import Opened, book_of, page_text

PRESETS = {
    "default": "verl",
    "ten-libraries": "openrlhf",
    "grpo": "trl_dr_grpo",
    "dpo": "trl_1.16_ipo",
    "classic": "sb3",
}
NEAR = 1e-12
"""How far numbers may be apart, of the larger of 1 and their size."""
CHANGES = 10


def cells_of(values: Values, blocks: Iterable[Block]) -> dict[str, list[Any]]:
    """Returns all cells of blocks by name, as the page would hold them."""
    return {block.name: [*plain(values.arrays[block])] for block in blocks}


COMPARE = """(text) => {
  const cells = JSON.parse(text);
  let worst = 0, compared = 0;
  const apart = [];
  for (const block of blocks) cells[block.name].forEach((value, i) => {
    const ours = block.cells[i], due = block.text ? (value ?? "") : engine.inCell(block, value);
    compared += 1;
    if (Object.is(ours, due) || (ours === 0 && due === 0)) return;
    const far = block.text ? Infinity : Math.abs(ours - due) / Math.max(1, Math.abs(due));
    if (!(far <= 1e-12)) apart.push([block.name, i, String(ours), String(due)]);
    else worst = Math.max(worst, far);
  });
  return { worst, compared, apart: apart.slice(0, 5) };
}"""
TYPE = """(changes) => {
  for (const block of blocks) if (block.typed) block.given.forEach((value, i) => { block.cells[i] = value; });
  for (const [name, cells] of Object.entries(changes)) {
    const block = byName[name];
    cells.forEach((value, i) => { block.cells[i] = engine.inCell(block, value); });
  }
  engine.compute();
}"""


def compared(page: Any, values: Values, blocks: Iterable[Block]) -> Any:
    """Has the page compare all its cells; they go there as one text, since playwright looks through each number of a list."""
    return page.evaluate(COMPARE, json.dumps(cells_of(values, blocks)))


def changed(book: Book, computation: Computation, rng: random.Random) -> tuple[Values, dict[str, list[Any]]] | None:
    """Changes one typed number a little, or takes another word; None where what comes out is refused."""
    typed = [block for block in book.blueprint.typed if book.values.arrays[block].size]
    block = rng.choice(typed)
    array = np.array(book.values.arrays[block])
    place = tuple(rng.randrange(size) for size in array.shape)
    if block.text:
        choices = book.blueprint.choices.get(block)
        words = book.values.arrays[choices].ravel().tolist() if choices is not None else array.ravel().tolist()
        array[place] = rng.choice([word for word in words if isinstance(word, str)])
    elif np.isfinite(array[place]):
        low, high = book.blueprint.ranges.get(block, (-np.inf, np.inf))
        array[place] = float(np.clip(array[place] + rng.choice([-1, -0.1, 0.05, 0.5, 1]), low, high))
    try:
        other = book.blueprint.with_typed({block.name: array.tolist()})
        values = computation.values(other.typed, needed=other.results)
        return values, cells_of(values, [block])
    except (NoNumber, NotationError, NumbersError):
        return None


@pytest.mark.parametrize("numbers", BUILT_IN)
def test_every_cell_is_as_in_python_also_after_changes(opened: Opened, numbers: str) -> None:
    book, rng = book_of(numbers), random.Random(numbers)
    page = opened(page_text(numbers))
    blocks = book.blueprint.blocks()
    found = compared(page, book.values, blocks)
    assert found["apart"] == []
    assert found["compared"] == sum(book.values.arrays[block].size for block in blocks)
    computation = Computation(blocks, book.blueprint.sizes)
    drawn = (changed(book, computation, rng) for _ in range(3 * CHANGES))
    made = [*islice((each for each in drawn if each is not None), CHANGES)]
    assert len(made) == CHANGES
    for values, typed in made:
        page.evaluate(TYPE, typed)
        assert compared(page, values, blocks)["apart"] == [], typed
    assert page.errors == []


@pytest.mark.parametrize(("numbers", "preset"), PRESETS.items())
def test_presets_and_gradients_too(opened: Opened, numbers: str, preset: str) -> None:
    book = book_of(numbers, preset, True)
    page = opened(page_text(numbers, preset, True))
    assert compared(page, book.values, book.blueprint.blocks())["apart"] == []


@pytest.mark.parametrize("numbers", MAINS.values())
def test_equations_are_spelled_as_in_python(opened: Opened, numbers: str) -> None:
    """In letters the same everywhere, with numbers wherever none of them is what rounding has left of a 0."""
    book, rng, page = book_of(numbers), random.Random(numbers), opened(page_text(numbers))
    asked, letters, lines, noisy = [], [], [], []
    for number, block in enumerate(book.blueprint.blocks()):
        array = book.values.arrays[block]
        for place in rng.sample([*np.ndindex(array.shape)], min(2, array.size)):
            places = tuple(i - book.values.before(block, axis) for i, axis in zip(place, block.axes, strict=True))
            filled = filled_by(block, places, book.values)
            if filled is not None:
                asked.append([number, int(np.ravel_multi_index(place, array.shape)) if place else 0])
                letters.append(mathml_equation(block, filled.definition))
                lines.append(mathml_explained(block, places, book.values))
                cells = [
                    Cell(block, places),
                    *(each for read in reads(Cell(block, places), book.values) for each in read.cells),
                ]
                noisy.append(any(is_noise(book.values.cell(each.block, *each.places)) for each in cells))
    said = page.evaluate(
        """(asked) => asked.map(([number, offset]) => {
          const block = blocks[number], equation = spelling.equation(block, offset, []);
          const result = spelling.number(block.cells[offset])[0];
          const noisy = [block.cells[offset], ...engine.reads(block, offset).map(([read, at]) => blocks[read].cells[at])]
            .some((value) => value !== 0 && Math.abs(value) < 1e-12);
          return [equation.left + data.style.equals + equation.letters, equation.numbers + equation.sign + result, noisy];
        })""",
        asked,
    )
    assert [one for one, _, _ in said] == letters
    pairs = [(two, due) for (_, two, noise), due, ours in zip(said, lines, noisy, strict=True) if not (noise or ours)]
    assert [(two, due) for two, due in pairs if two != due] == []
    assert len(pairs) > 0.8 * len(lines)


def is_noise(value: float | str) -> bool:
    """Tells whether a number is what rounding has left of a 0: its digits differ from processor to processor."""
    return not isinstance(value, str) and 0 < abs(value) < 1e-12


def test_symbols_are_set_alike(opened: Opened) -> None:
    symbols = sorted({block.symbol for name in BUILT_IN for block in blueprint_of(load(name)).blocks()})
    assert opened(page_text("classic")).evaluate("(symbols) => symbols.map(symbolSet)", symbols) == [
        mathml_symbol(symbol) for symbol in symbols
    ]


def test_every_operation_has_a_row_and_a_number(opened: Opened) -> None:
    """What the notation can say, the engine can compute: an operation that it lacks is an error at once."""
    page = opened(page_text("classic"))
    for name, rule in STYLE.table.items():
        operand = ["c", 1] if name not in ("filled", "is_off") else ["r", 0, []]
        made = page.evaluate("(expr) => typeof engine.compiled(expr)()", ["o", name, [operand] * len(rule.operands)])
        assert made == "number", name


def test_a_value_in_a_subscript_belongs_to_it(opened: Opened) -> None:
    """A_λ=0.5 is a symbol and no equation: also where an index or an equation follows it."""
    assert mathml_symbol("A_λ=0.5") == "<msub><mi>A</mi><mtext>λ=0.5</mtext></msub>"
    assert mathml_symbol("x_t=1²") == "<msup><msub><mi>x</mi><mtext>t=1</mtext></msub><mn>2</mn></msup>"
    page = opened(page_text("default"))
    left = page.evaluate("() => [...blocks].find((each) => each.symbol === 'A_λ=0.5').math")
    assert left == mathml_symbol("A_λ=0.5")
