"""A class for tests: its key, and files as students hand them in, written without the rooms that make and fill worksheets."""

import re
import zipfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, Literal
from xml.sax.saxutils import escape
from zlib import crc32

import numpy as np

from blueprint.book import Book
from blueprint.classes.key import Key, KeyBlank, KeyStudent, base_of, token_of, with_departures
from blueprint.inputs import load, toml_of
from blueprint.page import grid
from blueprint.page.placing import place_blocks
from blueprint.workbooks.registry import kind_of

SECRET, FORMAT = "5a" * 32, "{D5CDD505-2E9C-101B-9397-08002B2CF9AE}"
Asked = tuple[str, Sequence[tuple[int, ...]], Literal["number", "formula"]]
"""A block's name, the 0-based places of a blank's cells, and what is asked for."""
Answer = float | str | None
"""What stands in a cell: a number, a text, a formula with its sign =, or nothing."""


def key_of(numbers: str, asked: Sequence[Asked], students: Mapping[str, Mapping[str, Any]], **parts: Any) -> Key:
    """Makes the key of a class. students: by id, what is typed otherwise in their files."""
    loaded = load(numbers)
    made = Key.model_construct(assignment="hw1", numbers=toml_of(loaded))
    base = base_of(made)
    book = Book(base)
    layout = place_blocks(base, book.values)
    blanks = []
    for number, (name, cells, asks) in enumerate(asked, 1):
        block = book.blocks[name]
        addresses = [grid.address(*layout.places[block].cell(block, at)) for at in cells]
        blanks.append(
            KeyBlank(
                id=f"b{number:02}", title=f"{name}@{number}", block=name, cells=[list(at) for at in cells],
                sheet=layout.places[block].sheet, addresses=addresses, decimals=block.about.decimals, asks=asks,
            )
        )  # fmt: skip
    people = [_student(base, blanks, id, typed) for id, typed in students.items()]
    given: dict[str, Any] = {"assignment": "hw1", "seed": 1, "secret": SECRET, "level": 1, "kind": kind_of(loaded).name}
    return Key(**given, numbers=made.numbers, blanks=blanks, students=people, **parts)


def _student(base: Any, blanks: list[KeyBlank], id: str, typed: Mapping[str, Any]) -> KeyStudent:
    variant = f"{crc32(id.encode()):08x}"
    token = token_of(id, "hw1", variant, SECRET)
    student = KeyStudent.model_construct(
        id=id, name=f"Student {id}", email="", variant=variant, token=token, file=f"{id}.xlsx", sha256="0" * 64,
        typed=dict(typed), answers={},
    )  # fmt: skip
    book = Book(with_departures(base, student.typed))
    answers = {b.id: [float(book.values.cell(book.blocks[b.block], *at)) for at in b.cells] for b in blanks}
    return KeyStudent(**student.model_dump() | {"answers": answers})


def hand_in(
    path: Path, key: Key, student: KeyStudent, answers: Mapping[str, Sequence[Answer]], property: bool = True
) -> Path:
    """Writes a student's file in which the blanks hold something, and everything else what follows from that."""
    base = with_departures(base_of(key), student.typed)
    named = {block.name: block for block in base.blocks()}
    held: dict[Any, dict[tuple[int, ...], float]] = {}
    for blank in key.blanks:
        for at, answer in zip(blank.cells, answers[blank.id], strict=True):
            held.setdefault(named[blank.block], {})[tuple(at)] = _number(answer)
    Book(base, held=held).save(path)
    _patch(path, key, student, answers, property)
    return path


def _number(answer: Answer) -> float:
    """Returns what a cell comes to: =1+1→2 is a formula with its value."""
    value = answer.partition("→")[2] if isinstance(answer, str) else answer
    return float(value or 0.0)


def _patch(path: Path, key: Key, student: KeyStudent, answers: Mapping[str, Sequence[Answer]], property: bool) -> None:
    """Puts answers, names and the token into a saved file."""
    with zipfile.ZipFile(path) as source:
        parts = {each: source.read(each).decode() for each in source.namelist() if not each.endswith(".png")}
    sheets = re.findall(r'<sheet name="([^"]*)"', parts["xl/workbook.xml"])
    names = ""
    for blank in key.blanks:
        part = f"xl/worksheets/sheet{sheets.index(escape(blank.sheet)) + 1}.xml"
        for address, answer in zip(blank.addresses, answers[blank.id], strict=True):
            parts[part] = _put(parts[part], address, answer)
        cells = [re.sub(r"([A-Z]+)(\d+)", r"$\1$\2", address) for address in blank.addresses]
        ranges = ",".join(f"'{escape(blank.sheet)}'!{cell}" for cell in cells)
        names += f'<definedName name="blank_{blank.id[1:]}">{ranges}</definedName>'
    names += f'<definedName name="blueprint_token">"{student.token}"</definedName>'
    parts["xl/workbook.xml"] = parts["xl/workbook.xml"].replace("</definedNames>", f"{names}</definedNames>")
    if property:
        said = f'<property fmtid="{FORMAT}" pid="99" name="blueprint token"><vt:lpwstr>{student.token}</vt:lpwstr></property>'
        parts["docProps/custom.xml"] = parts["docProps/custom.xml"].replace("</Properties>", f"{said}</Properties>")
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as target:
        for name, content in parts.items():
            target.writestr(name, content)


def _put(sheet: str, address: str, answer: Answer) -> str:
    return re.sub(rf'<c r="{address}"( s="\d+")?.*?(?:</c>|/>)', lambda found: _cell(found, answer), sheet, count=1)


def _cell(match: re.Match[str], answer: Answer) -> str:
    begin = match[0].partition(">")[0].split(" t=")[0].rstrip("/")
    if answer is None:
        return f"{begin}/>"
    if isinstance(answer, float):
        return f"{begin}><v>{answer!r}</v></c>"
    if answer.startswith("="):
        formula, _, value = answer[1:].partition("→")
        return f"{begin}><f>{escape(formula)}</f>{f'<v>{value}</v>' if value else ''}</c>"
    return f'{begin} t="inlineStr"><is><t xml:space="preserve">{escape(answer)}</t></is></c>'


def right(key: Key, student: KeyStudent) -> dict[str, list[Answer]]:
    """Returns the right answers, rounded as the sheet shows them."""
    return {
        blank.id: [float(np.round(each, blank.decimals)) for each in student.answers[blank.id]] for blank in key.blanks
    }
