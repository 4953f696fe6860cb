"""Charts draw the page's own numbers, and follow them."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

import numpy as np
import pytest

from blueprint.page.charts import cells_of as ranges_of
from tests.page.drawn import ADVANTAGE, CLIP, DRAWN, GAE, HUNG, NEXT, PARTS, C, Chart, charts, drawings, text_in
from tests.page.finished import FILES, Engine, Finished, Value, area, areas, close, finished, of_tokens


@pytest.mark.parametrize("name", FILES)
def test_the_charts_hang_on_the_sheet_charts_and_no_other(name: str) -> None:
    file = finished(name)
    assert list(charts(file)) == HUNG[name]
    assert {part.rpartition("/")[2] for part in file.parts if "charts/chart" in part} == {
        f"chart{number}.xml" for number in range(1, len(HUNG[name]) + 1)
    }
    assert [s for s, part in file.sheet_parts.items() if file.related(part, "drawing")] == ["Charts"]


@pytest.mark.parametrize("name", FILES)
def test_every_chart_tells_in_words_what_it_shows(name: str) -> None:
    """The alternative text begins with the title and says more than it."""
    file = finished(name)
    frames = [f for part in drawings(file) for f in file.xml(part).iter(f"{DRAWN}graphicFrame")]
    told = [f.find(f".//{DRAWN}cNvPr") for f in frames]
    texts = [each.attrib.get("descr", "") for each in told if each is not None]
    titles = [chart.title for chart in charts(file).values()]
    assert len(texts) == len(set(titles)) == len(HUNG[name])
    for title, text in zip(titles, texts, strict=True):
        assert text.startswith(f"{title}. "), text
        assert len(text) >= len(title) + 30, text


@pytest.mark.parametrize("name", FILES)
def test_charts_hang_beside_and_below_each_other_but_not_on_each_other_or_on_cells(name: str) -> None:
    file = finished(name)
    taken: list[tuple[range, range]] = []
    for anchor in file.xml(drawings(file)[0]):
        ends = [anchor.find(f"{DRAWN}{end}") for end in ("from", "to")]
        top, bottom = (int(end.findtext(f"{DRAWN}row", "")) for end in ends if end is not None)
        left, right = (int(end.findtext(f"{DRAWN}col", "")) for end in ends if end is not None)
        cells = range(top, bottom + 1), range(left, right)
        for other in taken:
            assert not (set(cells[0]) & set(other[0]) and set(cells[1]) & set(other[1])), (cells, other)
        taken.append(cells)
        page = file.shown["Charts"]
        under = [page.cell(r + 1, c + 1) for r in cells[0] for c in range(left, right + 1)]
        assert [cell.coordinate for cell in under if cell.value is not None] == []
    assert len(taken) == len(HUNG[name])


@pytest.mark.parametrize("name", FILES)
def test_every_range_that_is_drawn_exists_and_holds_numbers(name: str) -> None:
    file = finished(name)
    for title, chart in charts(file).items():
        for series in chart.series:
            for cells in (series.over, series.values):
                page = file.shown[cells.sheet]
                assert cells.right <= page.max_column, (title, cells)
                assert cells.bottom <= page.max_row, (title, cells)
            over, values = file.values_in(series.over), file.values_in(series.values)
            assert len(over) == len(values), (title, series)
            assert any(isinstance(value, int | float) for value in values), (title, series)
            assert not any(isinstance(value, str) for value in values), (title, series)
            assert any(value is not None for value in over), (title, series)


@pytest.mark.parametrize("cases", [0, 1, 3])
@pytest.mark.parametrize("lengths", [(1,), (3, 1)])
def test_few_numbers_are_drawn_from_left_to_right_as_well(lengths: tuple[int, ...], cases: int, tmp_path: Path) -> None:
    """Of nothing, nothing is drawn: a range from a cell to the one before it would be of two cells."""
    for title, chart in charts(of_tokens(tmp_path, lengths, cases)).items():
        for series in chart.series:
            for cells in (series.over, series.values):
                assert cells.left <= cells.right, (title, series)
                assert cells.top <= cells.bottom, (title, series)


@pytest.mark.parametrize("name", FILES)
def test_numbers_kept_in_the_charts_are_those_of_the_cells(name: str) -> None:
    """A program that draws before it computes shows these."""
    file = finished(name)
    kept = 0
    for part in (part for part in file.parts if "charts/chart" in part):
        for reference in file.xml(part).iter(f"{C}numRef"):
            cells = file.values_in(areas(text_in(reference, "f")))
            for point in reference.iter(f"{C}pt"):
                value, cell = float(text_in(point, "v")), cells[int(point.attrib["idx"])]
                assert isinstance(cell, int | float), (part, cells)
                assert close(value, cell)
                kept += 1
    assert kept


# The charts draw what their titles say: the cells of every series are compared with numbers computed here.


def row(file: Finished, name: str) -> list[Value]:
    """Returns a block's numbers or words, decision after decision."""
    found: list[Value] = file.computed(name).ravel().tolist()
    return found


def possible(file: Finished, row: list[Value]) -> list[Value]:
    """Leaves of a row the positions at which the policy may write: behind the prompt, as long as tokens are left."""
    if "is_given" not in file.book.blocks:
        return row
    may = (file.computed("is_given") == 0) & (file.computed("rollout.allowed") > 0)
    return [value for value, there in zip(row, may.ravel().tolist(), strict=True) if there]


def surrogate(ratio: float, sign: float, clip: float) -> float:
    """The smaller of the two surrogates for an advantage of +1 or −1."""
    return min(ratio * sign, min(max(ratio, 1 - clip), 1 + clip) * sign)


@pytest.mark.parametrize("name", FILES)
def test_the_curves_are_the_clipped_surrogate_and_bend_where_it_bends(name: str) -> None:
    file = finished(name)
    clip, chart = file.number("clip_range"), charts(file)[CLIP]
    for series, sign in zip(chart.series[:2], (1, -1), strict=True):
        assert series.name == f"advantage {'+' if sign > 0 else '−'}1"
        ratios = [float(x or 0) for x in file.values_in(series.over)]
        assert close(file.values_in(series.values), [surrogate(x, sign, clip) for x in ratios])
        assert close(ratios, sorted({*ratios, 1 - clip, 1, 1 + clip}))
        assert (ratios[0], ratios[-1]) == (chart.low, chart.high)


@pytest.mark.parametrize("overrides", [(), ("ppo.whiten_advantages=off", "ppo.clip_range=0.1")])
def test_every_word_is_a_dot_on_a_curve_and_every_other_dot_is_out_of_sight(overrides: tuple[str, ...]) -> None:
    file = finished("default", *overrides)
    clip, chart = file.number("clip_range"), charts(file)[CLIP]
    given = zip(*(row(file, name) for name in ("mask", "ratio", "loss.advantages", "word_written")), strict=True)
    all_dots, *dots = chart.series[2:]
    assert all_dots.name == "tokens of this batch"
    for series, (mask, ratio, advantage, word) in zip(dots, given, strict=True):
        (x,), (y,), (named,) = (file.values_in(cells) for cells in (series.over, series.values, area(series.name)))
        assert (named or "") == word
        if mask == 0:
            assert chart.low is not None
            assert x == -1 < chart.low
        else:
            assert isinstance(ratio, float)
            assert isinstance(advantage, float)
            assert advantage != 0
            assert close([x, y], [ratio, surrogate(ratio, np.sign(advantage), clip)])
    assert len(dots) == file.computed("mask").size
    assert file.computed("mask").sum() == 6
    for cells, ends in ((all_dots.over, [d.over for d in dots]), (all_dots.values, [d.values for d in dots])):
        drawn = [cell for end in ends for cell in file.values_in(end)]
        assert close(file.decisions(cells), drawn)
    assert chart.unnamed == set(range(3, 3 + len(dots)))  # the dots, but no legend of sixteen words


def boxes(file: Finished, chart: Chart) -> list[tuple[float, float, float, float]]:
    """The areas of the words that are in sight, in pixels of a plot about 460 wide and 50 high for each unit."""
    found = []
    for series in chart.series[3:]:
        (x,), (y,), (word,) = (file.values_in(cells) for cells in (series.over, series.values, area(series.name)))
        assert isinstance(x, float | int)
        assert isinstance(y, float | int)
        right, up = {"t": (0, 1), "b": (0, -1), "": (1, 0), "l": (-1, 0)}[series.side]  # right, where none is said
        wide, middle = 5.5 * len(str(word)), (460 * (x - 0.2) / 1.8, 50 * y)
        left = middle[0] + right * (6 + wide / 2) - wide / 2
        low = middle[1] + up * 12 - 6
        if x >= 0:
            found.append((left, left + wide, low, low + 12))
    return found


def test_no_two_words_of_the_clip_are_printed_over_each_other() -> None:
    file = finished("default")
    found = boxes(file, charts(file)[CLIP])
    assert len(found) == 6
    for a, b in combinations(found, 2):
        assert a[1] <= b[0] or b[1] <= a[0] or a[3] <= b[2] or b[3] <= a[2], (a, b)


@pytest.mark.parametrize("name", FILES)
def test_outside_the_responses_no_lambda_draws_anything(name: str) -> None:
    """Bars of height 0 cannot be seen; a line through them would suggest advantages."""
    file = finished(name)
    chart = charts(file)[GAE]
    assert chart.kind == "barChart"
    outside = [number for number, m in enumerate(possible(file, row(file, "mask"))) if m == 0]
    for series in chart.series:
        assert [file.decisions(series.values)[number] for number in outside] == [0] * len(outside)


@pytest.mark.parametrize("name", ["default", "epochs", "ten-libraries", "grpo"])
def test_bars_by_position_leave_out_prompts_and_what_is_between_responses(name: str) -> None:
    """What is left without a word is where a response ended early; another draw may write there."""
    file = finished(name)
    kept = 0
    for placed in file.book.layout.charts:
        if placed.chart.among:
            cells = areas(ranges_of(placed.chart.series[0].over, placed.chart, file.book.layout))
            words, numbered = file.values_in(cells), file.decisions(cells)
            assert numbered == words  # no column before, behind or between
            mask = possible(file, row(file, "mask"))
            most = mask if name != "ten-libraries" else [m for m in mask if m]
            assert len(words) == len(most)
            assert len([word for word in words if word]) == file.computed("mask").sum()
            kept += 1
    assert kept


@pytest.mark.parametrize("name", FILES)
def test_every_bar_carries_its_number(name: str) -> None:
    for chart in charts(finished(name)).values():
        if chart.kind == "barChart":
            assert {series.number for series in chart.series} <= {"[<=-0.005]-0.00;[>=0.005]0.00;", "0.0000"}, (
                chart.title
            )


def test_given_cases_are_dots_on_the_curves() -> None:
    file = finished("very-very-sleepy")
    chart = charts(file)[CLIP]
    _, _, dots = chart.series
    assert chart.unnamed == set()
    ratios, signs = file.computed("case.ratio"), np.sign(file.computed("case.advantage"))
    assert close(file.values_in(dots.over), ratios)
    expected = [surrogate(x, sign, 0.2) for x, sign in zip(ratios, signs, strict=True)]
    assert close(file.values_in(dots.values), expected)
    assert dots.name == "tokens of this batch"


@pytest.mark.parametrize("name", FILES)
def test_bars_are_the_advantages_raw_and_used_over_the_words_of_the_response(name: str) -> None:
    file = finished(name)
    raw, used = charts(file)[ADVANTAGE].series
    assert close(file.decisions(raw.values), possible(file, row(file, "advantages")))
    assert close(file.decisions(used.values), possible(file, row(file, "advantages_used")))
    words = [w if m else "" for w, m in zip(row(file, "word_written"), row(file, "mask"), strict=True)]
    assert raw.over == used.over
    assert [word or "" for word in file.decisions(raw.over)] == possible(file, words)


def faded(file: Finished, lam: float) -> list[Value]:
    """The advantages for one λ: from each word on, the TD errors of its episode, each word later (γλ) times as much."""
    delta, mask, gamma = file.computed("td_errors"), file.computed("mask"), file.number("gamma")
    sums: list[Value] = []
    for errors, counts in zip(delta.tolist(), mask.tolist(), strict=True):
        for here in range(len(errors)):
            later = [(gamma * lam) ** (i - here) * errors[i] for i in range(here, len(errors)) if counts[i]]
            sums.append(sum(later) if counts[here] else 0.0)
    return possible(file, sums)


@pytest.mark.parametrize("name", FILES)
def test_the_bars_of_gae_are_those_of_the_lambda_in_its_name(name: str) -> None:
    file = finished(name)
    *series, as_set = charts(file)[GAE].series
    lambdas = [float(each.name.removeprefix("λ = ")) for each in series]
    assert lambdas == [0, 0.5, 0.95, 1]
    for lam, each in zip(lambdas, series, strict=True):
        assert close(file.decisions(each.values), faded(file, lam)), lam
    assert as_set.name == "λ as set"
    assert close(file.decisions(as_set.values), faded(file, file.number("gae_lambda")))
    assert {each.over for each in series} == {as_set.over}


def test_the_bars_for_the_lambda_of_the_settings_is_the_advantage_of_the_loss() -> None:
    file = finished("default", "ppo.gae_lambda=0.95")
    third = file.decisions(charts(file)[GAE].series[2].values)
    assert close(third, possible(file, row(file, "advantages")))
    assert not close(third, possible(file, row(finished("default"), "advantages")))


def test_parts_add_up_to_the_total_loss() -> None:
    file = finished("default", "ppo.policy_kl_coef=0.3")
    (bars,) = charts(file)[PARTS].series
    assert file.values_in(bars.over) == ["policy", "value", "entropy", "KL", "total"]
    *parts, total = (float(value or 0) for value in file.values_in(bars.values))
    weights = [1.0, file.number("vf_coef"), -file.number("ent_coef"), file.number("policy_kl_coef")]
    numbers = [file.number(name) for name in ("policy_loss", "value_loss", "entropy", "policy_kl")]
    assert close(parts, np.multiply(weights, numbers))
    assert close(sum(parts), total)
    assert close(total, file.number("total_loss"))
    assert all(parts)


POLICIES = {"π_old": "old.p", "π_ref": "reference.p", "π_θ": "policy.p"}


def test_bars_of_the_next_word_stand_over_the_vocabulary_and_sum_to_one() -> None:
    file = finished("default")
    for series in charts(file)[NEXT].series:
        assert file.values_in(series.over) == row(file, "vocabulary")
        numbers = [float(value or 0) for value in file.values_in(series.values)]
        assert close(sum(numbers), 1)


@pytest.mark.parametrize(("episode", "decision"), [(None, None), (1, 1), (1, 8), (2, 4), (2, 5)])
def test_bars_of_the_next_word_follow_the_choice_on_walk(episode: int | None, decision: int | None) -> None:
    file = finished("default")
    engine = Engine(file.path)
    for name, number in (("walk.episode", episode), ("walk.decision", decision)):
        if number is not None:
            sheet, column, line, *_ = file.places[name]
            engine.type(sheet, line, column, number)
    engine.evaluate()
    at = int(episode or file.number("walk.episode")) - 1, int(decision or file.number("walk.decision")) - 1
    chart = charts(file)[NEXT]
    assert [series.name for series in chart.series] == list(POLICIES)
    for series in chart.series:
        bars = [engine.value("Charts", line, column) for line, column in series.values.cells()]
        assert close(bars, file.computed(POLICIES[series.name])[at]), series.name
