"""Reads the file of a kind's page, `one_page.toml`: what stands on the sheet One page, by the names of blocks.

Its table `sheets` says of sheets by their titles to which model they belong: tabs, heads and boxes are in its colour, too.
"""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from blueprint.inputs.catalogue import data_in
from blueprint.page.outline import Blueprint
from blueprint.page.outline.one_page import Columns, OnePage, PageMatrix, PageRow, PageSection, Panel, Tile

COLOURS = {
    "old": "blue",
    "reference": "grey",
    "policy": "orange",
    "reward": "purple",
    "critic": "green",
    "none": "none",
}
"""The colour of each model, on One page and wherever else one is told by its colour."""
RESULT = "loss L"


def with_one_page(made: Blueprint, path: Path | None) -> Blueprint:
    """Adds the page of a kind's file to a blueprint, where there is one, and gives its sheets the colours of their models.

    A row may name several blocks, of which a level has one: the first that is there is shown, and goes by the first name.
    """
    if path is None:
        return made
    data = dict(data_in(path))
    made = with_colours(made, data.pop("sheets", {}))
    page, known = one_page_in(data), {block.name for block in made.blocks()}
    named = (row.block.split() for panel in page.panels for section in panel.sections for row in section.rows)
    there = {names[0]: next((name for name in names if name in known), names[0]) for names in named if names}
    panels = tuple(
        replace(
            panel,
            sections=tuple(
                replace(section, rows=tuple(_of_level(row, there) for row in section.rows))
                for section in panel.sections
            ),
        )
        for panel in page.panels
    )
    return replace(made, one_page=replace(page, panels=panels))


def with_colours(made: Blueprint, models: Mapping[str, str]) -> Blueprint:
    """Gives sheets the colours of models; models: by the title of a sheet. A sheet of a later step is like the first one."""
    sheets = (replace(sheet, colour=COLOURS[models.get(_first(sheet.title), "none")]) for sheet in made.sheets)
    return replace(made, sheets=tuple(sheets))


def _first(title: str) -> str:
    """Returns the title of a sheet in the first step."""
    return re.sub(r" [\d.]+$", "", title)


def _of_level(row: PageRow, there: Mapping[str, str]) -> PageRow:
    """Returns a row with the blocks that are there."""
    value = row.value
    for first, found in there.items():
        value = value.replace(f"({first})", f"({found})")
    if not row.block:
        return replace(row, value=value)
    first = row.block.split()[0]
    return replace(row, block=there[first], id=row.id or first)


def one_page_in(data: dict[str, Any]) -> OnePage:
    """Returns the page that a file describes; its keys are the fields of `page.outline.one_page`."""
    panels = tuple(map(_panel, data.pop("panel")))
    tiles = tuple(Tile(**_coloured(each)) for each in data.pop("tile", []))
    columns = {name: Columns(**each) for name, each in data.pop("columns", {}).items()}
    data.setdefault("result", RESULT)
    data["settings"] = tuple(data.pop("settings", ()))
    return OnePage(panels=panels, tiles=tiles, columns=columns, **data)


def _panel(data: dict[str, Any]) -> Panel:
    sections = (
        PageSection(each.get("title", ""), tuple(PageRow(**_coloured(row)) for row in each["rows"]))
        for each in data.get("section", [])
    )
    matrices = tuple(PageMatrix(**each) for each in data.get("matrices", []))
    rest: dict[str, Any] = {
        key: tuple(value) if isinstance(value, list) else value
        for key, value in _coloured(data).items()
        if key not in ("section", "matrices")
    }
    return Panel(matrices=matrices, sections=tuple(sections), **rest)


def _coloured(data: dict[str, Any]) -> dict[str, Any]:
    """Says the colour of a model where the model is said."""
    return data | {"model": COLOURS[data["model"]]} if "model" in data else data
