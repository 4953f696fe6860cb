"""The cells of a sheet in the spelling of spreadsheet programs, taken apart by regular expressions.

XlsxWriter, openpyxl and LibreOffice all write a cell as `<c r="B7" s="3" t="str"><f>…</f><v>…</v></c>`. Where every letter between
`<sheetData>` and `</sheetData>` is of a row or a cell that is spelled so, no parser of XML has to make events or objects of each
cell, which takes five times as long. A sheet with anything else in it (a comment, an entity of one's own, a prefix, a formula
that cells share) is left as it is: `saved_file` gives it to openpyxl, and the values are the same either way.
"""

import re
from typing import NamedTuple

_CELL = (
    r'<c r="({letters}[A-Z]{{1,3}})({letters}[1-9][0-9]{{0,5}})"(?: s="({letters}[0-9]{{1,6}})")?'
    r'(?: t="({letters}n|s|b|e|str)")?(?: ?/>|>({letters}<f(?: aca="(?:false|true)")?>[^<]*</f>)?'
    r"(?:<v>({letters}[^<]*)</v>|<v ?/>)?</c>)"
)
"""A cell; `letters` is nothing where column, row, look, type, formula and value are wanted, and `?:` where they are not."""
_CELLS = re.compile(_CELL.format(letters=""))
_LOOK = r'(?: (?:spans|s|customFormat|ht|hidden|customHeight|outlineLevel|collapsed)="[\w.: -]*")*'
_ROWS = re.compile(
    rf'(?:<row r="[1-9][0-9]{{0,5}}"{_LOOK} ?(?:/>|>(?:{_CELL.format(letters="?:")})*+</row>))*+', re.ASCII
)
_BEFORE = re.compile(
    r'(?:<\?xml version="1\.0" encoding="(?:UTF|utf)-8"(?: standalone="yes")?\?>\s*)?'
    r'<worksheet (?:xmlns:\w+="[^"<]*" )*xmlns="http://schemas\.openxmlformats\.org/spreadsheetml/2006/main"'
)
_BEGIN, _END = b"<sheetData>", b"</sheetData>"
_ODD = (b"<!", b"]]>", b"\xef\xbf\xbe", b"\xef\xbf\xbf")
"""Comments and what is like them; the end of one; and two letters that no text of XML may have."""
_CONTROL = bytes(set(range(32)) - {*b"\t\n"})
"""Letters that may not stand in a text of XML, and one that is read as another."""
_ODD_ENTITY = re.compile(rb"&(?!(?:lt|gt|quot|apos|amp);)")
_ENTITIES = {"&lt;": "<", "&gt;": ">", "&quot;": '"', "&apos;": "'", "&amp;": "&"}


class Split(NamedTuple):
    """A sheet: the text of its cells, how many rows, cells, formulas and values stand in it, and the sheet without them."""

    cells: str
    elements: int
    rest: bytes


def split(content: bytes) -> Split | None:
    """Returns the cells of a sheet and the rest of it; None where anything in it is spelled in another way."""
    before, _, behind = content.partition(_BEGIN)
    cells, _, after = behind.partition(_END)
    if not cells or _BEGIN in after or _END in after or any(odd in content for odd in _ODD):
        return None
    if _ODD_ENTITY.search(content) or len(content.translate(None, _CONTROL)) != len(content):
        return None
    try:
        head, text = before.decode("utf-8"), cells.decode("utf-8")
    except UnicodeDecodeError:
        return None
    if not _BEFORE.match(head) or head.count("xmlns=") != 1 or not _ROWS.fullmatch(text):
        return None
    return Split(text, text.count("<") - text.count("</"), before + _BEGIN + _END + after)


def plain_cells(cells: str) -> list[tuple[str, str, str, str, str, str]]:
    """Returns of each cell column in letters, row, look, type, formula with its tags, and value; "" for what is not there."""
    return _CELLS.findall(cells)


def unescaped(text: str) -> str:
    """Returns a text of XML as it is meant."""
    if "&" in text:
        for entity, meant in _ENTITIES.items():
            text = text.replace(entity, meant)
    return text


def formula_in(tagged: str) -> str:
    """Returns a formula without its tags: `<f aca="false">A1+1</f>` is A1+1."""
    return unescaped(tagged[tagged.index(">") + 1 : -len("</f>")])
