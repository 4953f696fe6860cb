"""The formulas of delivered workbooks are plain, a row has one from end to end, and its printed equation is that."""

import re
import zipfile
from collections import defaultdict
from pathlib import Path

import pytest
from openpyxl.utils.cell import coordinate_to_tuple, get_column_letter, range_boundaries

from blueprint.page.read import Found, Opened
from tests.audit import formulas, relative_form, spoil, watches
from tests.page.workshop import BUILT_IN, made, opened
from tests.replayed import window_book, with_everything_logged

FUNCTIONS = {
    "EXP", "LN", "TANH", "SQRT", "ABS", "SUM", "SUMPRODUCT", "MAX", "MIN", "IF", "AND", "OR", "INDEX", "MATCH", "ROUND",
    "CHOOSE", "AVERAGE", "EXACT", "COUNT", "COUNTA", "COUNTIF", "ISNUMBER", "SIGN", "INT", "POWER", "LOG10", "LEN", "FIXED",
    "IFERROR", "SUMXMY2",
}  # fmt: skip
WATCHING = {"ISERR", "ISTEXT", "ROW", "LOWER", "UPPER", "_xlfn.FORMULATEXT", "_xlfn.ISFORMULA"}
"""What only those formulas use that see whether the others were overwritten; they may be long, and one IF in another."""
SIGNS = set("+-*/()<>=,:$!._&")
LONGEST = 170  # 166 today: how far a convention that may be off is outside its range, because its names are spelled out
LONGEST_TRIED = 520  # 506 would be a sum of twelve products, each number of which Walk rounds before it adds them up
LONGEST_CLAIM = (
    520  # 509 today: the words of a whitened advantage, which are (A + 0.2) where the mean is below 0; a claim has 442
)
LONGEST_RUN = 64  # LibreOffice 7.4 is silently wrong above about 100 cells of one formula below each other

LARGE = (
    "sizes.vocabulary=64", "sizes.hidden=32", "sizes.embedding=31", "sizes.episodes=2", "sizes.prompt=1",
    "sizes.max_new_tokens=1",
)  # fmt: skip
FILES = [
    "default", "very-very-sleepy", "large", "ten-libraries", "live", "classic", "smooth", "kl-controller", "a minibatch",
]  # fmt: skip

Formulas = dict[tuple[str, str], str]
Sides = tuple[bool, ...]


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Saves the default, the per-token workbook, and one of the largest vocabulary and models."""
    folder = tmp_path_factory.mktemp("formulas")
    books = {"default": made(), "very-very-sleepy": made(numbers="very-very-sleepy"), "large": made(*LARGE)}
    books |= {name: made(numbers=name) for name in ("ten-libraries", "classic", "kl-controller")}
    books["smooth"] = made("preset=torchrl", numbers="classic")  # a norm with rows of its own
    books["live"] = made("conventions=live", "compare=trl_1.12,verl")
    books["a minibatch"] = window_book(batch=with_everything_logged())
    for name, book in books.items():
        book.save(folder / f"{name}.xlsx")
    return {name: folder / f"{name}.xlsx" for name in books}


@pytest.fixture(scope="module", params=FILES)
def path(request: pytest.FixtureRequest, saved: dict[str, Path]) -> Path:
    return saved[request.param]


@pytest.fixture(scope="module")
def all_written(path: Path) -> Formulas:
    return formulas(path)


@pytest.fixture(scope="module")
def written(all_written: Formulas) -> Formulas:
    """Reads the formulas of the computation and of the page, without those that watch them."""
    return {key: formula for key, formula in all_written.items() if not watches(*key, formula)}


def bare(formula: str) -> str:
    """Returns a formula without its texts and the names of its sheets."""
    return re.sub(r'"[^"]*"', "", re.sub(r"'(?:[^']|'')*'!|\b\w+!", "", formula))


def row_parts(found: Found) -> dict[tuple[int, Sides, Sides], list[str]]:
    """Groups a block's cells: by row, and edge cells of each kind on their own; every group has one formula."""
    groups: dict[tuple[int, Sides, Sides], list[str]] = defaultdict(list)
    for at, row, column in found.cells():
        starts = tuple(along.start and i == 0 for along, i in zip(found.shape, at, strict=True))
        ends = tuple(along.end and i == along.cells - 1 for along, i in zip(found.shape, at, strict=True))
        groups[row, starts, ends].append(f"{get_column_letter(column)}{row}")
    return groups


def test_a_row_has_one_formula_from_decision_to_decision_and_from_episode_to_episode(
    path: Path, written: Formulas
) -> None:
    seen = 0
    for found in Opened(path).places.values():
        for cells in row_parts(found).values():
            forms = {relative_form(written[found.sheet, c], c) for c in cells if (found.sheet, c) in written}
            constants = [c for c in cells if (found.sheet, c) not in written]
            if len(forms) > 1:  # a number of the episode, in the Σ column, stands as far to the right as the episode
                forms = {
                    _from_episode(form, cells, c) for c in cells for form in [relative_form(written[found.sheet, c], c)]
                }
            assert len(forms) <= 1, f"{found.name} on {found.sheet}: {forms}"
            assert not forms or not constants, f"{found.name} on {found.sheet}: {constants} have no formula"
            seen += len(cells) if forms else 0
    views = sum(sheet in ("One page", "Start", "Walk", "Delivered") for sheet, _ in written)
    assert seen > 0.8 * (len(written) - views)  # the others repeat a cell: headings that follow the vocabulary


def _from_episode(form: str, cells: list[str], cell: str) -> str:
    """Writes the fixed columns of a formula as seen from the first decision of its episode.

    Between the decisions of one episode and those of the next lie columns that hold none of the row's own cells.
    """
    columns = sorted(coordinate_to_tuple(each)[1] for each in cells)
    here = coordinate_to_tuple(cell)[1]
    first = max(each for each in columns if each <= here and each - 1 not in columns)
    return re.sub(r"(?<=C)\d+", lambda fixed: f"{int(fixed[0]) - first:+}", form)


def test_only_plain_functions_stand_in_formulas(written: Formulas) -> None:
    used = {name for formula in written.values() for name in re.findall(r"([A-Za-z_][\w.]*)\(", bare(formula))}
    assert used <= FUNCTIONS
    strange = {sign for formula in written.values() for sign in re.sub(r"\w", "", bare(formula))} - SIGNS
    assert strange == set()  # no ^, %, {, @, #, blank


def test_formulas_that_watch_the_others_are_plain_enough(all_written: Formulas, written: Formulas) -> None:
    watching = [formula for key, formula in all_written.items() if key not in written]
    used = {name for formula in watching for name in re.findall(r"([A-Za-z_][\w.]*)\(", bare(formula))}
    assert WATCHING - {"_xlfn.ISFORMULA"} <= used <= FUNCTIONS | WATCHING | {"NOT"}
    assert max(map(len, watching)) < 8_192


def test_text_is_joined_only_where_equations_are_told(written: Formulas) -> None:
    assert {sheet for (sheet, _), formula in written.items() if "&" in bare(formula)} <= {"Walk", "One page"}


def test_no_if_stands_in_another(written: Formulas) -> None:
    assert [key for key, formula in written.items() if nested(bare(formula))] == []
    assert nested("IF(A1<2,IF(A1<1,0,1),2)")
    assert not nested("IF(A1<2,1,0)+IF(A2<2,1,0)")


def nested(formula: str) -> bool:
    """Tells whether an IF stands within the brackets of another."""
    inside: list[bool] = []  # for each open bracket: does it lie within an IF?
    for name, sign in re.findall(r"([A-Z]*)([()])", formula):
        if sign == ")":
            inside.pop()
        elif name == "IF" and any(inside):
            return True
        else:
            inside.append(name == "IF" or any(inside))
    return False


def test_no_number_but_0_1_and_2_stands_in_a_formula(written: Formulas) -> None:
    numbers = re.compile(r"(?<![\w$.])(?:\d+\.?\d*|\.\d+)(?:E[+-]?\d+)?(?![\w(])")
    assert {number for formula in written.values() for number in numbers.findall(bare(formula))} <= {"0", "1", "2"}


def test_ranges_lie_in_one_direction_and_products_of_sums_in_the_same_one(path: Path, written: Formulas) -> None:
    names = {name: each.attr_text.split("!")[1] for name, each in opened(path, formulas=True).defined_names.items()}
    ranges = re.compile(r"\$?[A-Z]+\$?\d+:\$?[A-Z]+\$?\d+")
    for formula in written.values():
        tables = [found for found in ranges.findall(formula) if 1 not in size(found)]
        assert not tables or IN_TABLES.fullmatch(bare(formula)), formula
        for left, right in re.findall(r"SUMPRODUCT\(([^,()]*),([^,()]*)\)", bare(formula)):
            assert len({size(names.get(part, part)) for side in (left, right) for part in side.split("-")}) == 1, (
                formula
            )


def test_a_position_in_a_row_is_told_from_the_number_of_a_row(all_written: Formulas) -> None:
    """Gnumeric and HyperFormula take a position that is the only one for the number of a row, also where there is but one."""
    rows = re.compile(r"INDEX\((?:'[^']*'!|\w+!)?\$?[A-Z]+\$?(\d+):\$?[A-Z]+\$?\1,(?!1,)")
    assert [key for key, formula in all_written.items() if rows.search(formula)] == []
    assert rows.search("INDEX(Old!$D$11:$K$11,Q16+1)")
    assert not rows.search("INDEX(Old!$D$11:$K$11,1,Q16+1)+INDEX(D11:D112,Q16)")


def test_truths_are_written_as_numbers(all_written: Formulas) -> None:
    """HyperFormula takes TRUE and FALSE for names."""
    assert [key for key, formula in all_written.items() if re.search(r"\b(TRUE|FALSE)\b", bare(formula))] == []


# A table is read by row and column (Walk), as a whole against its copy of the same size (Delivered), or
# for the largest of all.
IN_TABLES = re.compile(
    r"INDEX\([^,]*,[^,]*,[^,]*\)|IFERROR\(SUMPRODUCT\([^,]*,[^,]*\),SUMXMY2\([^,]*,[^,]*\)\)|COUNT\([^,]*\)-COUNT\([^,]*\)"
    r"|MAX\([^,]*\)"
)


def size(cells: str) -> tuple[int, int]:
    """Returns how many rows and columns a range has."""
    left, top, right, bottom = range_boundaries(cells)
    return bottom - top + 1, right - left + 1


def test_the_longest_formula(written: Formulas) -> None:
    told = ("Walk", "One page")
    assert max(len(formula) for (sheet, _), formula in written.items() if sheet not in told) <= LONGEST
    assert max([0, *(len(formula) for (sheet, _), formula in written.items() if sheet == "One page")]) <= LONGEST_CLAIM
    assert max([0, *(len(formula) for (sheet, _), formula in written.items() if sheet == "Walk")]) <= LONGEST_TRIED


def test_no_formula_stands_in_more_than_64_cells_below_each_other(path: Path, all_written: Formulas) -> None:
    runs: dict[tuple[str, int, int], int] = {}
    places = {(sheet, *coordinate_to_tuple(cell)): relative_form(f, cell) for (sheet, cell), f in all_written.items()}
    for sheet, row, column in sorted(places):
        above, here = (sheet, row - 1, column), (sheet, row, column)
        runs[here] = runs[above] + 1 if places.get(above) == places[here] else 1
    assert max(runs.values()) <= LONGEST_RUN
    assert max(runs.values()) == LONGEST_RUN or path.stem != "large"  # that one is as tall as a workbook may be


def test_every_formula_is_written_out_in_its_cell_with_a_cached_value(path: Path, tmp_path: Path) -> None:
    assert spoil(path, tmp_path / "spoiled.xlsx") == len(formulas(path)) > 90


def test_nothing_is_hidden_merged_linked_or_run(path: Path) -> None:
    with zipfile.ZipFile(path) as archive:
        xml = {part: archive.read(part).decode() for part in archive.namelist() if part.endswith((".xml", ".rels"))}
        others = [part for part in archive.namelist() if part not in xml]
    assert [part for part in others if re.search(r"\.bin$|vba|activex|embed", part, re.IGNORECASE)] == []
    assert [part for part in xml if re.search("externalLink|connections|macrosheet", part, re.IGNORECASE)] == []
    sheets = {part: text for part, text in xml.items() if part.startswith("xl/worksheets/sheet")}
    assert len(sheets) == xml["xl/workbook.xml"].count("<sheet ")
    assert not re.search(r"<sheet [^>]*state=", xml["xl/workbook.xml"])
    for sign in ("<f t=", "<f ca="):  # array or shared formulas, volatile ones
        assert [part for part, text in sheets.items() if sign in text] == []
    # Merged are tiles of One page, and its numbers of a whole response.
    glance = [part for part, text in sheets.items() if "<mergeCell" in text]
    assert glance in ([], ["xl/worksheets/sheet1.xml"])


# The equation beside a row is the one of its formula, and no running sum looks like a single setting.


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_check_of_all_settings_names_what_it_is_a_sum_of(name: str) -> None:
    book = made(numbers=name)
    if "check.settings" not in book.blocks:
        assert not [
            each for each in book.blocks if each.endswith(".outside") and book.blocks[each].symbol[:4] == "Σout"
        ]
        return
    printed = [label.text for label in book.layout.labels if str(label.text).startswith("outside = ")]
    sums = [each for each in book.blocks.values() if each.symbol.startswith("Σout_")]
    assert any(text.startswith(f"outside = {sums[-1].symbol}") for text in map(str, printed))
    assert all(each.about.meaning.startswith("all numbers down to this line") for each in sums)
