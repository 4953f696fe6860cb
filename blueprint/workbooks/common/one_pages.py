"""Reads the file of a kind's page, `one_page.toml`: what stands on the sheet One page, by the names of blocks."""

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
    """Adds the page of a kind's file to a blueprint, where there is one."""
    return replace(made, one_page=one_page_in(path)) if path else made


def one_page_in(path: Path) -> OnePage:
    """Returns the page that a file describes; its keys are the fields of `page.outline.one_page`."""
    data = dict(data_in(path))
    panels = tuple(map(_panel, data.pop("panel")))
    tiles = tuple(Tile(**_coloured(each)) for each in data.pop("tile", []))
    columns = {name: Columns(**each) for name, each in data.pop("columns", {}).items()}
    data.setdefault("result", RESULT)
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
