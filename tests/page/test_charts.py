"""The charts hang where they should, tell in words what they show, and draw cells that exist."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.page.drawn import DRAWN, HUNG, C, charts, drawings, text_in
from tests.page.finished import FILES, areas, close, finished, of_tokens


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
