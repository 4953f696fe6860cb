"""Links back: from every sheet to the first one, and to the picture of the flow on it."""

from __future__ import annotations

from blueprint.page import contents, grid
from blueprint.page.layout import Hop, Layout


def lay_links(layout: Layout) -> None:
    """Adds the links below the title of every sheet but the first."""
    first = layout.blueprint.sheets[0].title
    for sheet in [*layout.body]:
        if sheet == first:
            continue
        column = 0 if sheet == contents.SHEET else grid.SYMBOL
        layout.hops.append(Hop(sheet, grid.BANNER_ROW, column, f"{grid.quoted(first)}!A1", f"← {first}"))
        if first in layout.maps:
            target = f"{grid.quoted(first)}!{grid.letters(grid.SYMBOL)}{layout.maps[first] + 1}"
            layout.hops.append(Hop(sheet, grid.BANNER_ROW, column + 1, target, "map of the flow"))
