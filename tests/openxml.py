"""Holds files against the standard Office Open XML, by the rules of Microsoft's Open XML SDK, as `openxml-audit` has them."""

from functools import cache
from pathlib import Path

from lxml.etree import _Element
from openxml_audit import FileFormat, OpenXmlValidator, context

_POSITIONS: dict[_Element, dict[_Element, int]] = {}
"""By parent the position of each child among those of its tag, in the part that is looked at."""


def _sibling_position(element: _Element) -> int:
    """Returns the position of an element among its siblings of the same tag, from 1.

    The library counts the siblings before each element anew, the cells of a row and the rows of a sheet by the square of their
    number: that took a third of a validation.
    """
    parent = element.getparent()
    if parent is None:
        _POSITIONS.clear()
        return 1
    if parent not in _POSITIONS:
        counted: dict[object, int] = {}
        _POSITIONS[parent] = found = {}
        for child in parent:
            found[child] = counted[child.tag] = counted.get(child.tag, 0) + 1
    return _POSITIONS[parent][element]


COUNTED_ANEW, context._sibling_position = context._sibling_position, _sibling_position


@cache
def _validator() -> OpenXmlValidator:
    return OpenXmlValidator(file_format=FileFormat.OFFICE_2019, max_errors=20)


def findings(path: Path) -> list[str]:
    """Lists what is not as the standard has it: parts, relations, elements, attributes, and what refers to what."""
    return [
        f"{path.name}: {found.part_uri} {found.path}: {found.description}"
        for found in _validator().validate(path).errors
    ]
