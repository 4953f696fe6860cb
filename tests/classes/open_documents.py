"""Files as LibreOffice saves them by itself: the cells, names and properties of an .xlsx file, written as .ods."""

from __future__ import annotations

import zipfile
from collections.abc import Iterator
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from openpyxl import load_workbook
from openpyxl.worksheet.worksheet import Worksheet

from blueprint.classes.saved_workbook import ODS_KIND

SPACES = " ".join(
    f'xmlns:{short}="urn:oasis:names:tc:opendocument:xmlns:{long}:1.0"'
    for short, long in {"office": "office", "table": "table", "text": "text", "meta": "meta"}.items()
)


def as_ods(xlsx: Path, path: Path) -> Path:
    """Writes a workbook once more, in the other format."""
    formulas, values = load_workbook(xlsx), load_workbook(xlsx, data_only=True)
    sheets = "".join(
        f"<table:table table:name={quoteattr(page.title)}>{''.join(_rows(page, formulas[page.title]))}</table:table>"
        for page in values
    )
    names = "".join(_name(name, said.attr_text) for name, said in formulas.defined_names.items())
    said = "".join(
        f"<meta:user-defined meta:name={quoteattr(str(each.name))}>{escape(str(each.value))}</meta:user-defined>"
        for each in formulas.custom_doc_props.props
    )
    body = f"{sheets}<table:named-expressions>{names}</table:named-expressions>"
    return written(path, body, f"<office:meta>{said}</office:meta>")


def written(path: Path, body: str, meta: str = "", **parts: str) -> Path:
    """Writes a file of this format, of the XML of its sheets."""
    sheets = f"<office:body><office:spreadsheet>{body}</office:spreadsheet></office:body>"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
        target.writestr("mimetype", ODS_KIND)
        target.writestr("content.xml", f"<office:document-content {SPACES}>{sheets}</office:document-content>")
        target.writestr("meta.xml", f"<office:document-meta {SPACES}>{meta}</office:document-meta>")
        for name, content in parts.items():
            target.writestr(name, content)
    return path


def _rows(page: Worksheet, formulas: Worksheet) -> Iterator[str]:
    for row in page.iter_rows():
        cells = "".join(_cell(each.value, formulas[each.coordinate].value) for each in row)
        yield f"<table:table-row>{cells}</table:table-row>"


def _cell(value: object, formula: object) -> str:
    own = isinstance(formula, str) and formula.startswith("=")
    calculated = f" table:formula={quoteattr(f'of:{formula}')}" if own else ""
    if value is None:
        return f"<table:table-cell{calculated}/>"
    if isinstance(value, int | float):
        return f'<table:table-cell{calculated} office:value-type="float" office:value="{value!r}"/>'
    text = f"<text:p>{escape(str(value))}</text:p>"
    return f'<table:table-cell{calculated} office:value-type="string">{text}</table:table-cell>'


def _name(name: str, said: str) -> str:
    """Writes a defined name: $'A sheet'!$B$3:$D$9 is $'A sheet'.$B$3:.$D$9 there, several areas stand apart by ~."""
    if "!" not in said:
        return f"<table:named-expression table:name={quoteattr(name)} table:expression={quoteattr(said)}/>"
    areas = [area.replace("!", ".", 1).replace(":", ":.", 1) for area in said.split(",")]
    if len(areas) == 1:
        address = areas[0] if areas[0].startswith("$") else f"${areas[0]}"
        return f"<table:named-range table:name={quoteattr(name)} table:cell-range-address={quoteattr(address)}/>"
    expression = "~".join(f"[${area}]" for area in areas)
    return f"<table:named-expression table:name={quoteattr(name)} table:expression={quoteattr(f'of:={expression}')}/>"
