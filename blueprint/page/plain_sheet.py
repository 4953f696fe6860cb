"""A sheet of the file format's writer that writes what it is given: formulas as they are, and no value where none is known."""

from typing import Any

from xlsxwriter.worksheet import Worksheet

from blueprint.page.parse_cell import is_error


class Unknown(str):
    """The value of a formula that waits: none is written."""


UNKNOWN = Unknown()


class PlainSheet(Worksheet):  # type: ignore[misc]
    """A sheet whose formulas are written as they are; one that waits has no value, and nor have charts of it."""

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
        """Takes the sign = off; the writer would also look for each of 29 newer functions, a third of the time of a build."""
        return formula.removeprefix("=")

    def put(self, row: int, column: int, value: float | str, look: Any) -> None:
        """Writes a word as a word and a number as a number, where the writer would look for more in a word.

        "" and NaN leave the cell blank, with its look.
        """
        if value == "" or value != value:
            self.write_blank(row, column, None, look)
        elif isinstance(value, str):
            self.write_string(row, column, value, look)
        else:
            self.write_number(row, column, value, look)
