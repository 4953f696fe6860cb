"""Every link leads where it says: no dead one, the row that it names, and back from every sheet to the first."""

import re
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from tests.page.workshop import located, opened, save_made

BUILDS = {
    "default": ((), "default"),
    "very-very-sleepy": ((), "very-very-sleepy"),
    "wide": (("sizes.vocabulary=11",), "default"),
}
LOCATION = re.compile(r"('(?:[^']|'')+'|\w+)!\$?([A-Z]+)\$?(\d+)(?::\$?([A-Z]+)\$?(\d+))?")
SAYS = re.compile(r"(?:from )?(.+), row (\d+)")


class Link(NamedTuple):
    """A link: where it stands, what it says, and the sheet, column and row to which it leads."""

    sheet: str
    cell: str
    text: str
    to_sheet: str
    to_column: str
    to_row: int


@pytest.fixture(scope="module", params=BUILDS)
def path(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Path:
    overrides, numbers = BUILDS[request.param]
    return save_made(tmp_path_factory.mktemp("links") / "a.xlsx", *overrides, numbers=numbers)


@pytest.fixture(scope="module")
def book(path: Path) -> Any:
    return opened(path)


@pytest.fixture(scope="module")
def links(book: Any) -> list[Link]:
    found = []
    for page in book.worksheets:
        for row in page.iter_rows():
            for cell in row:
                if cell.hyperlink is not None:
                    match = LOCATION.fullmatch(cell.hyperlink.location)
                    assert match, cell.hyperlink.location
                    sheet = match[1].strip("'").replace("''", "'")
                    found.append(Link(page.title, cell.coordinate, cell.value, sheet, match[2], int(match[3])))
    return found


def test_no_link_is_dead(book: Any, links: list[Link], path: Path) -> None:
    cells = {(found.sheet, row, column) for found in located(path).values() for _, row, column in found.cells()}
    heads = {(title, 1, 1) for title in book.sheetnames}
    assert len(links) > 100
    for link in links:
        assert link.to_sheet in book.sheetnames, link
        place = book[link.to_sheet][f"{link.to_column}{link.to_row}"]
        back = (
            link.text.startswith("← ")
            or link.text.startswith("map")
            or (link.sheet == "Start" and ("Delivered" in link.text or link.text == "Formulas"))
        )
        assert (link.to_sheet, place.row, place.column) in cells | heads or back or place.value is not None, link


def test_a_link_names_the_row_to_which_it_leads(links: list[Link]) -> None:
    said = [(link, SAYS.fullmatch(link.text)) for link in links]
    named = [(link, match) for link, match in said if match and "Delivered" not in link.text]
    assert len(named) > 20
    for link, match in named:
        assert (link.to_sheet, str(link.to_row)) == (match[1], match[2]), link


def test_a_line_leads_to_the_row_of_its_own_symbol(book: Any, links: list[Link]) -> None:
    """On Start and Walk the symbol at the left is that at the head of the row to which the link leads."""
    seen = 0
    for link in links:
        if link.sheet in ("Start", "Walk") and SAYS.fullmatch(link.text) and "Delivered" not in link.text:
            row = re.sub(r"\D", "", link.cell)
            ours, there = (book[s][f"B{r}"].value for s, r in ((link.sheet, row), (link.to_sheet, link.to_row)))
            ours = str(ours).partition("[")[0]
            # The head's rows have a name but no symbol; a sum leads to a factor; a list to rows named by their members.
            if there is None or "Σ" in ours or there in ("x1", "h1"):
                continue
            assert str(there).removesuffix("0") == ours or str(there) == ours, link
            seen += 1
    assert seen > 10


def test_every_box_of_the_map_leads_to_what_it_names(book: Any, links: list[Link]) -> None:
    top = next(row for row in range(1, 60) if str(book["Start"][f"B{row}"].value).startswith("The map"))
    bottom = next(
        row for row in range(top, 99) if str(book["Start"][f"B{row}"].value).startswith("Which number answers")
    )
    boxes = [link for link in links if link.sheet == "Start" and top < int(re.sub(r"\D", "", link.cell)) < bottom]
    assert len(boxes) >= 9
    for box in boxes:
        there = " ".join(str(book[box.to_sheet][f"{column}{box.to_row}"].value) for column in "BC")
        words = {word.rstrip("0") for word in f"{there} {box.to_sheet}".lower().split()}
        assert words & set(re.sub(r"\bâ\b", "â_used", box.text.lower()).split()), (box, words)


def test_every_sheet_leads_back_to_the_first_and_to_its_map(book: Any, links: list[Link]) -> None:
    glance, first, *others = book.sheetnames  # One page leads on to it by a link of its own, below its tiles
    assert (glance, first) == ("One page", "Start")
    assert [link for link in links if link.sheet == glance and link.to_sheet == first]
    assert {link.sheet for link in links if link.text == f"← {first}" and link.to_sheet == first} == set(others)
    maps = [link for link in links if link.text == "map of the flow"]
    assert {link.sheet for link in maps} == set(others)
    assert all(str(book[first][f"B{link.to_row - 1}"].value).startswith("The map") for link in maps)


def test_contents_leads_to_every_block(links: list[Link], path: Path) -> None:
    listed = [link for link in links if link.sheet == "Contents" and link.cell not in ("A3", "B3")]
    there = {(link.to_sheet, link.to_column, link.to_row) for link in listed}
    assert len(there) == len(located(path))
