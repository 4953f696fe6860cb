"""What one watches of a gradient: on Loss which token pulls, beside the weights its norms, on Diagnostics and Start both."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import NamedTuple

from blueprint.language import Block, link
from blueprint.page.outline import Blueprint, Item, Line, Note, Piece, Row, Section, Sheet, blocks_on, key
from blueprint.workbooks.common.definitions import slopes
from blueprint.workbooks.common.sheets.backward.sections import GRAD, OF_WEIGHTS, PULLS, TITLE
from blueprint.workbooks.common.sheets.start import COLUMNS, MAP

DIAGNOSTICS, START = "Diagnostics", "Start"
NORMS = "Norms: the root of the sum of the squares of each gradient"
WATCHED = "Gradient: which tokens pull, and how long it is"
PIECES = "The pieces"
SHOWN = "The gradient: what a step of training would change"
PULLING = {
    "N_up": "tokens made likelier",
    "N_down": "tokens made less likely",
    "N_still": "tokens whose log-prob does not pull",
}
COUNTED, ALL = "count over the response", "all weights together"
WHICH = "The links lead to rows that mark these tokens; the row ∂L/∂log π above them says how strongly each pulls."
ROUNDING = "A slope between −g_min and g_min is mere rounding: nothing pulls there."
REPHRASED = {
    "what one watches while training; none of it enters the loss (no gradient norm: the update is a gradient step, rounded)":
        "what one watches while training; none of it enters the loss",
    "Δ is typed and stands for a gradient step; no gradient is computed in this workbook.":
        "Δ is typed and stands for a gradient step; it does not change with the gradient below.",
}  # fmt: skip
"""Sentences that hold only without a gradient, and what is said instead."""


class Watched(NamedTuple):
    """What there is to watch: which tokens pull, how many, the norms by sheet, and the norm of all of them.

    pulls, counts, norms, total: missing where the numbers have no such row. at: the title of the sheet on which pulls stand.
    diagnosed: whether there is a sheet of diagnostics, on which counts and the total stand; else they stand below the pulls.
    """

    pulls: slopes.Pulls | None
    at: str
    counts: tuple[Block, ...]
    norms: Mapping[str, tuple[Block, ...]]
    total: tuple[Block, ...]
    diagnosed: bool


def with_watched(blueprint: Blueprint) -> Blueprint:
    """Adds to a workbook with a gradient what one watches of it, as far as there is a row of log-probs, and weights."""
    if not any(block.name == PULLS for block in blueprint.blocks()):
        return blueprint  # of a kind that has no policy
    at, pulls = next(filter(lambda found: found[1], _found(blueprint.sheets)), ("", None))
    norms = {sheet.title: found for sheet in blueprint.sheets if (found := _norms(sheet))}
    total = (slopes.joint_norm("loss.grad.norm", [each[-1] for each in norms.values()]),) if norms else ()
    diagnosed = any(sheet.title == DIAGNOSTICS for sheet in blueprint.sheets)
    seen = Watched(pulls, at, slopes.counted(pulls.rows) if pulls else (), norms, total, diagnosed)
    given = {pulls.tiny: slopes.TINY} if pulls else {}
    return replace(
        blueprint,
        sheets=tuple(_rephrased(_extended(sheet, seen)) for sheet in blueprint.sheets),
        typed={**blueprint.typed, **given},
    )


def _found(sheets: Sequence[Sheet]) -> Iterator[tuple[str, slopes.Pulls | None]]:
    """Tells, sheet by sheet, which tokens pull: first where a sheet ends with the log-prob, then where one goes on behind it."""
    for sections in (slice(-1, None), slice(None)):
        yield from ((sheet.title, _pulls(sheet, sections)) for sheet in sheets)


def _pulls(sheet: Sheet, sections: slice) -> slopes.Pulls | None:
    """Tells which tokens pull, where a section goes back to the log-prob: its last row, which one looks at first."""
    for section in sheet.sections[sections]:
        looked_at = section.items[-1] if _goes_back(section) else None
        if isinstance(looked_at, Row) and sheet.grey is not None:
            return slopes.pulls(looked_at.block, sheet.grey)
    return None


def _goes_back(section: Section) -> bool:
    """Tells whether a section ends with the adjoint of the log-prob."""
    last = section.items[-1] if section.items else None
    return section.title == TITLE and isinstance(last, Row) and last.role == "key"


def _norms(sheet: Sheet) -> tuple[Block, ...]:
    """Returns the norm of each weight's gradient, and last that of all on the sheet, where it ends with weights."""
    last = sheet.sections[-1]
    if last.title != OF_WEIGHTS:
        return ()
    each = tuple(slopes.norm(g) for g in blocks_on(Sheet("", "", (last,))) if g.name.endswith(GRAD))
    model = each[0].name.partition(".")[0]
    return (*each, slopes.joint_norm(f"{model}{GRAD}.norm", each))


def _extended(sheet: Sheet, seen: Watched) -> Sheet:
    """Adds to one sheet what is watched on it."""
    if seen.pulls and sheet.title == seen.at:
        sheet = _with_pulls(sheet, seen, seen.pulls)
    if sheet.title in seen.norms:
        *each, joint = seen.norms[sheet.title]
        return replace(sheet, sections=(*sheet.sections, Section(NORMS, (*each, key(joint)))))
    if sheet.title == DIAGNOSTICS:
        models = (link(f"diagnostics.{each[-1].name}", each[-1]) for each in seen.norms.values())
        return replace(
            sheet, sections=(*sheet.sections, Section(WATCHED, (*seen.counts, *models, *map(key, seen.total))))
        )
    return replace(sheet, sections=tuple(_on_start(sheet.sections, seen))) if sheet.title == START else sheet


def _with_pulls(sheet: Sheet, seen: Watched, pulls: slopes.Pulls) -> Sheet:
    """Adds which tokens pull, below the adjoint of the log-prob."""
    counts: tuple[Item, ...] = () if seen.diagnosed else (*seen.counts, *map(key, seen.total))
    rows: tuple[Item, ...] = (*pulls.rows, *counts, Note(ROUNDING), Line((pulls.tiny,), "fixed"))
    longer = (replace(each, items=(*each.items, *rows)) if _goes_back(each) else each for each in sheet.sections)
    return replace(sheet, sections=tuple(longer))


def _on_start(sections: Sequence[Section], seen: Watched) -> Iterator[Section]:
    """Adds to the first sheet, after its map, how many tokens pull, and to its pieces the norm of the gradient."""
    norm = tuple(Piece("gradient norm", each, each, of=ALL) for each in seen.total)
    flags = zip(seen.counts, seen.pulls.rows if seen.pulls else (), strict=True)
    pulling = tuple(Piece(PULLING[count.symbol], count, row, of=COUNTED) for count, row in flags)
    for section in sections:
        if section.title.startswith(PIECES):
            at = next(i for i, item in enumerate(section.items) if isinstance(item, Note))
            yield replace(section, items=(*section.items[:at], *norm, *section.items[at:]))
        else:
            yield section
        if section.title == MAP and pulling:
            yield Section(SHOWN, (*pulling, *norm, Note(WHICH)), COLUMNS)


def _rephrased(sheet: Sheet) -> Sheet:
    """Says nothing that holds only without a gradient."""
    sections = (
        replace(
            section,
            items=tuple(
                replace(item, text=REPHRASED.get(item.text, item.text)) if isinstance(item, Note) else item
                for item in section.items
            ),
        )
        for section in sheet.sections
    )
    return replace(sheet, lead=REPHRASED.get(sheet.lead, sheet.lead), sections=tuple(sections))
