"""Conventions shows what differs from the first preset; the rest is folded, and a live number counts what differs of that."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from blueprint.page import formulas, grid
from blueprint.workbooks.common.guides import all_tries
from tests.page.watching import Watched
from tests.page.workshop import made, opened

SHEET = "Conventions"
SENTENCE = re.compile(
    r"of the (\d+) settings that are folded, of (\d+), differ now from the preset default; "
    r"a click on the small 2 at the upper left shows them"
)
MADE = {
    "ten-libraries": (),
    "verl": ("preset=verl", "loss.dual_clip=3"),
    "grpo-batch": (),
    "dpo-batch": ("loss.form=ipo",),
    "reward-batch": (),
    "sft-batch": (),
}
TRIED = {name.removesuffix(".yours") for each in all_tries() for name in each.type}


@pytest.fixture(scope="module", params=MADE)
def file(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Watched:
    numbers = "ten-libraries" if request.param == "verl" else request.param
    book = made(*MADE[request.param], numbers=numbers)
    book.save(path := tmp_path_factory.mktemp("usual") / "a.xlsx")
    return Watched(path, book)


def settings_of(file: Watched) -> list[str]:
    return [name.removesuffix(".yours") for name, spot in file.book.spots.items() if name.endswith(".yours")]


def unusual(file: Watched) -> set[str]:
    """Returns the settings whose number in use is, in the engine, another than that of the first preset."""
    return {
        name for name in settings_of(file) if file.value(file.of(name)) != file.value(file.of(f"presets.{name}", 0))
    }


def said(file: Watched) -> tuple[int, int, int]:
    """Returns how many settings are folded, how many there are, and how many of the folded ones differ now."""
    now, text = (file.value((SHEET, grid.BANNER_ROW + 1, grid.LEFT + column)) for column in (1, 2))
    found = SENTENCE.fullmatch(str(text))
    assert found, text
    assert isinstance(now, float), now
    return int(found[1]), int(found[2]), int(now)


def hidden(path: Path) -> set[int]:
    return {row for row, about in opened(path, formulas=True)[SHEET].row_dimensions.items() if about.hidden}


def test_what_differs_is_to_be_seen_and_the_rest_is_folded(file: Watched) -> None:
    folded = {name for name in settings_of(file) if name not in TRIED} - unusual(file)
    assert hidden(file.path) == {file.of(name)[1] for name in folded}
    assert said(file) == (len(folded), len(settings_of(file)), 0)
    assert len(folded) > len(settings_of(file)) / 3


def test_the_sentence_counts_what_differs_now(file: Watched) -> None:
    rows = hidden(file.path)
    folded = [name for name in settings_of(file) if file.of(name)[1] in rows]
    number = next(name for name in folded if isinstance(file.value(file.of(name)), float))
    spot = file.of(f"{number}.yours")
    file.type(spot, "0.0625")
    assert said(file)[2] == len(unusual(file) & {*folded}) == 1
    file.type(spot, "")
    assert said(file)[2] == 0
    preset, delivered = file.of("preset"), file.value(file.of("preset"))
    other = file.value(file.of("presets.names", 1))
    file.type(preset, str(other))
    assert said(file)[2] == len(unusual(file) & {*folded})
    file.type(preset, str(delivered))
    assert said(file)[2] == 0


def test_no_formula_hangs_on_what_is_folded() -> None:
    one, other = (made(*MADE[name], numbers="ten-libraries") for name in ("ten-libraries", "verl"))
    assert one.layout.folds != other.layout.folds
    spelled = [
        {live.at: live.formula for live in formulas.watch_of(book.layout).watched if live.sheet == SHEET}
        for book in (one, other)
    ]
    assert spelled[0] == spelled[1]
