"""What is written can be read: dark enough on its fill, and told apart by those who see no colour."""

from __future__ import annotations

import re
from collections import defaultdict
from functools import cache
from itertools import product
from typing import Any

import pytest

from tests.page.colours import WHITE, Look, Styles, contrast, luminance
from tests.page.finished import FILES, Area, Finished, area, finished
from tests.page.workshop import opened

BUILDS = (*FILES, "wide")
ENOUGH = 4.5
"""The ratio that the Web Content Accessibility Guidelines 2.1 ask of plain text (1.4.3, AA)."""
ENOUGH_FOR_LINES = 3.0
"""The same for what is no text but is needed to understand it (1.4.11, AA)."""
VERDICTS = {"OK", "LOOK", "same", "changed", "overwritten", "differs", "remark", "error", "unwatched"}


def built(name: str) -> Finished:
    """Returns a built-in workbook, or one with weights on a sheet of their own."""
    return finished("default", "sizes.vocabulary=11") if name == "wide" else finished(name)


def test_contrast_is_that_of_the_guidelines() -> None:
    """Known ratios: black on white is 21, and #767676 is the palest grey that passes on white."""
    assert contrast("000000", WHITE) == 21
    assert contrast("767676", WHITE) >= ENOUGH > contrast("777777", WHITE)


@cache
def styles(name: str) -> Styles:
    return Styles(built(name))


@pytest.mark.parametrize("name", BUILDS)
def test_every_font_is_dark_enough_for_its_fill(name: str) -> None:
    """Every format of the file, and so every cell."""
    looks = set(styles(name).looks)
    assert {look.font for look in looks} >= {"0000FF", "000000", "006100", "595959"}
    assert {look.fill for look in looks} >= {WHITE, "FFF2CC", "DDEBF7", "1F3864"}
    assert [(look, round(contrast(*look), 2)) for look in looks if contrast(*look) < ENOUGH] == []


@pytest.mark.parametrize("name", BUILDS)
def test_every_format_that_depends_on_a_value_is_dark_enough_as_well(name: str) -> None:
    """A rule that sets only the font is taken on every fill below it, and on white and those of all other cells."""
    read = styles(name)
    # The samples of marks on One page and the boxes on Start lie beside no such font, and under no such rule.
    others = [sheet for sheet in read.file.sheets if sheet not in ("One page", "Start")]
    fills = {look.fill for sheet in others for look in read.used(sheet).values() if luminance(look.fill) > 0.5}
    pale: list[tuple[str, Look]] = []
    used = {sheet: read.used(sheet) for sheet in read.file.sheets}
    for rule in read.rules:
        here = {used[rule.sheet][at] for cells in rule.cells for at in cells.cells() if at in used[rule.sheet]}
        fonts = {rule.font} if rule.font else {look.font for look in here}
        grounds = {rule.fill} if rule.fill else {look.fill for look in here} | fills
        pairs = (Look(font, fill) for font, fill in product(fonts, grounds))
        pale += [(rule.formula, look) for look in pairs if contrast(*look) < ENOUGH]
    assert pale == []
    assert {rule.kind for rule in read.rules} >= {"cellIs", "expression"}


@pytest.mark.parametrize("name", BUILDS)
def test_a_format_that_depends_on_a_value_repeats_what_can_be_read_as_well(name: str) -> None:
    """Verdicts are words; what fades is outside the response, and says so by its 0 in the head; Walk names the column.

    Large numbers of Walk turn into powers of ten, in the same colours.
    """
    read = styles(name)
    assert {rule.formula.strip('"') for rule in read.rules if rule.kind == "cellIs"} == VERDICTS
    for rule in (rule for rule in read.rules if rule.kind == "expression" and rule.sheet != "One page"):
        fades, marks = (
            re.fullmatch(form, rule.formula) for form in (r"([A-Z]+)\$(\d+)=0", r"COLUMN\(\)-\d+=chosen_place")
        )
        large = re.fullmatch(r"ABS\(D\d+\)>=1000000", rule.formula) and not rule.font and not rule.fill
        assert fades or marks or large, rule.formula
        if fades:
            (cells,) = rule.cells
            left, row = area(f"{fades[1]}1").left, int(fades[2])
            assert left == cells.left
            assert row < cells.top  # in the head, which stays in view
            assert "mask" in str(read.file.shown[rule.sheet].cell(row, 3).value)


@pytest.mark.parametrize("name", BUILDS)
def test_a_verdict_has_its_colour_wherever_it_may_stand(name: str) -> None:
    """Every cell that holds a verdict lies within the rules for all of them."""
    read = styles(name)
    words = 0
    for sheet, page in ((sheet, read.file.shown[sheet]) for sheet in read.file.sheets):
        rules = [rule for rule in read.rules if rule.sheet == sheet and rule.kind == "cellIs"]
        for cell in (cell for row in page.iter_rows() for cell in row if cell.value in VERDICTS):
            here = [rule for rule in rules if any(holds(cells, cell.row, cell.column) for cells in rule.cells)]
            assert {rule.formula.strip('"') for rule in here} == VERDICTS, f"{sheet}!{cell.coordinate}"
            words += 1
    assert words > 50


def holds(cells: Area, row: int, column: int) -> bool:
    """Tells whether a cell lies in a range."""
    return cells.top <= row <= cells.bottom and cells.left <= column <= cells.right


Signature = tuple[bool, bool, str, tuple[str, ...]]


def signature(cell: Any) -> Signature:
    """What is left of a cell's looks without the colours of its font and its lines: slope, weight, fill and frame."""
    sides = (getattr(cell.border, side).style or "" for side in ("left", "right", "top", "bottom"))
    fill = cell.fill.fgColor.rgb if cell.fill.patternType == "solid" else ""
    return bool(cell.font.i), bool(cell.font.b), fill, tuple(sides)


def signatures(file: Finished) -> dict[str, dict[str, list[Signature]]]:
    """Returns, for cells to type into, formulas and repetitions, the signatures of each block's cells in their order."""
    book = opened(file.path, formulas=True)
    found: dict[str, dict[str, list[Signature]]] = defaultdict(dict)
    for name, cells in file.places.items():
        block = file.book.blocks[name]
        dressed = [cell for at in cells.cells() if (cell := book[cells.sheet].cell(*at)).has_style]
        blue = any(cell.font.color.rgb == "FF0000FF" for cell in dressed)
        kind = "link" if block.link else "typed" if block.typed and blue else "fixed" if block.typed else "formula"
        found[kind][name] = [signature(cell) for cell in dressed]
    return found


@pytest.mark.parametrize("name", BUILDS)
def test_what_is_to_be_typed_differs_from_formulas_by_more_than_the_colour_of_its_digits(name: str) -> None:
    """Cells to type into have a fill of their own, tables of weights a thick frame, which begins at their first cell."""
    kinds = signatures(built(name))
    typed = {block: first for block, (first, *_) in kinds["typed"].items()}
    formulas = {each for looks in kinds["formula"].values() for each in looks}
    assert len(typed) >= 15
    assert {block for block, first in typed.items() if first in formulas} == set()


@pytest.mark.parametrize("name", BUILDS)
def test_what_repeats_another_sheet_is_slanted_and_nothing_else_is(name: str) -> None:
    kinds = signatures(built(name))
    assert {slanted for looks in kinds.pop("link").values() for slanted, *_ in looks} == {True}
    assert {slanted for kind in kinds.values() for looks in kind.values() for slanted, *_ in looks} == {False}


@pytest.mark.parametrize("name", FILES)
def test_lines_of_a_chart_stand_out_and_differ_by_more_than_colour(name: str) -> None:
    """Lines have another dash or another mark each, bars another hatching; every colour stands out from the paper."""
    c, a = (f"{{http://schemas.openxmlformats.org/drawingml/2006/{part}}}" for part in ("chart", "main"))
    file = built(name)
    for part in (part for part in file.parts if "charts/chart" in part):
        strokes = []
        for series in file.xml(part).iter(f"{c}ser"):
            looks = series.find(f"{c}spPr")
            assert looks is not None
            hatched = [list(pattern.iter(f"{a}srgbClr")) for pattern in series.iter(f"{a}pattFill")]
            paper = [x for pair in hatched for x in pair]
            paper += [
                x for label in series.iter(f"{c}dLbls") for ground in label.iterfind(f"{c}spPr") for x in ground.iter()
            ]
            colours = [x.attrib["val"] for x in series.iter(f"{a}srgbClr") if x not in paper]
            # Of a hatching the darker colour stands out from the paper, and the other from that one.
            pairs = [
                sorted((x.attrib["val"] for x in pair), key=lambda each: contrast(each, WHITE)) for pair in hatched
            ]
            colours += [darker for _, darker in pairs]
            assert all(contrast(lighter, darker) >= ENOUGH_FOR_LINES for lighter, darker in pairs), (part, pairs)
            assert all(contrast(colour, WHITE) >= ENOUGH_FOR_LINES for colour in colours), (part, colours)
            dash, hatching, mark = (
                next(series.iter(tag), None) for tag in (f"{a}prstDash", f"{a}pattFill", f"{c}symbol")
            )
            if looks.find(f"{a}ln/{a}noFill") is None:  # dots are told apart by the words beside them
                strokes.append(tuple(None if x is None else str(x.attrib) for x in (dash, hatching, mark)))
        assert len(strokes) == len(set(strokes)), (part, strokes)
