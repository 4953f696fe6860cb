"""What one sees of a run: the command's table, a chart, a page without requests, and a workbook whose rows follow a chosen β."""

from __future__ import annotations

import json
import re
import zipfile
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import openpyxl
import pytest

import blueprint as bp
from blueprint.inputs import NumbersError
from blueprint.training.run import Run, opened
from blueprint.training.summary_and_plot import figure_of, smoothed
from blueprint.training.workbook import COLUMNS, HEAD, TOGETHER
from blueprint.web.page import POLICY
from tests.commands import run_command

SETS = ["--set=update.iterations=45", "--set=sft.steps=30", "--set=reward_model.steps=30", "--set=comparisons.pairs=60"]


called = partial(run_command, "run")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("shown") / "run"
    found = called("-o", path, *SETS, "--beta", "0,0.1,1", "--seeds", "2")
    assert found.exit_code == 0, found.output
    assert "6 runs of 45 iterations" in found.output
    assert re.search(r"the reward model is right on \d\d% of the comparisons", found.output)
    assert re.findall(r"^ +(0|0\.1|1) +-?\d", found.output, re.MULTILINE) == ["0", "0.1", "1"]
    return path


@pytest.fixture(scope="module")
def run(folder: Path) -> Run:
    return opened(folder)


def test_a_chart_is_drawn_in_the_format_that_is_asked_for(folder: Path, tmp_path: Path) -> None:
    found = called(folder, "--plot", tmp_path / "run.png")
    assert found.exit_code == 0, found.output
    assert (tmp_path / "run.png").read_bytes().startswith(b"\x89PNG")
    svg = called(folder, "--plot", tmp_path / "run.svg", "--seed", "142")
    assert svg.exit_code == 0, svg.output
    assert "<svg" in (tmp_path / "run.svg").read_text(encoding="utf-8")


def test_a_line_is_averaged_over_five() -> None:
    np.testing.assert_allclose(smoothed(np.arange(7.0)), [0, 0.5, 1, 1.5, 2, 3, 4])


def test_the_page_asks_nothing_of_the_network_and_holds_the_run(folder: Path, tmp_path: Path, run: Run) -> None:
    found = called(folder, "--page", tmp_path / "run.html", "--seed", "141")
    assert found.exit_code == 0, found.output
    text = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert POLICY in text.replace("&#39;", "'")
    assert not re.search(r"(?:src|href|url)\s*[=(]\s*[\"']?(?!data:)\w", text)
    assert not re.search(r"\b(?:fetch|XMLHttpRequest|import)\b\s*\(", text)
    data = json.loads(text.split('id="data">')[1].split("</script>")[0])
    assert data["betas"] == ["0", "0.1", "1"]
    gold = data["panels"][0]["lines"][1]
    np.testing.assert_allclose(gold, run.watched["gold"][:, run.place(0.1)], rtol=1e-5, atol=1e-9)
    assert data["samples"][44][2] == run.samples(44, 1.0)


def test_a_title_is_no_markup(tmp_path: Path) -> None:
    small = [each.replace("=45", "=1") for each in SETS]
    found = called("-o", tmp_path / "run", *small, "--set", 'title="<b>"', "--page", tmp_path / "run.html")
    assert found.exit_code == 0, found.output
    text = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert "&lt;b&gt;" in text
    assert "<b>" not in text


def test_the_workbook_reads_the_rows_of_the_chosen_beta(folder: Path, tmp_path: Path, run: Run) -> None:
    path = tmp_path / "run.xlsx"
    found = called(folder, "-o", path)
    assert found.exit_code == 0, found.output
    stored, formulas = (openpyxl.load_workbook(path, data_only=only) for only in (True, False))
    data = list(stored["Data"].iter_rows(min_row=HEAD + 1, max_col=len(COLUMNS) + 2, values_only=True))
    assert len(data) == 3 * run.iterations
    shown = list(stored["Run"].iter_rows(min_row=HEAD + 1, max_col=len(COLUMNS) + 4, values_only=True))
    assert stored["Run"]["B2"].value == 0.1
    np.testing.assert_allclose([row[:11] for row in shown], [row[1:] for row in data[45:90]])
    objective = run.watched["proxy"] - run.watched["kl_coef"] * run.watched["kl"]
    np.testing.assert_allclose([row[11] for row in shown], objective[:, run.place(0.1)])
    column = [row[1].value for row in formulas["Run"].iter_rows(min_row=HEAD + 1)]
    assert all(str(each).startswith("=INDEX(Data!") for each in column)
    assert [str(each).endswith("+0") for each in column] == [row >= TOGETHER for row in range(45)]


def test_a_quantity_is_called_alike_in_charts_on_the_page_and_in_the_workbook(
    folder: Path, tmp_path: Path, run: Run
) -> None:
    path = tmp_path / "run.xlsx"
    assert called(folder, "-o", path, "--page", tmp_path / "run.html").exit_code == 0
    titles = [panel.get_title(loc="left") for panel in figure_of(run).axes]
    assert "clip fraction" in titles  # and not a share of something
    text = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert [
        each["title"] for each in json.loads(text.partition('id="data">')[2].partition("</script>")[0])["panels"]
    ] == titles
    heads = [cell.value for cell in openpyxl.load_workbook(path)["Run"][HEAD]]
    assert heads[1 : 1 + len(titles)] == titles


def test_lines_of_a_chart_differ_by_more_than_their_colour(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "run.xlsx"
    assert called(folder, "-o", path).exit_code == 0
    with zipfile.ZipFile(path) as file:
        charts = [file.read(name).decode() for name in file.namelist() if name.startswith("xl/charts/chart")]
    strokes = [re.findall(r'<a:prstDash val="(\w+)"', chart) for chart in charts]
    assert [each for chart, each in zip(charts, strokes, strict=True) if chart.count("<c:ser>") > 1] == [
        ["solid", "dash"]
    ] * 2
    assert [("<c:legend>" in chart) for chart in charts] == [chart.count("<c:ser>") > 1 for chart in charts]


def test_rows_and_charts_are_printed_on_pages_of_their_own(folder: Path, tmp_path: Path, run: Run) -> None:
    """Side by side on one page they are too small to read; four charts fill a page, and none is cut in two."""
    path = tmp_path / "run.xlsx"
    assert called(folder, "-o", path).exit_code == 0
    with zipfile.ZipFile(path) as file:
        areas = re.search(
            r'_xlnm.Print_Area" localSheetId="0">Run!\$A\$1:\$N\$(\d+),Run!\$P\$6:\$AE\$65<',
            file.read("xl/workbook.xml").decode(),
        )
    assert areas is not None
    assert int(areas[1]) == HEAD + run.iterations
    sheet = openpyxl.load_workbook(path)["Run"]
    assert (sheet.page_setup.orientation, sheet.page_setup.paperSize, sheet.page_setup.scale) == ("landscape", 9, 85)
    assert [each.id for each in sheet.row_breaks.brk] == [35]
    tops = [chart.anchor._from.row for chart in sheet._charts]
    assert tops == [5, 5, 20, 20, 35, 35, 50, 50]


def test_an_engine_computes_the_workbook_to_the_same_numbers(folder: Path, tmp_path: Path) -> None:
    import ironcalc

    path = tmp_path / "run.xlsx"
    assert called(folder, "-o", path).exit_code == 0
    stored = openpyxl.load_workbook(path, data_only=True)["Run"]
    model = ironcalc.load_from_xlsx(str(path), "en", "UTC", "en")
    model.set_user_input(0, 2, 2, "1")
    model.evaluate()
    data = openpyxl.load_workbook(path, data_only=True)["Data"]
    for row in range(HEAD + 1, HEAD + 46):
        assert float(model.get_formatted_cell_value(0, row, 2)) == pytest.approx(data.cell(row + 90, 3).value, abs=1e-4)
    assert stored["B3"].value == 46


def test_an_iteration_is_written_as_a_workbook(folder: Path, tmp_path: Path) -> None:
    path = tmp_path / "it.xlsx"
    found = called(folder, "--iteration", "12", "--beta", "0.1", "--seed", "142", "-o", path, "--no-proof")
    assert found.exit_code == 0, found.output
    difference = re.search(r"the run's before iteration 13: the largest difference is (\S+)\.\n", found.output)
    assert difference is not None
    assert float(difference[1]) < 1e-10
    assert "iteration 12, β = 0.1" in repr(bp.open(path))


def test_the_numbers_alone_are_written_with_comments(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    assert called("-o", path, "--beta", "0.5").exit_code == 0
    assert "kl_coef = [0.5]" in path.read_text(encoding="utf-8")
    assert "# β: a run for each" in path.read_text(encoding="utf-8")
    again = called(path, "-o", path)
    assert again.exit_code == 2
    assert "is there already: name another file, or replace it with --force" in again.output


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--iteration", "3"), "--iteration is of a run that is kept: blueprint run FOLDER --iteration N"),
        (("--plot", "x.gif"), "--plot x.gif: found the ending .gif, expected one of .png, .svg, .pdf"),
        (("--page", "x.txt"), "x.txt does not end in .html, by which browsers know a page: name it so"),
        (("nothing.toml",), "nothing.toml cannot be read as the numbers of a run (no such file or directory)"),
        (("--beta", "0.1,x"), "--beta 0.1,x: found no list of numbers, expected one, such as --beta 0,0.1,1"),
        (("--beta", "-1"), "ppo.kl_coef.0: found -1.0, expected greater than or equal to 0."),
        (("--device", "nowhere"), "a run cannot be computed on 'nowhere' in float64"),
        (("--no-proof",), "--no-proof: only the workbook of an iteration is proved: add --iteration N"),
    ],
)
def test_what_cannot_be_is_a_sentence(words: tuple[str, ...], says: str, tmp_path: Path) -> None:
    found = called(*words, *(("-o", tmp_path / "run") if "--iteration" not in words else ()))
    assert (found.exit_code, says in found.output) == (2, True), found.output
    assert "Traceback" not in found.output


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (("--set", "update.lr=1"), "--set update.lr=1: not for a folder: the run in"),
        (("--set", "update.iterations=50"), " --set update.iterations=N makes it longer"),
        (("--beta", "0.1"), "--beta: a folder shows all its KL coefficients"),
        (("--iteration", "3", "--beta", "x"), "--beta x: one number is expected with --iteration"),
        (("--iteration", "99"), "there is no iteration 99: the run has iterations 0 to 44"),
        (("-o", "else"), "else: a run that is kept is written as a workbook: name it .xlsx"),
        (
            ("--seed", "5"),
            "--seed: which run is shown: add --plot, --page, -o FILE.xlsx or --iteration, or leave it out",
        ),
        (("--no-proof",), "--no-proof: only the workbook of an iteration is proved: add --iteration N"),
        (
            ("--iteration", "3", "--ray", "auto"),
            "--ray: a run that is kept is shown, and none is trained: leave it out",
        ),
        (("--iteration", "3", "--no-proof", "-o", "x.npz"), "--no-proof: only the workbook of an iteration is proved"),
    ],
)
def test_what_a_folder_cannot_show_is_a_sentence(folder: Path, words: tuple[str, ...], says: str) -> None:
    found = called(folder, *words)
    assert (found.exit_code, says in found.output) == (2, True), found.output


def test_the_numbers_alone_go_with_no_picture(tmp_path: Path) -> None:
    found = called("-o", tmp_path / "x.toml", "--plot", tmp_path / "x.png", "--page", tmp_path / "x.html")
    assert (found.exit_code, "--plot and --page: -o " in found.output) == (2, True), found.output
    assert not [*tmp_path.iterdir()]


def test_a_folder_with_other_files_is_not_advised(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    found = called(tmp_path)
    assert "holds no run: blueprint run -o FOLDER makes one, in a folder that is new or empty" in found.output


@pytest.mark.parametrize(
    "more", [{"beta": [0.1]}, {"seeds": 2}, {"set": {"update.lr": 1}}, {"ray": "auto"}, {"folder": "x"}]
)
def test_a_kept_run_takes_nothing_else_in_a_notebook(folder: Path, more: dict[str, Any]) -> None:
    with pytest.raises(NumbersError, match=r"expected another run, or nothing of .*: it is kept"):
        bp.run(folder, **more)
