"""A run as a workbook: a row for each iteration of a chosen KL coefficient, and charts that follow the choice.

What was computed stands on *Data*, typed; *Run* reads the rows of the chosen β by formulas, and adds what follows from them: the
objective proxy − β·KL, and means of five iterations.
"""

from pathlib import Path
from typing import Any

from blueprint.files import saved_whole
from blueprint.training.run import Run
from blueprint.training.summary_and_plot import COLOURS, PANELS

COLUMNS = PANELS | {"kl_coef": "β, as it was used"}
CHARTS = {
    ("gold", "proxy"): "gold and the reward model's score (proxy), means of 5 iterations",
    ("kl", "kl_k1"): "KL to the reference, nats per response",
    ("clip_fraction",): "",
    ("entropy",): "",
    ("value_loss",): "",
    ("grad_norm",): "",
    ("length",): "",
    ("objective",): "",
}
"""The columns of each chart, and its title: of a single column what the column says."""
STROKES = ("solid", "dash")
"""Of the lines of a chart: they differ by more than their colour."""
HEAD = 5
"""The first row of numbers on both sheets, counted from 0."""
TOGETHER = 40
"""Rows with one formula: LibreOffice computes more than 64 equal ones below each other wrongly, so they are spelled in turns."""


CHARTS_AWAY, CHART_COLUMNS, CHART_ROWS = 5, 8, 15
"""Columns from those that were watched to the charts, and what each of these takes of the sheet."""
PRINTED = 85
"""Percent at which the rows, and two charts beside each other, are as wide as A4 and thirty rows as high."""


def write_workbook(run: Run, path: Path, seed: int | None) -> None:
    """Writes the runs of a seed, the first one if left out. Raises SaveError."""
    import xlsxwriter

    seed = run.numbers.seed if seed is None else seed
    with saved_whole(path) as unfinished:
        book = xlsxwriter.Workbook(str(unfinished), {"strings_to_formulas": False, "strings_to_urls": False})
        styles = {
            "title": book.add_format({"bold": True, "font_size": 14}),
            "head": book.add_format({"bold": True, "text_wrap": True, "valign": "top", "bottom": 1}),
            "column": book.add_format(
                {"bold": True, "text_wrap": True, "valign": "top", "bottom": 1, "align": "right"}
            ),
            "typed": book.add_format({"num_format": "0.0000", "font_color": "#0000FF"}),
            "formula": book.add_format({"num_format": "0.0000"}),
            "choice": book.add_format({"bg_color": "#FFF2CC", "border": 1, "bold": True}),
            "name": book.add_format({"bold": True}),
            "left": book.add_format({"align": "left"}),
            "note": book.add_format({"italic": True, "font_color": "#595959", "indent": 1}),
        }
        shown, data, samples = (book.add_worksheet(name) for name in ("Run", "Data", "Samples"))
        _write_data(data, run, seed, styles)
        _write_run(book, shown, run, seed, styles)
        _write_samples(samples, run, seed, styles)
        for sheet in (shown, data, samples):
            sheet.set_landscape()
            sheet.set_paper(9)
            sheet.set_margins(left=0.4, right=0.4, top=0.5, bottom=0.6)
            sheet.set_footer("&L&F&C&A&Rpage &P of &N")
            sheet.repeat_rows(HEAD - 1)
        data.fit_to_pages(1, 0)
        samples.fit_to_pages(1, 0)
        _print_run(book, shown, run.iterations)
        book.close()


def _print_run(book: Any, sheet: Any, many: int) -> None:
    """Has the rows printed first and the charts behind them, four on a page; side by side they would be too small to read."""
    from xlsxwriter.utility import xl_range_abs

    last, left = len(COLUMNS) + 3, len(COLUMNS) + CHARTS_AWAY
    rows = xl_range_abs(0, 0, HEAD + many - 1, last)
    charts = xl_range_abs(HEAD, left, HEAD + CHART_ROWS * -(-len(CHARTS) // 2) - 1, left + 2 * CHART_COLUMNS - 1)
    book.define_name("Run!_xlnm.Print_Area", f"=Run!{rows},Run!{charts}")  # of several areas print_area knows nothing
    sheet.set_print_scale(PRINTED)
    sheet.set_h_pagebreaks(range(HEAD + 2 * CHART_ROWS, HEAD + CHART_ROWS * -(-len(CHARTS) // 2), 2 * CHART_ROWS))


def _write_data(sheet: Any, run: Run, seed: int, styles: dict[str, Any]) -> None:
    """Types what was watched: the rows of the first β, then those of the next."""
    sheet.write(0, 0, "What blueprint run computed: for each KL coefficient a row for each iteration", styles["title"])
    sheet.write_row(HEAD - 1, 0, ("β", "iteration", *COLUMNS.values()), styles["column"])
    rows = run.frame(seed)
    for column, name in enumerate(("beta", "iteration", *COLUMNS)):
        sheet.write_column(HEAD, column, rows[name].tolist(), styles["typed"] if name in COLUMNS else None)
    sheet.write(HEAD - 1, len(COLUMNS) + 3, "β to choose from", styles["head"])
    sheet.write_column(HEAD, len(COLUMNS) + 3, run.numbers.ppo.kl_coef)
    sheet.set_column(0, len(COLUMNS) + 3, 11)
    sheet.set_row(HEAD - 1, 80)
    sheet.freeze_panes(HEAD, 2)


def _write_run(book: Any, sheet: Any, run: Run, seed: int, styles: dict[str, Any]) -> None:
    """Writes the rows of the chosen β, and the charts of them."""
    from xlsxwriter.utility import xl_col_to_name

    betas, many = run.numbers.ppo.kl_coef, run.iterations
    start = 1 if len(betas) > 1 else 0  # not the first one, at which little is to be seen but gibberish
    sheet.write(0, 0, f"{run.numbers.title}: seed {seed}", styles["title"])
    sheet.write(1, 0, "β", styles["name"])
    sheet.write_number(1, 1, betas[start], styles["choice"])
    sheet.write(1, 2, "choose the KL coefficient here: the rows and charts follow", styles["note"])
    offered = xl_col_to_name(len(COLUMNS) + 3)
    listed = f"=Data!${offered}${HEAD + 1}:${offered}${HEAD + len(betas)}"
    sheet.data_validation(1, 1, 1, 1, {"validate": "list", "source": listed})
    sheet.write(2, 0, "first row", styles["name"])
    first = f"MATCH($B$2,Data!$A${HEAD + 1}:$A${HEAD + many * len(betas)},0)"
    sheet.write_formula(2, 1, f"={first}", None, 1 + start * many)
    sheet.write(2, 2, "where the rows of this β begin on Data", styles["note"])
    names = ["iteration", *COLUMNS, "objective", "gold.mean", "proxy.mean"]
    meanings = [
        "iteration",
        *COLUMNS.values(),
        "proxy − β·KL: what is maximised",
        "gold, mean of 5",
        "proxy, mean of 5",
    ]
    sheet.write_row(HEAD - 1, 0, meanings, styles["column"])
    r = run.place(betas[start], seed)
    for iteration in range(many):
        for column, (formula, value) in enumerate(_formulas(run, r, iteration)):
            sheet.write_formula(HEAD + iteration, column, formula, styles["formula"] if column else None, value)
    sheet.set_column(0, len(names), 9.5)
    sheet.set_row(HEAD - 1, 96)
    sheet.freeze_panes(HEAD, 1)
    _add_charts(book, sheet, names, meanings, many)


def _formulas(run: Run, r: int, iteration: int) -> list[tuple[str, float]]:
    """Returns the formulas of a row and what they come to, column by column."""
    import numpy as np
    from xlsxwriter.utility import xl_col_to_name

    row = HEAD + iteration + 1
    spelled = "" if iteration // TOGETHER % 2 == 0 else "+0"
    last = HEAD + run.iterations * len(run.numbers.ppo.kl_coef)
    found = [
        (f"=INDEX(Data!{letter}${HEAD + 1}:{letter}${last},$B$3+{iteration}){spelled}", float(value))
        for letter, value in zip(
            map(xl_col_to_name, range(1, len(COLUMNS) + 2)),
            [iteration, *(run.watched[name][iteration, r] for name in COLUMNS)],
            strict=True,
        )
    ]
    at = {name: xl_col_to_name(column) for column, name in enumerate(COLUMNS, start=1)}
    seen = {name: run.watched[name][:, r] for name in COLUMNS}
    objective = float(seen["proxy"][iteration] - seen["kl_coef"][iteration] * seen["kl"][iteration])
    found.append((f"={at['proxy']}{row}-{at['kl_coef']}{row}*{at['kl']}{row}{spelled}", objective))
    first = max(HEAD + 1, row - 4)
    for name in ("gold", "proxy"):
        mean = float(np.mean(seen[name][max(0, iteration - 4) : iteration + 1]))
        found.append((f"=AVERAGE({at[name]}{first}:{at[name]}{row}){spelled}", mean))
    return found


def _add_charts(book: Any, sheet: Any, names: list[str], meanings: list[str], many: int) -> None:
    """Draws charts of the columns, which follow the chosen β."""
    for place, (shown, title) in enumerate(CHARTS.items()):
        chart = book.add_chart({"type": "line"})
        for name, colour, stroke in zip(shown, COLOURS, STROKES, strict=False):
            column = names.index(f"{name}.mean" if f"{name}.mean" in names else name)
            chart.add_series(
                {
                    "name": meanings[column],
                    "categories": ["Run", HEAD, 0, HEAD + many - 1, 0],
                    "values": ["Run", HEAD, column, HEAD + many - 1, column],
                    "line": {"width": 1.5, "color": colour, "dash_type": stroke},
                }
            )
        chart.set_title({"name": title or meanings[names.index(shown[0])], "name_font": {"size": 10}})
        step = max(1, many // 8)
        axis = {"interval_unit": step, "interval_tick": step, "label_position": "low", "num_font": {"size": 7}}
        chart.set_x_axis({"name": "iteration", "major_tick_mark": "none", **axis})
        chart.set_legend({"position": "bottom"} if len(shown) > 1 else {"none": True})
        chart.set_size({"width": 480, "height": 270})
        down, right = divmod(place, 2)
        sheet.insert_chart(HEAD + CHART_ROWS * down, len(COLUMNS) + CHARTS_AWAY + CHART_COLUMNS * right, chart)


def _write_samples(sheet: Any, run: Run, seed: int, styles: dict[str, Any]) -> None:
    """Types one response to each prompt, every few iterations, a column for each β."""
    betas, prompts = run.numbers.ppo.kl_coef, run.numbers.text.prompts
    sheet.write(0, 0, "The first response to each prompt, every few iterations", styles["title"])
    sheet.write_row(HEAD - 1, 0, ("iteration", "prompt", *(f"β = {beta:g}" for beta in betas)), styles["head"])
    each, row = run.numbers.update.responses // len(prompts), HEAD
    for iteration in sampled_iterations(run.iterations):
        for q, prompt in enumerate(prompts):
            sheet.write_row(
                row, 0, (iteration, prompt, *(run.samples(iteration, beta, seed)[q * each] for beta in betas))
            )
            row += 1
    sheet.set_column(0, 0, 10, styles["left"])
    sheet.set_column(1, len(betas) + 1, 32)


def sampled_iterations(many: int) -> list[int]:
    """Returns some twenty iterations, evenly, the first and the last among them."""
    return sorted({round(each * (many - 1) / 20) for each in range(21)})
