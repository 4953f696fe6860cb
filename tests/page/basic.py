"""Edits workbooks as a person does, in LibreOffice, by a macro in its own Basic; no other part of it is needed."""

from __future__ import annotations

import subprocess
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple
from xml.sax.saxutils import escape

from tests.page.soffice import libreoffice

SECONDS = 600
"""Far more than it takes, for a program that hangs: other programs may keep all processors busy."""

MODULE = """<?xml version="1.0" encoding="UTF-8"?>
<!DOCTYPE script:module PUBLIC "-//OpenOffice.org//DTD OfficeDocument 1.0//EN" "module.dtd">
<script:module xmlns:script="http://openoffice.org/2000/script" script:name="Module1" script:language="StarBasic">
{code}
</script:module>
"""

OPEN_AND_SAVE = """
Function Opened(source As String)
  Dim how(0) As New com.sun.star.beans.PropertyValue
  how(0).Name = "Hidden"
  how(0).Value = True
  Opened = StarDesktop.loadComponentFromURL(source, "_blank", 0, how())
End Function

Sub Save(book, target As String)
  Dim how(0) As New com.sun.star.beans.PropertyValue
  how(0).Name = "FilterName"
  how(0).Value = "Calc MS Excel 2007 XML"
  book.storeToURL(target, how())
End Sub

Sub Dump(book, target As String)
  Dim how(1) As New com.sun.star.beans.PropertyValue
  how(0).Name = "FilterName"
  how(0).Value = "Text - txt - csv (StarCalc)"
  how(1).Name = "FilterOptions"
  how(1).Value = "44,34,76,1,,0,false,false,false,false,false,-1"
  book.storeToURL(target, how())
End Sub
"""


class Change(NamedTuple):
    """A workbook, the copy to save it as, and what is done to it in between: lines of Basic about `book`.

    A target that ends in .csv is the first part of a name: every sheet becomes a table, `TARGET-SHEET.csv`, of what its cells
    hold and not of what they show. That takes a tenth of the time of a workbook.

    undo: lines that take it back, after which the next change, one of the same workbook, goes on in the open book.
    """

    source: Path
    target: Path
    lines: Sequence[str]
    undo: Sequence[str] = ()


def edit(changes: Sequence[Change], room: Path) -> None:
    """Makes every change in one run of LibreOffice; `room` is an empty folder for its profile.

    Raises RuntimeError if a copy was not written.
    """
    profile = f"-env:UserInstallation={(room / 'profile').as_uri()}"
    # The first start fills the profile, with an empty macro module among other things, and would replace ours.
    _run(profile, "--terminate_after_init")
    going_on = [False, *(bool(change.undo) for change in changes[:-1])]
    body = [line for change, open in zip(changes, going_on, strict=True) for line in _lines(change, open)]
    code = "\n".join([OPEN_AND_SAVE, "Sub Main()", *body, "End Sub"])
    module = room / "profile" / "user" / "basic" / "Standard" / "Module1.xba"
    module.write_text(MODULE.format(code=escape(code)), encoding="utf-8")
    said = _run(profile, "macro:///Standard.Module1.Main()")
    for change in changes:
        if not written(change.target):
            raise RuntimeError(f"LibreOffice did not write {change.target}; it said: {said}")


def written(target: Path) -> list[Path]:
    """Lists the files that were written for a target."""
    return (
        [*target.parent.glob(f"{target.stem}-*.csv")] if target.suffix == ".csv" else [*filter(Path.exists, [target])]
    )


def _lines(change: Change, is_open: bool) -> list[str]:
    opened = [] if is_open else [f'book = Opened("{change.source.as_uri()}")']
    save = "Dump" if change.target.suffix == ".csv" else "Save"
    return [*opened, *change.lines, f'{save}(book, "{change.target.as_uri()}")', *(change.undo or ["book.close(True)"])]


def _run(*arguments: str) -> str:
    command = [libreoffice() or "soffice", "--headless", "--norestore", *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=SECONDS, check=False).stderr
