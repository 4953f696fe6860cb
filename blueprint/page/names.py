"""Names: what formulas and readers call a block, and the sheets and names that no outline may use."""

import re

DELIVERED, FORMULAS, CONTENTS = "Delivered", "Formulas", "Contents"
BLANKS = "Blanks"
ONE_PAGE = "One page"
"""The first tab, where a blueprint says what stands on it: the whole computation at a glance."""
ONE_PAGE_LEAD = "the whole computation on one sheet: read each column downwards"
BLANKS_LEAD = (
    "what is left to you: a cream cell in a dashed outline; what reads it shows … on grey until it is filled in"
)
"""The sheet that lists the blanks, right after the first sheet, where a workbook has some."""
SHEETS = {
    DELIVERED: "a copy of everything typed, and what was changed since: to undo a change, copy the number back",
    FORMULAS: "whether every formula is the one that was delivered, and the sheet and row of the first that is not",
    CONTENTS: "every row: name, symbol, meaning, place, equation, what it reads, its paper or library",
}
"""Each sheet that is added to those of an outline, with what stands there, in the order of the tabs."""

CONTENTS_RANGE, CHOSEN_PLACE, CHANGED_INPUTS = "blueprint_contents", "chosen_place", "changed_inputs"
CHANGED_SINCE, FIRST_FORMULA, READS_FORMULAS = "changed_since", "first_formula", "reads_formulas"
BLANKS_RANGE, COPY_CELL = "blueprint_blanks", "blueprint_token"
COPY = COPY_CELL.removeprefix("blueprint_")
"""The table of the blanks; and the cell that says whose copy a file is, with the name of that among the blueprint's facts."""
NAMES = (CONTENTS_RANGE, CHOSEN_PLACE, CHANGED_INPUTS, CHANGED_SINCE, FIRST_FORMULA, READS_FORMULAS)
"""The table of contents, by which readers find every block; where the chosen column is in every row; how many typed
blocks were changed, without the choice of what is shown and with it; the first formula that is not as delivered; and
whether the program can read a formula's text."""


def is_of_one_page(sheet: str, formula: str) -> bool:
    """Says whether a formula stands on One page, or reads a cell of it."""
    return sheet == ONE_PAGE or f"'{ONE_PAGE}'!" in formula


UNPRINTED = "Printed: the head (see print area)"
FIRST_PRINTED = "Printed: first group (see print area)"

# What a spreadsheet takes for a cell (A1, LAM1), for a row or column (R, C, R1C1), or for a function of its own.
_CELL = re.compile(r"[A-Za-z]{1,3}\d+|[Rr]\d*|[Cc]\d*|[Rr]\d*[Cc]\d*")
_FUNCTIONS = {
    "gamma", "beta", "max", "min", "sum", "exp", "index", "match", "choose", "var", "mode", "rank", "rate", "true", "false",
}  # fmt: skip


def defined_name(block: str) -> str:
    """Returns the defined name of a block: its dotted name with low lines, and one more where it would mean something else.

    LibreOffice allows no dots in names; `gamma` is a function, so a block of that name becomes `gamma_`.
    """
    name = re.sub(r"^(?=\d)|\W", "_", block)  # one before a digit, too
    return f"{name}_" if _CELL.fullmatch(name) or name.lower() in _FUNCTIONS else name
