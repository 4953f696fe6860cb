"""A saved workbook becomes a book again: the definitions of today, the numbers that are typed in the file."""

from __future__ import annotations

from functools import cached_property
from math import nan
from pathlib import Path
from typing import Any

import numpy as np

from blueprint.book import Book
from blueprint.explain.spots import Address, Spot, block_at, parse_address
from blueprint.language import NotationError
from blueprint.language.chain import Cell
from blueprint.language.nodes import Expr, Find, Op, Ref, walk
from blueprint.language.spelling.numbers import number
from blueprint.numbers import TokenNumbers, WeightNumbers
from blueprint.numbers.complete import MODELS
from blueprint.page.opened import Opened
from blueprint.page.outline import Blueprint
from blueprint.page.read import ReadError
from blueprint.ppo import rlhf_ppo
from blueprint.ppo.settings import TOLD
from blueprint.ppo.weights_level import block_name

SAME = 1e-9
"""What a file shows may differ by this much, relative to numbers above 1: programs round exp and ln differently."""


class SavedBook(Book):
    """A book made from the typed cells of a file; its cells stand where they stand in that file."""

    def __init__(self, blueprint: Blueprint, file: Opened):
        super().__init__(blueprint)
        self.file = file

    @cached_property
    def spots(self) -> dict[str, Spot]:
        """Where the blocks stand in the file."""
        places = self.file.places
        return {name: Spot(found.sheet, found.top, found.left, found.shape) for name, found in places.items()}

    @property
    def sheets(self) -> list[str]:
        """The names of the file's sheets."""
        return self.file.sheets

    def said(self, cell: Cell) -> float | str | None:
        """Returns what the file shows in a cell, where that is not its value; None also where it shows nothing."""
        shown, value = self._shown(cell), self.values.cell(cell.block, *cell.places)
        if shown is None:
            return None
        if isinstance(value, str) or not isinstance(shown, int | float):
            return None if shown == value else str(shown)
        return None if abs(shown - value) <= SAME * max(1, abs(value)) else float(shown)

    def doubts(self, cell: Cell) -> str:
        """Says that the file shows another value than its inputs give, or none; nothing where it shows the same.

        A blank cell in which one types is what it is: it is only told that it counts as 0.
        """
        if cell.block.typed:
            counted = self._shown(cell) is None and self.values.cell(cell.block, *cell.places) == 0
            return "blank, counted as 0" if counted else ""
        given, said = number(self.values.cell(cell.block, *cell.places)).text, self.said(cell)
        if said is not None:
            return (
                f"the file says {number(said).text}, its inputs give {given}: "
                "it was saved without recalculation, or a formula on the way was overwritten"
            )
        if self._shown(cell) is None and given not in (number(nan).text, number("").text):
            return f"the file says nothing here, its inputs give {given}: it was saved without recalculation"
        return ""

    def formula(self, address: Address) -> str | None:
        """Returns the formula that stands at an address of the file, or None."""
        return self.file.formula(*address)

    def linked(self, address: Address) -> bool:
        """Says whether a link to a block stands in the row of an address."""
        return any(map(self._leads, self.file.links(address.sheet, address.row)))

    def _leads(self, target: str) -> bool:
        try:
            return block_at(parse_address(target.partition(":")[0], self.sheets), self.spots) is not None
        except NotationError:  # the sheet was renamed, the link was not
            return False

    def _shown(self, cell: Cell) -> Any:
        spot = self.spots.get(cell.block.name)
        return self.file.value(*spot.address(cell.places)) if spot else None


def book_of(path: Path) -> SavedBook:
    """Makes a book from a saved workbook, edited or not.

    Raises ReadError, in a sentence, for a file that is no workbook of RLHF PPO, whose blocks are not those of this
    version, or in which something is typed that cannot be computed with.
    """
    file = Opened(path)
    try:
        blueprint = rlhf_ppo(_numbers(file))
        return SavedBook(blueprint.with_typed(_typed(blueprint, file)), file)
    except NotationError as error:
        raise ReadError(f"{path}: {error}") from error


def _typed(blueprint: Blueprint, file: Opened) -> dict[str, Any]:
    """Reads what is typed; a blank cell is 0 as in the sheet, unless an equation asks whether it is filled.

    Raises ReadError for a blank among the numbers that an equation searches for: a sheet finds it nowhere.
    """
    blocks = blueprint.blocks()
    nodes = [node for block in blocks for made in block.definitions for node in walk(made.expr)]
    asked = {ref.block for node in nodes if isinstance(node, Op) and node.name == "filled" for ref in _refs(node)}
    searched = {node.value.block for node in nodes if isinstance(node, Find) and isinstance(node.value, Ref)}
    arrays = {block: file.array(block.name) for block in blocks if block.typed}
    for block in searched & arrays.keys():
        if not block.text and (blank := np.argwhere(np.isnan(arrays[block]))).size:
            raise ReadError(f"{file.where(block.name, tuple(blank[0]))}: blank, but it is searched for: type a number")
    return {
        block.name: array if block.text or block in asked else np.nan_to_num(array, nan=0.0)
        for block, array in arrays.items()
    }


def _refs(expr: Expr) -> list[Ref]:
    return [node for node in walk(expr) if isinstance(node, Ref)]


def _numbers(file: Opened) -> WeightNumbers | TokenNumbers:
    level = file.noted.get("level", "weights" if "old.E" in file.places else "tokens")
    needed = "old.E" if level == "weights" else "old_critic.values"
    if needed not in file.places:
        raise ReadError(
            f"{file.path} is a workbook of another blueprint than RLHF PPO: ask its own book, book.explain(…)"
        )
    return _weights(file) if level == "weights" else _tokens(file)


def _weights(file: Opened) -> WeightNumbers:
    keys = [f"{model}.{part}" for model, parts in MODELS.items() for part in parts]
    given, draws = file.array("given"), file.array("rollout.draw")
    prompts = [tuple(word for word in row if word != "") for row in given]
    return WeightNumbers(
        name=file.noted.get("numbers", file.path.stem),
        title=file.title,
        about="",
        seed=int(file.noted.get("seed", "1")),
        vocabulary=tuple(file.array("vocabulary")),
        prompts=tuple(prompts),
        max_new_tokens=max(1, draws.shape[1] - max(map(len, prompts))),
        draws=draws,
        ppo=_settings(file),
        weights={key: file.array(block_name(key)) for key in keys},
    )


def _tokens(file: Opened) -> TokenNumbers:
    rows = {
        name: tuple(map(tuple, file.array(name))) for name in ("word_written", "old.logprobs", "reference.logprobs")
    }
    cases = {name: tuple(file.array(name)) for name in ("case.advantage", "case.ratio")}
    return TokenNumbers(
        name=file.noted.get("numbers", file.path.stem),
        title=file.title,
        about="",
        words=rows["word_written"],
        logprobs_old=rows["old.logprobs"],
        logprobs_ref=rows["reference.logprobs"],
        values=tuple(tuple(row[:-1]) for row in file.array("old_critic.values")),
        scores=tuple(map(tuple, file.array("reward.score"))),
        case_advantages=cases["case.advantage"],
        case_ratios=cases["case.ratio"],
        ppo=_settings(file),
    )


def _settings(file: Opened) -> dict[str, float | str]:
    """Returns the settings that are typed beside the preset's."""
    names = [key for key in TOLD if f"{key}.yours" in file.places]
    typed = {key: file.array(f"{key}.yours").item() for key in names}
    return {key: value for key, value in typed.items() if value not in ("",) and value == value}
