"""No answer can be read from the file that is handed out: recalculated with its blanks empty, by two engines, and taken apart."""

from pathlib import Path

import pytest

from blueprint.inputs import load
from blueprint.language import Cell
from blueprint.page.engine import with_ironcalc
from blueprint.workbooks.registry import blueprint_of
from blueprint.worksheets import Asked, Search, Worksheet, worksheet
from blueprint.worksheets.leaks import is_chosen
from tests.page.soffice import with_libreoffice
from tests.worksheets.finder import Missing, found_in_cells, found_in_file, planted

CASES: dict[str, tuple[str, list[str], int | list[Asked], int]] = {
    "default": ("default", [], 12, 1),
    "rows": ("default", [], [Asked("advantages"), Asked("ratio"), Asked("policy_loss")], 2),
    "section": ("default", [], [Asked("section:GAE")], 3),
    "live": ("classic", ["preset=sb3"], 12, 1),
    "sleepy": ("very-very-sleepy", [], 4, 1),
    "controller": ("kl-controller", [], 3, 2),
}


@pytest.fixture(scope="module")
def delivered(tmp_path_factory: pytest.TempPathFactory) -> dict[str, tuple[Path, Worksheet]]:
    """Worksheets of several blueprints and levels, saved once."""
    folder, made = tmp_path_factory.mktemp("worksheets"), {}
    for name, (numbers, changes, asked, level) in CASES.items():
        sheet = worksheet(blueprint_of(load(numbers, changes)), asked, level, check=level == 1, seed="a class")
        sheet.book.save(folder / f"{name}.xlsx")
        made[name] = folder / f"{name}.xlsx", sheet
    return made


def missing_of(sheet: Worksheet) -> Missing:
    """Returns every answer that may be looked for: 0 and 1, and what its equation reads, may stand anywhere."""
    search = Search(sheet.blueprint, sheet.full.values, shown=sheet.shown)
    return {
        f"{blank.title} {cell.places}": (answer, blank.block.about.decimals)
        for blank, answers in search.missing
        for cell, answer in answers.items()
    }


@pytest.mark.parametrize("name", CASES)
def test_no_number_of_the_file_is_a_missing_answer(name: str, delivered: dict[str, tuple[Path, Worksheet]]) -> None:
    path, sheet = delivered[name]
    missing = missing_of(sheet)
    level, told = CASES[name][3], {title.partition(" ")[0] for title in missing}
    chosen = {blank.title for blank in sheet.blanks if is_chosen(Cell(blank.block, blank.cells[0]), sheet.full.values)}
    assert told == {blank.title for blank in sheet.blanks} - chosen, "each blank has an answer that is looked for"
    assert len(chosen) < 3, "but a minimum, which is one of the numbers that it compares"
    assert level > 1 or len(missing) == len(sheet.blanks) - len(chosen), "of single cells each one"
    assert found_in_file(path, missing) == []
    assert found_in_cells(with_ironcalc(path), missing) == []


def test_no_number_that_libreoffice_computes_is_a_missing_answer(delivered: dict[str, tuple[Path, Worksheet]]) -> None:
    looked_at = [delivered[name] for name in ("default", "section")]
    computed = with_libreoffice([path for path, _ in looked_at])
    for (path, sheet), cells in zip(looked_at, computed, strict=True):
        assert len(cells) > 100
        assert found_in_cells(cells, missing_of(sheet)) == [], path.name


PLANTS = {
    "a cached value": ("xl/worksheets/sheet5.xml", r"<v>-?0\.\d{6,}</v>", "<v>{full}</v>"),
    "a number that is shown": ("xl/sharedStrings.xml", r"<t[^>]*>[^<]+</t>", "<t>V is {shown} here</t>"),
    "a note": (r"xl/comments\d+.xml", r"(<t[^>]*>)[^<]+</t>", r"\g<1>look: {shown}</t>"),
    "a name": ("xl/workbook.xml", r"(<definedName [^>]*>)[^<]+<", r"\g<1>{full}<"),
    "a message": (r"xl/worksheets/sheet\d+.xml", r'prompt="[^"]*"', 'prompt="about {shown}"'),
    "the cache of a chart": (r"xl/charts/chart\d+.xml", r"<c:v>-?\d\.\d{4,}</c:v>", "<c:v>{full}</c:v>"),
    "a property": ("docProps/custom.xml", r"<vt:lpwstr>[^<]*<", "<vt:lpwstr>{full}<"),
    "a formula": (r"xl/worksheets/sheet5.xml", r"<f>[^<]+</f>", "<f>1*{shown}</f>"),
}


@pytest.mark.parametrize("where", PLANTS)
def test_a_planted_leak_is_found(where: str, delivered: dict[str, tuple[Path, Worksheet]], tmp_path: Path) -> None:
    path, sheet = delivered["default"]
    missing = dict([next(iter(missing_of(sheet).items()))])
    ((answer, decimals),) = missing.values()
    part, old, new = PLANTS[where]
    text = new.replace("{full}", repr(answer)).replace("{shown}", f"{-answer:.{decimals}f}")
    found = found_in_file(planted(path, tmp_path / "planted.xlsx", part, old, text), missing)
    assert len(found) == 1, found
