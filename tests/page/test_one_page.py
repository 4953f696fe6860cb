"""One page: every line that says "=" is right from the digits that are shown; it fits, follows Walk, and is live."""

from __future__ import annotations

import re
import zipfile
from decimal import ROUND_HALF_UP, Decimal
from functools import cache
from itertools import accumulate
from math import exp, log, sqrt
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import pytest
from xlsxwriter.utility import xl_pixel_width

from blueprint import api
from blueprint.book import Book
from blueprint.inputs import load
from blueprint.notation import Axis, block, typed
from blueprint.notation import book as make_book
from blueprint.page.digits import Sum
from blueprint.page.grid import ONE_PAGE, defined_name
from blueprint.page.one_page import look
from blueprint.page.one_page.canvas import Drawn
from blueprint.page.styles import Ruler
from blueprint.workbooks import blueprint_of
from tests.page.fits import centred, clipped, shown
from tests.page.own_books import OWN
from tests.page.workshop import BUILT_IN, MAINS, in_ironcalc, made, opened

LARGE = {"grpo", "reward-model"}
"""Their groups and texts are wider than one screen, or their lines are other numbers than the digits come to."""
CLAIMED = [name for name in MAINS.values() if name not in LARGE]
SMALL = (*CLAIMED, "very-very-sleepy", "reward-batch", "epochs", "pipeline/ppo")
FULL_SCREEN = 1346, 600
"""Pixels of one screen of 1366 × 768 without the program's own rows."""
MOST_WORDS = 10
_ROOM = TemporaryDirectory()


@cache
def saved(name: str) -> tuple[Book, Path]:
    """Returns a book and its file, made once: a built-in one, or one for which nobody wrote a page."""
    book, path = (
        OWN[name]() if name in OWN else made(numbers=name),
        Path(_ROOM.name) / f"{name.replace('/', '-')}.xlsx",
    )
    book.save(path)
    return book, path


@cache
def page_of(name: str) -> Any:
    """Returns the sheet as a reader of files has it, with the values that the file holds."""
    return opened(saved(name)[1])[ONE_PAGE]


def lines(name: str) -> list[Drawn]:
    """Returns the lines of written arithmetic."""
    page = saved(name)[0].layout.one_page
    assert page is not None
    return page.lines


@pytest.mark.parametrize("name", [*BUILT_IN, *OWN], scope="module")
def test_it_is_the_first_tab_and_fits_on_one_screen_and_one_sheet_of_paper(name: str) -> None:
    book, path = saved(name)
    file, setup = opened(path, formulas=True), book.layout.one_page
    assert setup is not None
    assert file.sheetnames[:2] == [ONE_PAGE, book.blueprint.title if name in OWN else "Start"]
    page = file[ONE_PAGE]
    assert page.page_setup.orientation == "landscape"
    assert (
        page.sheet_properties.pageSetUpPr.fitToPage
    )  # on one page: that is what is meant where no number of pages is said
    assert {page.page_setup.fitToWidth, page.page_setup.fitToHeight} <= {None, 1}
    assert sum(setup.heights.values()) <= FULL_SCREEN[1]
    if name in (*SMALL, "grpo", *OWN):
        assert sum(setup.widths) <= FULL_SCREEN[0]


@pytest.mark.parametrize("name", BUILT_IN)
def test_no_words_speak_of_a_framed_probability_where_none_is_shown(name: str) -> None:
    page = saved(name)[0].blueprint.one_page
    assert page is not None
    shown_too = {matrix.block for panel in page.panels for matrix in panel.matrices} & saved(name)[0].blocks.keys()
    texts = [line.row.words for line in lines(name)]
    assert shown_too or not [text for text in texts if "framed" in text or "||" in text]


FOOT = 8 / 72 * 1.2
"""Inches that a line of 8 points needs."""


def test_the_foot_of_its_sheet_of_paper_has_room() -> None:
    margins = page_of("default").page_margins
    assert margins.bottom - margins.footer >= FOOT


@pytest.mark.parametrize("name", [*BUILT_IN, *OWN])
def test_no_line_shows_zeros_alone_where_its_numbers_are_none(name: str) -> None:
    for line in lines(name):
        there = [i for i, (*_, number) in enumerate(line.cells) if isinstance(number, float) and number != 0]
        assert not there or any(number_in(name, line, i) for i in there), line.row.called


@pytest.mark.parametrize(("name", "words", "axis"), [("bandit", "first ten", "t"), ("q-learning", "nine steps", "t")])
def test_a_page_that_shows_only_some_members_says_how_many(name: str, words: str, axis: str) -> None:
    size = {"nine steps": 9, "first ten": 10}[words]
    setup = saved(name)[0].blueprint.one_page
    assert setup is not None
    assert words in setup.hint
    assert [each.most for each in setup.columns.values() if each.axis == axis] == [size]


@pytest.mark.parametrize("name", [*SMALL, *OWN], scope="module")
def test_nothing_that_is_printed_is_cut(name: str) -> None:
    book, path = saved(name)
    assert book.layout.one_page is not None
    end = book.layout.one_page.end
    cut = [each for each in clipped(path, ONE_PAGE) if int(re.sub(r"\D", "", each.cell)) <= end]
    assert cut == []


@pytest.mark.parametrize("name", [*BUILT_IN, *OWN], scope="module")
def test_no_words_beside_a_line_are_more_than_ten(name: str) -> None:
    for line in lines(name):
        assert len(line.row.words.split()) <= MOST_WORDS, line.row.words


def sign_of(name: str, line: Drawn) -> str:
    """Returns the sign that stands at the left of a line."""
    return str(page_of(name).cell(line.at + 1, line.panel.sign + 1).value or "")


def number_in(name: str, line: Drawn, i: int) -> float | None:
    """Returns the number that one reads in a cell of a line, None where it is empty."""
    cell = page_of(name).cell(line.at + 1, line.cells[i][1] + 1)
    if cell.value in (None, ""):
        return None
    return float(shown(cell).replace("−", "-").lstrip("↖ "))


def recalculated(name: str, line: Drawn, i: int) -> float | None:
    """Calculates what a line claims from the numbers that are displayed: of its own column, or of its whole strip."""
    book, by_id = saved(name)[0], dict[str, Drawn]()
    for each in lines(name):
        by_id.setdefault(each.row.called, each)  # a row of several names goes by the first
    column = line.cells[i][0]
    strip, place = line.panel.strips.index(column.strip), column.strip.columns.index(column)

    def read(called: str, whole: bool) -> list[float]:
        if called not in by_id:
            single = float(book.values.cell(book.blocks[called]))
            return [rounded(single, 4)]
        other = by_id[called]
        theirs = other.panel.strips[min(strip, len(other.panel.strips) - 1)]
        cells = [j for j, cell in enumerate(other.cells) if cell[0].strip is theirs]
        found = [number_in(name, other, j) for j in (cells if whole else [cells[min(place, len(cells) - 1)]])]
        return [each for each in found if each is not None]

    code = re.sub(r"sum\(([\w.]+)\)", lambda m: repr(sum(read(m[1], True))), line.row.equals)
    code = re.sub(
        r"(?<![\w.])[A-Za-z_][\w.]*(?![\w.(])",
        lambda m: f"({read(m[0], False)[0]!r})" if read(m[0], False) else "None",
        code,
    )
    if "None" in code:
        return None
    known = {"exp": exp, "ln": log, "sqrt": sqrt, "min": min, "max": max}
    known |= {"clip": lambda x, low, high: min(max(x, low), high), "sigmoid": lambda x: 1 / (1 + exp(-x))}
    return float(eval(code, {"__builtins__": {}}, known))


def rounded(value: float, decimals: int) -> float:
    """Rounds half up, as one does by hand."""
    return float(Decimal(f"{value:.15g}").quantize(Decimal(1).scaleb(-decimals), ROUND_HALF_UP))


@pytest.mark.parametrize("name", [*BUILT_IN, *OWN], scope="module")
def test_every_line_that_says_it_is_equal_is_right_on_a_pocket_calculator(name: str) -> None:
    claims = 0
    for line in lines(name):
        sign = sign_of(name, line)
        if not line.row.equals or not sign or "≈" in sign or sign == "…":
            continue
        for i in range(len(line.cells)):
            ours = number_in(name, line, i)
            theirs = recalculated(name, line, i) if ours is not None else None
            if ours is None or theirs is None:
                continue
            assert rounded(theirs, line.decimals) == ours, f"{line.row.called}, column {i + 1}"
            claims += 1
    assert claims or name == "kl-controller"


@pytest.mark.parametrize("name", CLAIMED, scope="module")
def test_with_the_numbers_of_the_project_every_claim_holds(name: str) -> None:
    nearly = {"dpo": ["reference.logp"], "q-learning": ["step.td_error"]}  # no decimals for which there is room add up
    signs = {line.row.called: sign_of(name, line) for line in lines(name)}
    assert [called for called, sign in signs.items() if sign == "…" or "≈" in sign] == nearly.get(name, [])


def test_a_claim_that_is_only_nearly_right_says_so_and_a_wrong_one_says_that_it_is_something_else(
    tmp_path: Path,
) -> None:
    """γ of 0.905 is printed with fewer digits than it has in no line; a typed ratio of another convention is something else."""
    path = tmp_path / "sleepy.xlsx"
    made(numbers="very-very-sleepy").save(path)
    page = opened(path)[ONE_PAGE]
    said = {str(cell.value) for row in page.iter_rows() for cell in row if cell.value is not None}
    assert "…" in said  # its advantages are not whitened, so Â is no whitened A
    assert not [words for words in said if words.startswith("(A−")]


def test_words_that_say_how_advantages_are_whitened_go_with_whitening() -> None:
    """They come back with it; both are read in an engine, where somebody types the setting."""
    chosen = Chosen(saved("default")[1])
    white = next(line for line in lines("default") if line.row.called == "advantages_used")
    at = white.at, white.panel.words
    assert str(chosen.on_page(*at)).startswith("(A−0.1799) / 0.98")
    chosen.choose(**{defined_name("whiten_advantages.yours"): "off"})
    assert chosen.on_page(white.at, white.panel.sign) == "…"
    assert chosen.on_page(*at) == ""
    chosen.choose(**{defined_name("whiten_advantages.yours"): "on"})
    assert str(chosen.on_page(*at)).startswith("(A−0.1799) / 0.98")


def test_less_a_negative_mean_is_plus() -> None:
    book = api.build("default", set={"reward_model.w": [-2.1, 1.2, 3.0, 0.9]})
    assert float(book.values.cell(book.blocks["advantage.mean"])) < 0
    said = [str(live.value) for live in book.layout.lives if live.style == "one-page words"]
    assert [text for text in said if text.startswith("(A+")]
    assert not [text for text in said if "−-" in text or "−−" in text]


def test_the_kl_controller_shows_how_beta_moves() -> None:
    by_name = {line.row.called: line for line in lines("kl-controller")}
    assert by_name["kl_coef.after"].decimals >= 4
    assert by_name["error.raw"].row.sign == "− 1"


def test_members_are_called_by_their_words_or_all_by_numbers() -> None:
    said = {str(cell.value) for row in page_of("optimum").iter_rows(max_row=4) for cell in row}
    assert {f"{one} {two}" for one in ("good", "not", "very") for two in ("good", "not", "very")} <= said
    assert not {f"y {member}" for member in range(1, 10)} & said


@pytest.mark.parametrize("name", [*BUILT_IN, *OWN])
def test_no_column_is_headed_by_a_letter_that_only_equations_know(name: str) -> None:
    said = [str(cell.value) for row in page_of(name).iter_rows(min_row=3, max_row=4) for cell in row]
    assert [each for each in said if re.fullmatch("[a-z] ?[0-9]+", each)] == []


@pytest.mark.parametrize(
    ("name", "head"),
    [
        ("dpo", "pair"),
        ("reward-model", "pair"),
        ("q-learning", "episode"),
        ("value-iteration", "sweep"),
        ("kl-controller", "update"),
        ("advantage", "λ no."),
        ("frontier", "β no."),
        ("frontier", "n no."),
        ("own/savings", "year"),
    ],
)
def test_columns_are_headed_by_what_they_are_and_a_number(name: str, head: str) -> None:
    heads = [str(cell.value) for cell in page_of(name)[3]]
    assert {f"{head} 1", f"{head} 2"} <= {*heads}


def test_a_long_name_of_what_a_column_is_is_no_wider_than_the_page_has_room_for() -> None:
    long = Axis("w", "working day of the winter", start=1)
    paid, doubled = typed("paid", (long,), "p", "what is paid"), block("doubled", (long,), "d", "its double")
    doubled[long] = paid[long] + paid[long]
    made_of = make_book("Long", [paid, doubled], long, {paid: [1.5, 2.5]}, one_page=True)
    said = {live.text for live in made_of.layout.labels if live.sheet == ONE_PAGE}
    assert {"w 1", "w 2"} <= said


def test_the_key_has_the_colour_of_what_is_written() -> None:
    for name, colour in {"sft": "orange", "default": "blue"}.items():
        page = page_of(name)
        at = next(cell for row in page.iter_rows() for cell in row if cell.value == "what was written")
        assert page.cell(at.row, at.column - 1).fill.fgColor.rgb == f"FF{look.STRONG[colour][1:]}", name


class Chosen:
    """A saved workbook in ironcalc, on whose Walk one chooses."""

    def __init__(self, path: Path):
        self.model = in_ironcalc(path)
        self.sheets = [each["name"] for each in self.model.get_worksheets_properties()]
        self.names = opened(path, formulas=True).defined_names

    def choose(self, **numbers: int | str) -> None:
        """Types numbers or words by the names of their blocks."""
        for name, number in numbers.items():
            sheet, _, cell = self.names[name].attr_text.replace("$", "").rpartition("!")
            column, row = re.fullmatch(r"([A-Z]+)(\d+)", cell).groups()  # type: ignore[union-attr]
            self.model.set_user_input(self.sheets.index(sheet.strip("'")), int(row), ord(column) - 64, str(number))
        self.model.evaluate()

    def on_page(self, row: int, column: int) -> Any:
        """Returns the value of a cell of the page, counted from 0."""
        return self.model.get_cell_value(self.sheets.index(ONE_PAGE), row + 1, column + 1)


@pytest.mark.parametrize("episode", [1, 2])
def test_ppo_follows_the_episode_that_walk_shows(episode: int) -> None:
    book, path = saved("default")
    chosen = Chosen(path)
    mask = book.blocks["mask"]
    positions = [t for t in range(book.values.size(mask.axes[1])) if book.values.cell(mask, episode - 1, t) == 1]
    chosen.choose(**{defined_name("walk.episode"): episode, defined_name("walk.decision"): positions[0] + 1})
    for line in lines("default"):
        if not line.row.block or not line.panel.strips:
            continue
        block = book.blocks[line.row.block]
        for i, (_, column, _) in enumerate(line.cells):
            value = chosen.on_page(line.at, column)
            if i >= len(positions):
                assert value in (None, ""), line.row.called
            else:
                assert value == pytest.approx(float(book.values.cell(block, episode - 1, positions[i])), abs=1e-9)


@pytest.mark.parametrize(("name", "steps"), [("epochs", 4), ("pipeline/ppo", 2)])
def test_with_several_epochs_there_is_a_column_for_each_step_and_its_ratio_leaves_1(name: str, steps: int) -> None:
    """Their panel stands where the slopes of the first step stand otherwise; the last line is the loss of each step."""
    book, page = saved(name)[0], page_of(name)
    told = [line for line in lines(name) if line.row.block.startswith("epochs.")]
    assert [line.row.block for line in told] == [
        "epochs.mean.ratio", "epochs.clip_fraction.ratio", "epochs.policy_kl", "epochs.total_loss",
    ]  # fmt: skip
    for line in told:
        block = book.blocks[line.row.block]
        assert [value for _, _, value in line.cells] == [float(book.values.cell(block, e)) for e in range(steps)]
    ratios = [number_in(name, told[0], i) for i in range(steps)]
    assert ratios[0] == 1
    assert 1 not in ratios[1:]
    head = told[0].at  # the row above, counted from 1
    assert [page.cell(head, column + 1).value for _, column, _ in told[0].cells] == [str(e + 1) for e in range(steps)]
    assert "ratio.grad" not in {line.row.block for line in lines(name)}


STEPS = {
    "sft": ("total_loss", "perplexity", "token_accuracy", "entropy"),
    "pipeline/sft": ("total_loss", "perplexity", "token_accuracy", "entropy"),
    "reward-model": ("total_loss", "accuracy", "rewards.margins"),
    "pipeline/reward-model": ("total_loss", "accuracy", "rewards.margins"),
    "pipeline/dpo": ("total_loss", "rewards.accuracies", "rewards.margins"),
}
"""What One page shows of each step, by built-in numbers that take several."""


@pytest.mark.parametrize("name", STEPS)
def test_steps_of_an_optimiser_have_a_column_each_and_the_loss_falls(name: str) -> None:
    book, told = saved(name)[0], [line for line in lines(name) if line.row.block.startswith("epochs.")]
    assert [line.row.block for line in told] == [f"epochs.{each}" for each in STEPS[name]]
    steps = book.values.size(book.blocks["epochs.total_loss"].axes[0])
    for line in told:
        assert [number_in(name, line, i) for i in range(len(line.cells))] == [
            rounded(float(book.values.cell(book.blocks[line.row.block], e)), line.decimals) for e in range(steps)
        ]
    losses = [float(value) for _, _, value in told[0].cells]
    assert losses == sorted(losses, reverse=True)
    head = [page_of(name).cell(told[0].at, column + 1).value for _, column, _ in told[0].cells]
    assert head == [str(e + 1) for e in range(steps)]


def test_every_built_in_workbook_of_several_steps_shows_them() -> None:
    several = {name for name in BUILT_IN if "epochs.total_loss" in saved(name)[0].blocks}
    assert several == {*STEPS, "epochs", "pipeline/ppo"}
    assert all(any(line.row.block == "epochs.total_loss" for line in lines(name)) for name in several)


@pytest.mark.parametrize("name", BUILT_IN, scope="module")
def test_centred_texts_have_room_in_their_cells(name: str) -> None:
    """GRPO's first column is that of signs, too narrow for a number behind ✂: there the mark stands alone."""
    assert [*centred(saved(name)[1], ONE_PAGE)] == []


def test_with_one_step_there_is_no_such_panel() -> None:
    blocks = {line.row.block for line in lines("default")}
    assert "epochs.mean.ratio" not in blocks
    assert "ratio.grad" in blocks or "ratio.grad" not in saved("default")[0].blocks


def test_one_response_of_one_token_leaves_room_for_key_and_foot() -> None:
    """A page as narrow as can be: no text of the key or the foot goes on into a cell that holds something."""
    rows = [{"prompt": "how much", "response": "four", "reward": 1.0}]
    layout = api.build(rows, kind="grpo").layout
    page = layout.one_page
    assert page is not None
    measure, edges = Ruler(xl_pixel_width), [0, *accumulate(page.widths)]
    texts = [(each.row, each.column, str(each.text)) for each in layout.labels if each.sheet == ONE_PAGE]
    ways = {each.row: edges[each.column + 1] - measure(each.text, look.style("way")) for each in layout.links
            if each.sheet == ONE_PAGE and each.style == "one-page way" and "Walk" in each.text}  # fmt: skip
    (foot,) = ways
    (note,) = [(column, text) for row, column, text in texts if row == foot]
    assert edges[note[0]] + measure(note[1], look.style("small")) <= ways[foot]
    key = {
        (row, column): text for row, column, text in texts if text in ("the one that counts", "clipped: no gradient")
    }
    assert len(key) == 2
    taken = {(row, column) for row, column, _ in texts}
    for (row, column), text in key.items():
        end = edges[column] + measure(text, look.style("key"))
        assert not [other for at, other in taken if at == row and edges[column] < edges[other] < end]


def test_grpo_shows_the_group_of_the_response_that_walk_shows() -> None:
    book, path = saved("grpo")
    chosen, responses = Chosen(path), book.blocks["group.response"]
    for group in range(3):
        chosen.choose(**{defined_name("walk.episode"): int(float(book.values.cell(responses, group, 1)))})
        line = next(each for each in lines("grpo") if each.row.block == "group.advantage")
        found = [chosen.on_page(line.at, column) for _, column, _ in line.cells]
        assert found == pytest.approx(
            [float(book.values.cell(book.blocks["group.advantage"], group, i)) for i in range(4)]
        )


def test_dpo_shows_the_pair_that_walk_shows() -> None:
    book, path = saved("dpo")
    chosen = Chosen(path)
    line = next(each for each in lines("dpo") if each.row.block == "policy.logp")
    for pair in (1, 2, 3):
        chosen.choose(**{defined_name("walk.pair"): pair})
        found = chosen.on_page(line.at, line.cells[0][1])
        assert found == pytest.approx(float(book.values.cell(book.blocks["chosen.logp"], pair - 1)))


def test_a_number_that_is_typed_on_the_page_is_seen() -> None:
    """A formula of the page that is overwritten is marked in the margin, as on any other sheet."""
    path = saved("default")[1]
    line = next(each for each in lines("default") if each.row.block == "rewards")
    chosen = Chosen(path)
    chosen.model.set_user_input(chosen.sheets.index(ONE_PAGE), line.at + 1, line.cells[0][1] + 1, "0.5")
    chosen.model.evaluate()
    assert chosen.on_page(line.at, 0) == "!"


def test_colours_of_models_are_told_apart_by_letter_and_word_as_well() -> None:
    """Every panel has a letter and a name in its head, whatever its colour."""
    page = page_of("default")
    heads = [str(cell.value).strip() for row in page.iter_rows(max_row=22) for cell in row if cell.value]
    letters = [head[0] for head in heads if re.match(r"[A-E]   \S", head)]
    assert sorted(letters) == ["A", "B", "C", "D", "E"]


def test_nothing_is_used_that_other_programs_lose() -> None:
    """No shapes, patterns, colour scales, rich texts or shrunken letters: each was lost by one program or another."""
    with zipfile.ZipFile(saved("default")[1]) as archive:
        sheet = archive.read("xl/worksheets/sheet1.xml").decode()
        styles = archive.read("xl/styles.xml").decode()
    assert "colorScale" not in sheet
    assert "<drawing" not in sheet
    assert "shrinkToFit" not in styles
    assert not re.search(r'patternType="(?!none|solid|gray125)', styles)


def tiles_of(name: str) -> tuple[str, float, list[tuple[str, float]]]:
    """Returns the sign before the tiles, the displayed result, and each tile's sign and displayed number."""
    book = saved(name)[0]
    drawn, page = book.layout.one_page, page_of(name)
    assert drawn is not None
    row = next(
        row for row in range(1, drawn.end + 2)
        for cell in page[row] if "  " in str(cell.number_format) and cell.value is not None
    )  # fmt: skip
    cells = [cell for cell in page[row] if cell.value not in (None, "")]
    result = float(re.sub(r"[^\d.−-]", "", shown(cells[0]).rpartition("  ")[2]).replace("−", "-"))
    rest = [cell for cell in cells[1:] if str(cell.value) not in ("!", "#")]
    pairs = [
        (str(sign.value), float(shown(tile).replace("−", "-")))
        for sign, tile in zip(rest[::2], rest[1::2], strict=False)
    ]
    return pairs[0][0] if pairs else "", result, pairs


@pytest.mark.parametrize("name", BUILT_IN, scope="module")
def test_the_tiles_come_to_the_result_as_they_are_displayed(name: str) -> None:
    book = saved(name)[0]
    if book.blueprint.result is None or book.blueprint.result.axes or name == "kl-controller":
        return
    first, result, pairs = tiles_of(name)
    total = pairs[0][1]
    for sign, number in pairs[1:]:
        total = total * number if sign == "×" else total - number if sign == "−" else total + number
    decimals = max(4, len(f"{result:.6f}".rstrip("0").partition(".")[2]))
    if first in ("=", "of"):
        assert rounded(total, decimals) == result, (pairs, result)
    else:
        assert abs(total - result) > 0.5e-4, "it is said to be another number, and is none"


def test_tiles_that_lack_a_part_say_so(tmp_path: Path) -> None:
    """A weight of the policy KL that is no longer 0 adds a part that has no tile."""
    book = Book(blueprint_of(load("default", ("ppo.policy_kl_coef=0.5",))))
    sum_of = Sum(0.5, (0.3, 0.1), ("=", "+"))
    assert sum_of.sign(*sum_of.decimals()) == "…"
    assert book.layout.one_page is not None
    assert {live.value for live in book.layout.lives if live.style == "one-page tilesign"} == {"…"}


@pytest.mark.parametrize(
    ("parts", "due"), [((0.12345, 0.12345), (5, 4)), ((0.00004, 0.00004), (5, 4)), ((0.1, 0.2), (4, 4))]
)
def test_tiles_show_as_many_decimals_as_they_need(parts: tuple[float, float], due: tuple[int, int]) -> None:
    assert Sum(sum(parts), parts, ("=", "+")).decimals() == due


def test_a_single_epoch_has_no_panel_of_steps() -> None:
    """There is no axis of steps then, and the way back of the first step stands there again."""
    book = made("update.epochs=1", numbers="epochs")
    words = {str(label.text) for label in book.layout.labels if label.sheet == "One page"}
    assert any("wrote the answer" in text for text in words)
    assert not any("each step" in text for text in words)
    assert any("each step" in str(label.text) for label in made(numbers="epochs").layout.labels)


@pytest.mark.parametrize("environments", [1, 2])
def test_a_rollout_of_one_step_has_its_numbers(environments: int, tmp_path: Path) -> None:
    """An engine that finds nothing in a range of one cell shows them as well."""
    parts = load("classic").parts
    first = {key: np.asarray(each)[:environments] for key, each in parts.items() if key.startswith("rollout.")}
    typed = {key: (each if key == "rollout.next_values" else each[:, :1]).tolist() for key, each in first.items()}
    book = Book(blueprint_of(load("classic", typed)))
    book.save(tmp_path / "short.xlsx")
    proof = book.prove(tmp_path / "short.xlsx")
    assert proof.failures == []
    assert proof.agreeing == proof.total > 800
