"""The colours of OK and LOOK stand on what a check says, and on no option of a setting that is called by the same word."""

from __future__ import annotations

import pytest

from blueprint.page.styles import VERDICTS
from tests.page.colours import Styles
from tests.page.finished import finished


def coloured(numbers: str) -> dict[str, set[tuple[str, int, int]]]:
    """Returns the cells that a rule colours, by the word for which it does."""
    found: dict[str, set[tuple[str, int, int]]] = {}
    for rule in Styles(finished(numbers)).rules:
        word = rule.formula.strip('"')
        if rule.kind == "cellIs" and word in VERDICTS:
            found.setdefault(word, set()).update((rule.sheet, *cell) for at in rule.cells for cell in at.cells())
    return found


@pytest.mark.parametrize("numbers", ["dpo", "default", "grpo"])
def test_no_setting_is_coloured_as_a_verdict(numbers: str) -> None:
    file, found = finished(numbers), coloured(numbers)
    settings = {
        (at.sheet, *cell)
        for name, at in file.places.items()
        if name.endswith((".yours", ".preset")) or f"{name}.yours" in file.places
        for cell in at.cells()
    }
    assert settings
    assert not settings & set().union(*found.values())
    said = {cell for cell in set().union(*found.values()) if cell[0] not in ("Delivered", "Formulas")}
    assert {file.shown[sheet].cell(row, column).value for sheet, row, column in said} == {"OK", "same"}
    start = {cell for cell in found["OK"] if cell[0] == "Start"}
    assert {file.shown["Start"].cell(row, column).value for _, row, column in start} == {"OK", "same"}


def test_the_option_same_of_dpo_is_black_on_conventions_and_on_start() -> None:
    file, found = finished("dpo"), coloured("dpo")
    at = file.places["watch.rewards"]
    assert file.shown[at.sheet].cell(at.top, at.left).value == "same"
    assert not {cell for cell in found["same"] if cell[0] == at.sheet}
    verdict = file.places["check.master"]
    assert (verdict.sheet, verdict.top, verdict.left) in found["OK"] & found["LOOK"]
