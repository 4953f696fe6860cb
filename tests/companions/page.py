"""Reads the tables of docs/companions.md, and writes their last cells anew: `python -m tests.companions.page`

A row of a table with numbers has five cells: what the course calls the function, in backticks; what it does; the settings, in
backticks, after `blueprint build`; the row of the workbook, in backticks; and what that row gives.
"""

from __future__ import annotations

import re
import shlex
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

import torch
from torch import Tensor

from blueprint.book import Book
from tests.page.workshop import made

PAGE = Path(__file__).parents[2] / "docs" / "companions.md"
LINE = re.compile(r"^\| `([^`]+)`[^|]*\|[^|]*\| `(--numbers [^`]+)` \| `([\w.]+)` \| ([^|]*) \|$", flags=re.MULTILINE)
DECIMALS = 4
MOST = 6
"""How many numbers of a row a cell shows at most; an ellipsis stands for the rest."""


@dataclass(frozen=True)
class Line:
    """A row of a table: what the course calls it, the settings after `blueprint build`, the workbook's row, the numbers printed."""

    called: str
    settings: str
    row: str
    gives: str

    @property
    def slopes(self) -> bool:
        """Whether its gradient is compared: that of a total loss over the log-probs of a policy that was rolled out."""
        return self.row == "total_loss" and "sft" not in self.settings

    @property
    def book(self) -> Book:
        """The workbook that the settings build, with gradients where they are compared."""
        return built(self.settings, gradients=self.slopes)


def lines() -> list[Line]:
    """Reads every row with numbers."""
    return [Line(*found) for found in LINE.findall(PAGE.read_text(encoding="utf-8"))]


@lru_cache(64)
def built(settings: str, *, gradients: bool) -> Book:
    """Builds what `blueprint build SETTINGS` builds, of --numbers, --preset and --set, and with --gradients where asked for."""
    words = shlex.split(settings)
    options = list(zip(words[::2], words[1::2], strict=True))
    assert {option for option, _ in options} <= {"--numbers", "--preset", "--set"}
    numbers = next(value for option, value in options if option == "--numbers")
    overrides = [
        value if option == "--set" else f"preset={value}" for option, value in options if option != "--numbers"
    ]
    return made(*(["gradients=on"] if gradients else []), *overrides, numbers=numbers)


def numbers_of(book: Book, row: str) -> Tensor:
    """Returns the numbers of a row, flat; of a row of tokens those of the responses."""
    found = torch.tensor(book.values[book.blocks[row]], dtype=torch.float64)
    if found.dim() < 2:
        return found.reshape(-1)
    return found[torch.tensor(book.values[book.blocks["mask"]], dtype=torch.float64) == 1]


def shown(numbers: Tensor) -> str:
    """Writes numbers as a cell of the page has them."""
    texts = [f"{number + 0:.{DECIMALS}f}".replace("-", "−") for number in numbers[:MOST].tolist()]
    return ", ".join(texts) + (" …" if len(numbers) > MOST else "")


def main() -> None:
    """Writes the last cells of docs/companions.md anew."""

    def renewed(match: re.Match[str]) -> str:
        line = Line(*match.groups())
        start = match.start(4) - match.start()
        return f"{match[0][:start]}{shown(numbers_of(line.book, line.row))} |"

    PAGE.write_text(LINE.sub(renewed, PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
