"""Files that are checked together are computed by one engine, which comes to what it comes to of each alone."""

from __future__ import annotations

import re
import zipfile
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest

from blueprint.checking import Checked, compute_together
from blueprint.checking.checked_file import differing, stands
from blueprint.page.engine import Others, alike_apart, with_ironcalc
from blueprint.page.read import Opened
from tests.page.workshop import save_made
from tests.page.zips import SHEET, with_parts


def test_files_that_differ_in_what_is_typed_are_computed_together(tmp_path: Path) -> None:
    """What the engine makes of numbers, words, blanks and truths typed into a first file is what it makes of the file itself."""
    first = save_made(tmp_path / "first.xlsx", numbers="kl-controller")
    part = Opened(first)
    found = next(each for each in part.places.values() if each.name == "kl_coef.preset")
    cell, number = found.cell((0,) * len(found.shape)), part.sheets.index(found.sheet) + 1
    sheet = f"xl/worksheets/sheet{number}.xml"
    pattern = rf'(<c r="{cell}"(?: s="\d+")?)><v>[^<]*</v></c>'
    typed = [r"\1><v>0.37</v></c>", r"\1/>", r'\1 t="b"><v>1</v></c>', r'\1 t="str"><v>1</v></c>', r"\1><v>1</v></c>"]
    with zipfile.ZipFile(first) as parts:
        content = parts.read(sheet).decode()
    paths = []
    for name, put in enumerate(typed):
        text, changes = re.subn(pattern, put, content)
        assert changes == 1
        paths.append(with_parts(first, tmp_path / f"{name}.xlsx", {sheet: text.encode()}))
    files = [Opened(path) for path in paths]
    places = sorted({at for file in files for at in differing(part, file) or ()})
    assert [at.cell for at in places] == [cell]
    together = alike_apart(first, Others(places, [[stands(file, at) for at in places] for file in files]))
    alone = [with_ironcalc(path) for path in (first, *paths)]
    assert together == alone
    assert len({tuple(cells.items()) for cells in alone}) == len(alone)


def test_so_are_files_of_one_kind_whose_numbers_make_other_formulas(tmp_path: Path) -> None:
    """How many decimals One page compares hangs on how small a number is."""
    values = ("0.9", "0.95", "0.5")
    paths = [save_made(tmp_path / f"{number}.xlsx", f"ppo.gamma={value}") for number, value in enumerate(values)]
    first, *files = map(Opened, paths)
    places = sorted({at for file in files for at in differing(first, file) or ()})
    assert any(isinstance(stands(file, at), list) for file in files for at in places)
    together = alike_apart(paths[0], Others(places, [[stands(file, at) for at in places] for file in files]))
    assert together == [with_ironcalc(path) for path in paths]


@pytest.mark.parametrize(
    "put", ['<f t="array" ref="A1">1</f><v>1</v>', "<v>#N/A</v>", "<f>1+1</f><v>2</v>", "<f>1+2</f><v>3</v>"]
)
def test_a_file_with_a_formula_for_several_cells_or_a_typed_error_is_computed_by_itself(
    tmp_path: Path, put: str
) -> None:
    first = save_made(tmp_path / "first.xlsx", numbers="kl-controller")
    with zipfile.ZipFile(first) as parts:
        content = parts.read(SHEET).decode()
    text, changes = re.subn(r' t="str"><f>[^<]*</f><v>[^<]*</v>', f' t="str">{put}', content, count=1)
    assert changes == 1
    other = with_parts(first, tmp_path / "other.xlsx", {SHEET: text.encode()})
    found = differing(Opened(first), Opened(other))
    assert (found is None) == ("array" in put or "#" in put)


def test_what_the_engine_cannot_compute_together_it_computes_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where one of the files takes more time than it may."""

    def stopped(path: Path, others: Others) -> None:
        raise RuntimeError("the engine was stopped")

    path = save_made(tmp_path / "one.xlsx", numbers="kl-controller")
    files = [Checked(path), Checked(path)]
    monkeypatch.setattr("blueprint.checking.checked_file.alike_apart", stopped)
    compute_together(files, ThreadPoolExecutor(1))
    assert [file.computed for file in files] == [with_ironcalc(path)] * 2
