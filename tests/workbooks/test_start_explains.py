"""Start names a cell that `blueprint explain` explains: the line works as it is printed, in every kind of workbook."""

from __future__ import annotations

import shlex

import pytest

from blueprint.page.grid import quoted_title
from tests.commands import run_command
from tests.page.finished import finished
from tests.page.workshop import BUILT_IN

LINE = "blueprint explain FILE "


@pytest.mark.parametrize("name", BUILT_IN)
def test_the_line_on_start_works_as_printed(name: str) -> None:
    file = finished(name)
    start = file.shown["Start"]
    texts = [str(cell.value) for row in start.iter_rows() for cell in row if cell.value is not None]
    (line,) = [text[text.index(LINE) :] for text in texts if LINE in text]
    arguments = shlex.split(line.replace("FILE", shlex.quote(str(file.path))))
    result = run_command(*arguments[1:])
    assert result.exit_code == 0, result.output
    sheet, _, cell = arguments[-1].rpartition("!")
    assert f"{quoted_title(sheet)}!{cell})" in result.output
