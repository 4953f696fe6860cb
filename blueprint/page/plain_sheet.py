"""A sheet of the file format's writer that writes what it is given: formulas as they are, and no value where none is known."""

from typing import Any

from xlsxwriter.worksheet import CellFormulaTuple, Worksheet

from blueprint.page import grid
from blueprint.page.parse_cell import is_error


class Unknown(str):
    """The value of a formula that waits: none is written."""


UNKNOWN = Unknown()


class PlainSheet(Worksheet):  # type: ignore[misc]
    """A sheet whose formulas are written as they are; one that waits has no value, and nor have charts of it."""

    def _write_cell(self, row: int, column: int, cell: Any) -> None:
        """Writes the cells that nearly all are, in the writer's letters, at once; it goes through a list for each of them."""
        head = self._head(row, column, cell.format) if cell.format else ""
        match cell.__class__.__name__ if head else "":
            case "Number":
                self.fh.write(f"{head}><v>{cell.number:.16G}</v></c>")
            case "String":
                self.fh.write(f'{head} t="s"><v>{cell.string}</v></c>')
            case "Blank":
                self.fh.write(f"{head}/>")
            case "Formula" if not isinstance(value := cell.value, bool | Unknown) and not is_error(value):
                typed = ' t="str"' if isinstance(value, str) and value else ""
                self.fh.write(f"{head}{typed}><f>{_escaped(cell.formula)}</f><v>{_escaped(value)}</v></c>")
            case _:
                super()._write_cell(row, column, cell)

    def _head(self, row: int, column: int, look: Any) -> str:
        return f'<c r="{grid.address(row, column)}" s="{look._get_xf_index()}"'

    def formula(self, row: int, column: int, formula: str, look: Any, value: float | str) -> None:
        """Writes a formula as it is; the writer would look for functions that it spells otherwise, or that give an array."""
        self._check_dimensions(row, column)
        self.table[row][column] = CellFormulaTuple(formula.removeprefix("="), look, value)

    def _xml_formula_element(self, formula: str, result: Any, attributes: Any) -> None:
        """Writes a formula; without an element for its value where this is unknown."""
        if not isinstance(result, Unknown):
            super()._xml_formula_element(formula, result, attributes)
            return
        self._xml_start_tag("c", attributes)
        self._xml_data_element("f", formula)
        self._xml_end_tag("c")

    def _escape_attributes(self, attribute: Any) -> Any:
        """Leaves an address or a number as it is, as nearly all are; the writer would search each for signs to spell otherwise."""
        plain = not isinstance(attribute, str) or attribute.isalnum()
        return attribute if plain else super()._escape_attributes(attribute)

    def _get_range_data(self, *corners: int) -> list[Any]:
        """Returns what a chart shows without calculating; None for what is unknown, and for an error."""
        found = super()._get_range_data(*corners)
        unknown = any(isinstance(each, Unknown) for each in found)
        return [None if (unknown and each == "") or is_error(each) else each for each in found]

    def _prepare_formula(self, formula: str, expand_future_functions: bool = False) -> str:
        """Takes the sign = off the formula of a rule; the writer would also look for each newer function."""
        return formula.removeprefix("=")

    def put(self, row: int, column: int, value: float | str, look: Any) -> None:
        """Writes a word as a word and a number as a number, where the writer would look for more in a word.

        "" and NaN leave the cell blank, with its look.
        """
        if value == "" or value != value:
            self._write_blank(row, column, None, look)
        elif isinstance(value, str):
            self._write_string(row, column, value, look)
        else:
            self._write_number(row, column, value, look)


def _escaped(text: str | float) -> str | float:
    if isinstance(text, str) and ("&" in text or "<" in text or ">" in text):
        return text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return text
