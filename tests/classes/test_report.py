"""The report counts what is in the results, measures blanks as written down here, and is a page that holds everything."""

from __future__ import annotations

import json
import re
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pytest

from blueprint.classes.report import binned, report_of, report_page, save_report
from blueprint.classes.results import Flag, Mark, Results
from tests.classes.made import EXCUSED, RIGHT, WRONG, result, results
from tests.commands import run_command

EMPTY = Mark(points=0, status="empty")
CARRIED = Mark(points=0.8, status="carried", came_from=["b01"], given=[0.25])
NAMED = Mark(points=0, status="wrong", given=[0.7], misconception="lambda", says="λ was <b>forgotten</b> & γ kept.")
CLASS = results(
    result("1", "<script>alert(1)</script>", 4, RIGHT, RIGHT, file="a"),
    result("2", "Jane Doe", 2.4, WRONG, CARRIED, file="b", late=1.5),
    result("3", "Al", 1, RIGHT, NAMED, file="c"),
    result("4", "Bo", 0, NAMED, NAMED, file="d"),
    result("5", "Cy", 0, WRONG, EMPTY, file="e"),
    result("6", "Di", 3, EXCUSED, RIGHT, file="f"),
    result("7", "Ed", None),
    result("8", "Fi", None, file="g", refused="is no workbook"),
    assignment="hw<1>",
).model_copy(update={"flags": [Flag(kind="same token twice", says="x", students=["1", "2"])] * 2})


class Tags(HTMLParser):
    """Lists what a page opens, and refuses what it does not close."""

    def __init__(self, page: str):
        super().__init__()
        self.seen: list[str] = []
        self.open: list[str] = []
        self.text = ""
        self.feed(page)
        assert self.open == []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.seen.append(tag)
        self.open += [tag] * (tag != "meta")

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag

    def handle_data(self, text: str) -> None:
        self.text += text


def test_what_is_counted() -> None:
    found = report_of(CLASS)
    assert [found[each] for each in ("students", "handed_in", "refused", "late")] == [8, 7, 1, 1]
    assert found["shares"] == [1, 0.6, 0.25, 0, 0, 0.75]
    first, second = found["blanks"]
    assert first["counts"] == {"right": 2, "wrong": 3, "excused": 1}
    assert second["counts"] == {"right": 2, "carried": 1, "wrong": 2, "empty": 1}
    assert (first["mean"], second["mean"]) == pytest.approx((2 / 5, 2.8 / 6))
    mistakes = [(each["blank"], each["name"], each["students"], each["example"]) for each in found["misconceptions"]]
    assert mistakes == [("b02", "lambda", 2, 0.7), ("b01", "lambda", 1, 0.7)]
    assert [(each["blank"], each["numbers"], each["students"]) for each in found["same_numbers"]] == [
        ("b01", (2.5,), 2)
    ]
    assert found["carried"] == [{"from": "b01", "to": "b02", "students": 1}]
    assert found["flags"] == {"same token twice": 2}


def test_discrimination_is_the_correlation_with_the_points_of_the_other_blanks() -> None:
    first, second = report_of(CLASS)["blanks"]
    points, others = [1, 0, 1, 0, 0], [3, 2.4, 0, 0, 0]
    assert first["discrimination"] == pytest.approx(np.corrcoef(points, others)[0, 1])
    assert second["discrimination"] == pytest.approx(np.corrcoef([1, 0.8, 0, 0, 0, 1], [1, 0, 1, 0, 0, 0])[0, 1])
    same = results(*(result(str(n), "", 4, RIGHT, RIGHT) for n in range(5)))
    assert [each["discrimination"] for each in report_of(same)["blanks"]] == [None, None]


def test_shares_are_counted_in_tenths() -> None:
    assert binned([0, 0.0999, 0.1, 0.3, 0.7, 0.99, 1]) == [2, 1, 0, 1, 0, 0, 0, 1, 0, 2]


def test_the_page_holds_everything_and_nobodys_name() -> None:
    page = report_page(CLASS)
    tags = Tags(page)
    assert tags.seen.count("figure") == 2
    assert not {"script", "link", "img", "iframe", "b>"} & {*tags.seen}
    assert not re.search(r"(src|href|@import|url\((?!#))", page)
    assert "λ was <b>forgotten</b> & γ kept." in tags.text
    assert not any(name in tags.text for name in ("alert", "Jane", "Doe"))
    assert "Class report: hw<1>" in tags.text


def test_each_part_of_a_bar_has_a_word_or_a_number_beside_its_colour() -> None:
    page = report_page(CLASS)
    (bars,) = re.findall(r"<figure[^>]*which mark.*?</figure>", page, re.DOTALL)
    words = Tags(bars).text.split()
    for status in ("right", "carried", "wrong", "empty", "excused"):
        assert status in words
        assert f'class="part {status}"' in bars
    assert words[words.index("delta@episode=1,token=3") + 1 :][:3] == ["2", "3", "1"]


def test_a_bar_is_named_by_what_its_blank_asks_for() -> None:
    asked = [CLASS.blanks[0].model_copy(update={"words": "TD error (δ), episode 1, position 3"}), CLASS.blanks[1]]
    (bars,) = re.findall(
        r"<figure[^>]*which mark.*?</figure>", report_page(CLASS.model_copy(update={"blanks": asked})), re.DOTALL
    )
    assert "b01 TD error (δ), episode 1, position 3" in Tags(bars).text
    assert "b02 advantages@episode=1,token=2" in Tags(bars).text  # of results without words


@pytest.mark.parametrize(
    "of",
    [[], [result("1", "", None)], [result("1", "", 0, EXCUSED, EXCUSED, file="a")], [result("1", "", 4, RIGHT, RIGHT)]],
)
def test_small_classes_have_a_page(of: list[object]) -> None:
    Tags(report_page(results(*of)))  # type: ignore[arg-type]
    json.dumps(report_of(results(*of)), allow_nan=False)  # type: ignore[arg-type]


def test_the_command_writes_the_page_once(tmp_path: Path) -> None:
    CLASS.save(tmp_path)
    run = run_command("class", "report", tmp_path)
    assert run.exit_code == 0, run.output
    assert "hw<1>: 7 of 8 students handed a file in, 43% of the points on average" in run.output
    page = (tmp_path / "report.html").read_bytes()
    assert run_command("class", "report", tmp_path).exit_code == 0
    (tmp_path / "report.html").write_text("mine")
    again = run_command("class", "report", tmp_path)
    assert (again.exit_code, (tmp_path / "report.html").read_text()) == (2, "mine")
    assert run_command("class", "report", tmp_path, "--force").exit_code == 0
    assert (tmp_path / "report.html").read_bytes() == page
    save_report(Results.load(tmp_path), tmp_path)
    assert (tmp_path / "report.html").read_bytes() == page


def test_the_command_speaks_to_programs_and_refuses_in_a_sentence(tmp_path: Path) -> None:
    CLASS.save(tmp_path)
    run = run_command("class", "report", tmp_path, "--json")
    assert json.loads(run.output)["misconceptions"][0]["students"] == 2
    assert not (tmp_path / "report.html").exists()
    (tmp_path / "results.json").write_text("{}")
    run = run_command("class", "report", tmp_path)
    assert run.exit_code == 2
    assert "holds no results" in run.output
