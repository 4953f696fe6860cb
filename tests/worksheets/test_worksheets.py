"""Worksheets: which blanks are made of what was asked for, or chosen, and what is left out because of them."""

from dataclasses import replace
from pathlib import Path

import pytest
from openpyxl import load_workbook

from blueprint.book import Book
from blueprint.inputs import load
from blueprint.language import Axis, Block, block, minimum, typed
from blueprint.page.outline import Blueprint, Note, Section, Sheet, on_one_sheet
from blueprint.workbooks.registry import blueprint_of
from blueprint.worksheets import Asked, Search, Worksheet, WorksheetError, asked_from, can_be_checked, worksheet
from blueprint.worksheets.handout import handout
from blueprint.worksheets.redact import Quoted
from tests.worksheets.finder import texts_of_file

t = Axis("t", "week", 1)


@pytest.fixture(scope="module")
def default() -> Blueprint:
    """The default numbers, without blanks."""
    return blueprint_of(load("default", []))


@pytest.fixture(scope="module")
def chosen(default: Blueprint) -> Worksheet:
    """Twelve blanks of them, chosen."""
    return worksheet(default, 12)


def titles(made: Worksheet) -> list[str]:
    """Returns what the blanks of a worksheet are called."""
    return [blank.title for blank in made.blanks]


def grown(second: bool = False, note: str = "") -> Blueprint:
    """A tree's height by its growth; the height is computed a second way, from the end, if that is asked for."""
    growth, rate = typed("growth", (t,), "g", "growth in a week"), typed("rate", (), "q", "what the weather adds")
    height = block("height", (t,), "h", "height after a week")
    height[t.first - 1] = 0
    height[t] = height[t - 1] * rate + growth[t]
    again, copy = block("again", (t,), "h'", "the same once more"), block("copy", (t,), "c", "only a copy of it")
    again[t] = growth[t] + rate * height[t - 1]
    copy[t] = again[t]
    blocks: list[Block] = [growth, rate, height, *([again, copy] if second else [])]
    made = on_one_sheet("Growth", blocks, t, {growth: [0.31, 0.77, 1.23, 0.58], rate: 1.13})
    words = Sheet("Words", "what is to be seen", (Section("To see", (Note(note or "nothing"),)),), first=None)
    return replace(made, sheets=(*made.sheets, words), result=height)


def test_blanks_are_chosen_along_one_derivation(chosen: Worksheet) -> None:
    assert len(chosen.blanks) == len({blank.block for blank in chosen.blanks}) == 12
    assert titles(chosen)[-1] == "total_loss"
    columns = [blank.title.partition("@")[2] for blank in chosen.blanks if "@" in blank.title]
    assert len({column.partition(",")[0] for column in columns}) == 1, "one episode"
    assert all(column.count(",") in (1, 2) for column in columns)
    for blank in chosen.blanks:
        assert (blank.asks, blank.weight, len(blank.cells)) == ("number", 1, 1)
        assert chosen.answers[blank.title] == [chosen.full.values.cell(blank.block, *blank.cells[0])]


def test_the_same_seed_chooses_the_same_blanks(default: Blueprint, chosen: Worksheet) -> None:
    assert titles(worksheet(default, 12)) == titles(chosen)
    assert titles(worksheet(default, 12, seed="b")) != titles(chosen)


def test_what_would_tell_is_left_out_and_named(chosen: Worksheet) -> None:
    left = {sheet.title for sheet in chosen.blueprint.sheets}
    assert not left & {"Walk", "Checks"}
    assert {"Walk", "Checks"} <= set(chosen.blueprint.left_out)
    texts = [item.text for sheet in chosen.blueprint.sheets for item in sheet.items() if isinstance(item, Note)]
    assert not any("sheet Walk" in text or "on Walk" in text for text in texts)
    assert "Fill in the dashed cream cells, which Blanks lists, and leave all other numbers as they are." in texts
    assert not any("Type into" in text or "First hour" in text for text in texts)
    assert any(text.startswith("Glossary: ") for text in texts)
    leads = {sheet.title: sheet.lead for sheet in chosen.blueprint.sheets}
    assert [title for title, lead in leads.items() if "an empty blank counts as 0" in lead] == ["Charts"]
    assert Search(chosen.blueprint, chosen.full.values).leaks() == []


def test_the_signs_of_one_page_tell_no_right_answer_from_a_wrong_one(chosen: Worksheet) -> None:
    layout = chosen.book.layout
    signs = [live.formula for live in layout.lives if live.style in ("one-page sign", "one-page tilesign")]
    assert signs == []
    said = {label.text for label in layout.labels if label.style in ("one-page sign", "one-page tilesign")}
    assert {"exp", "min", "½( )²", "="} <= said
    assert "≈" not in said


def test_a_cell_a_row_and_a_section_are_asked_for(default: Blueprint) -> None:
    asked = [
        Asked("A@episode=1,token=5", 2),
        Asked("old.p@n=1,t=5,v=dog"),
        Asked("ratio"),
        Asked("section:Entropy bonus"),
    ]
    made = worksheet(default, asked)
    assert titles(made)[:2] == ["advantages@n=1,t=5", "old.p@n=1,t=5,v=3"]
    assert titles(made)[2].startswith("ratio@")
    assert titles(made)[3:] == ["entropy"]
    assert [blank.weight for blank in made.blanks] == [2, 1, 1, 1]


def test_a_row_holds_every_cell_with_its_formula(default: Blueprint) -> None:
    made = worksheet(default, [Asked("advantages")], 2)
    (row,) = made.blanks
    size = made.full.values[row.block].size
    assert (row.title, row.asks, len(row.cells)) == ("advantages", "formula", size)
    section = worksheet(default, [Asked("section:GAE")], 3)
    assert titles(section) == ["td_errors", "advantages", "returns"]
    again = "Charts: GAE for four λ: the recursion of Reward & advantage"
    assert section.blueprint.left_out[again] == "has the formula of advantages"
    assert again not in worksheet(default, [Asked("advantages@n=1,t=5")]).blueprint.left_out, "a number is asked for"
    assert titles(worksheet(default, [Asked("returns")], 3)) == ["td_errors", "advantages", "returns"]


@pytest.mark.parametrize(
    ("asked", "says"),
    [
        ("advantage", "did you mean advantages"),
        ("advantages@n=1", "is named by (n=…, t=…), not by (n)"),
        ("advantages@n=1,t=99", "has no t = 99: positions run"),
        ("advantages@n=1,week=2", "advantages has no week: it has n (episode), t (position)"),
        ("advantages@n=1,t", "write members as letter=number, such as advantages@n=1,t=1"),
        ("advantages@n=1,t=2", "is 0, which an empty cell or any other may show"),
        ("clip_fraction.changed@n=1,t=5", "which an empty cell or any other may show"),
        ("section:Entrpy bonus", "did you mean Entropy bonus"),
        ("gamma.yours", "is typed, not computed"),
        ("word_written", "is words: a blank is a number"),
        ("loss.advantages", "only repeats another row"),
    ],
)
def test_what_cannot_be_a_blank_is_refused(asked: str, says: str, default: Blueprint) -> None:
    with pytest.raises(WorksheetError) as refused:
        worksheet(default, [Asked(asked)])
    assert says in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_cell_is_asked_for_once(default: Blueprint) -> None:
    with pytest.raises(WorksheetError, match="asked for twice: it is part of advantages@n=1,t=5"):
        worksheet(default, [Asked("advantages@n=1,t=5"), Asked("A@episode=1,position=5")])


def test_more_blanks_than_there_are_cells_are_refused() -> None:
    with pytest.raises(WorksheetError, match="9 blanks are more than these numbers have room for: 3 cells"):
        worksheet(grown(), 9)
    assert len(worksheet(grown()).blanks) == 3, "the first week's height is its growth"


def test_a_second_way_is_left_out_with_what_reads_it() -> None:
    made = worksheet(grown(second=True), [Asked("height@t=3")])
    assert [block.name for block in made.blueprint.blocks()] == ["growth", "rate", "height"]
    assert list(made.blueprint.left_out) == ["Growth: h' (again)", "Growth: c (copy)"]
    assert made.blueprint.left_out["Growth: h' (again)"] == "computes height@t=3 a second way"
    planted = grown(second=True)
    of = {block.name: block for block in planted.blocks()}
    blank = replace(made.blanks[0], block=of["height"])
    found = Search(planted, Book(planted).values, [blank]).leaks()
    assert {(leak.cell.block.name, leak.cell.places) for leak in found} == {("again", (2,)), ("copy", (2,))}


def test_a_second_way_that_is_needed_makes_a_blank_impossible() -> None:
    outline = grown(second=True)
    of = {block.name: block for block in outline.blocks()}
    with pytest.raises(
        WorksheetError, match=r"height@t=3 cannot be a blank: again in Growth!\w+ shows the same number"
    ):
        worksheet(replace(outline, result=of["copy"]), [Asked("height@t=3")])


def test_an_empty_cell_that_a_minimum_passes_over_tells_as_well() -> None:
    """MIN of a limit and an empty cell is the limit, not 0: what follows from it may be an answer elsewhere."""
    growth, most = typed("growth", (t,), "g"), typed("most", (), "most")
    double, grown_, kept = (block(name, (t,)) for name in ("double", "grown", "kept"))
    double[t] = growth[t] * growth[t]
    grown_[t] = minimum(most, double[t])
    kept[t] = grown_[t] * most
    outline = on_one_sheet("Limit", [growth, most, double, grown_, kept], t, {growth: [0.73, 1.31], most: 1.17})
    asked = [Asked("double@t=1"), Asked("kept@t=2")]
    with pytest.raises(WorksheetError, match=r"kept@t=2 cannot be a blank: kept in Limit!\w+ shows the same number"):
        worksheet(replace(outline, result=kept), asked)
    assert titles(worksheet(replace(outline, result=kept), asked[1:])) == ["kept@t=2"]


def test_a_text_that_quotes_an_answer_is_left_out() -> None:
    height = Book(grown()).values
    answer = next(array[-1] for block, array in height.arrays.items() if block.name == "height")
    made = worksheet(grown(note=f"In the end it is {answer:.4f} high."), [Asked("height@t=4")])
    assert [sheet.title for sheet in made.blueprint.sheets] == ["Growth"]
    assert list(made.blueprint.left_out) == ["Words: “In the end it is … high.”"]


def test_numbers_in_texts_are_read_as_they_are_written() -> None:
    quoted = Quoted(["β 0.1235 here", "of −0,1235", "12.35", "t 0.123", "v1.0.1235", "1.235e-1", "0.12346"])
    assert quoted.quoting(0.12345, 4) == ["β 0.1235 here", "of −0,1235", "1.235e-1"]


def test_check_digits_neither_hang_on_rounding_nor_tell_the_answer() -> None:
    assert can_be_checked([1.23456])
    assert not can_be_checked([0.00965]), "96.5 rounds up to 97 or is the answer itself"
    assert not can_be_checked([0.0042])
    assert not can_be_checked([1.23455]), "half a unit"
    assert not can_be_checked([float("inf")])
    assert not can_be_checked([3e12])
    made = worksheet(grown(), [Asked("height@t=3")], check=True)
    assert made.blanks[0].check == int(made.answers["height@t=3"][0] * 1e4 + 0.5) % 97


def test_a_file_of_blanks(tmp_path: Path) -> None:
    path = tmp_path / "blanks.toml"
    path.write_text('[[blanks]]\nwhat = "height@week=3"\nweight = 2\n[[blanks]]\nwhat = "h@t=4"\n', encoding="utf-8")
    assert titles(worksheet(grown(), asked_from(path))) == ["height@t=3", "height@t=4"]


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("[[blanks]]\nwhat = 3\n", "blanks.1.what: input should be a valid string"),
        ('[[blanks]]\nwhat = "h"\nweight = 0\n', "blanks.1.weight: input should be greater than 0"),
        (
            '[[blanks]]\nwhich = "h"\n',
            'blanks.1.what: field required; write [[blanks]] and below it what = "…", weight = 1',
        ),
        ("blanks = []\n", "blanks: list should have at least 1 item"),
        ("[[blanks", "is no TOML"),
    ],
)
def test_a_file_of_blanks_that_means_nothing_is_refused(text: str, says: str, tmp_path: Path) -> None:
    path = tmp_path / "blanks.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(WorksheetError) as refused:
        asked_from(path)
    assert says in str(refused.value)


@pytest.mark.parametrize("name", ["classic", "kl-controller", "very-very-sleepy"])
def test_every_kind_of_workbook_makes_worksheets(name: str) -> None:
    made = worksheet(blueprint_of(load(name, [])), check=True)
    assert 3 < len(made.blanks) <= 12
    assert all(blank.check is not None for blank in made.blanks)
    assert Search(made.blueprint, made.full.values, shown=made.shown).leaks() == []


def test_an_option_hides_the_equations_of_blanks(tmp_path: Path) -> None:
    shown, bare = (worksheet(grown(), [Asked("height@t=3")], equations=equations) for equations in (True, False))
    texts = []
    for name, made in (("shown", shown), ("bare", bare)):
        made.book.save(tmp_path / f"{name}.xlsx")
        texts.append([text for text in texts_of_file(tmp_path / f"{name}.xlsx") if "·q + g" in text])
    assert len(texts[0]) > 2, "beside the row, on Blanks and on Contents"
    assert not texts[1]
    assert [handout(made).tasks[0].equation for made in (shown, bare)] == ["h[t] = h[t − 1]·q + g[t]", ""]


def test_what_waits_is_the_first_rule_and_the_last_in_the_file(chosen: Worksheet, tmp_path: Path) -> None:
    """Spreadsheet programs go by the number of a rule; of several for a cell Gnumeric has the last one that it reads."""
    chosen.book.save(tmp_path / "sheet.xlsx")
    several = 0
    for page in load_workbook(tmp_path / "sheet.xlsx"):
        rules = [(rule.priority, bool(rule.stopIfTrue)) for area in page.conditional_formatting for rule in area.rules]
        waits = [stops for _, stops in rules]
        assert waits == sorted(waits), page.title
        assert [stops for _, stops in sorted(rules)] == sorted(waits, reverse=True), page.title
        several += len({*waits}) > 1
    assert several > 2


def test_no_mark_of_one_page_holds_for_a_cell_that_waits_or_is_judged_by_one(chosen: Worksheet, tmp_path: Path) -> None:
    """LibreOffice shows all rules of a cell whose ranges differ: what waits would be filled, with a number made of blanks."""
    chosen.book.save(tmp_path / "sheet.xlsx")
    page = load_workbook(tmp_path / "sheet.xlsx")["One page"]
    areas = [({*one.cells}, area.rules) for area in page.conditional_formatting for one in area.sqref]
    rules = [(cells, rule) for cells, of_area in areas for rule in of_area]
    waiting = {cell for cells, rule in rules if rule.stopIfTrue for cell in cells}
    marked = [(cells, rule) for cells, rule in rules if not rule.stopIfTrue and waiting & cells]
    assert len(marked) > 9
    assert all(rule.formula[0].startswith("AND(COUNT(blank_") for _, rule in marked)
    value = next(cell.row for row in page.iter_rows() for cell in row if cell.value == "larger error: filled")
    judged = {(value, column) for column in range(1, page.max_column)}
    which = [rule for cells, rule in rules if (judged - waiting) & cells and not rule.stopIfTrue]
    assert len(which) > 3, "V waits for nothing, but whether it counts does"
    assert all(rule.formula[0].startswith("AND(COUNT(blank_") for rule in which)
