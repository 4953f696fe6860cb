"""Holds files against the standard Office Open XML, by the rules of Microsoft's Open XML SDK, as `openxml-audit` has them."""

from functools import cache
from pathlib import Path

from openxml_audit import FileFormat, OpenXmlValidator


@cache
def _validator() -> OpenXmlValidator:
    return OpenXmlValidator(file_format=FileFormat.OFFICE_2019, max_errors=20)


def findings(path: Path) -> list[str]:
    """Lists what is not as the standard has it: parts, relations, elements, attributes, and what refers to what."""
    return [
        f"{path.name}: {found.part_uri} {found.path}: {found.description}"
        for found in _validator().validate(path).errors
    ]
