"""Alike: whether two layouts differ in values alone, and in which; formulas that are known are not spelled again."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import product, zip_longest
from typing import TypeVar

from blueprint.language import Block
from blueprint.page import cells, contents, formulas, waiting, watch
from blueprint.page.blanks import Place
from blueprint.page.layout import Layout
from blueprint.page.refill import Unlike, Value

T = TypeVar("T")


def refilled(layout: Layout, first: Layout) -> Layout:
    """Gives a layout the formulas of a first one where its equations are the same, and its own values. Raises Unlike."""
    _same("numbers that ended", bool(layout.values.ended or first.values.ended), False)
    _same("places", _places(layout), _places(first))
    _same("what is said of rows", _said(layout), _said(first))
    if (
        layout.values.held
        or first.values.held
        or any(one is not other for one, other in zip(layout.places, first.places, strict=True))
    ):
        watch.watch_of(layout)
        return layout
    layout.runs = [*_runs(layout, first)]
    layout.watch, layout.hangs = _watch(layout, first), first.hangs
    return layout


def changes(first: Layout, layout: Layout) -> Iterator[tuple[Place, Value]]:
    """Yields every cell that has another value than in the first layout. Raises Unlike where more than that differs."""
    waits = waiting.open_of(first)
    _same("cells that wait", waits, waiting.open_of(layout))
    one, other = watch.watch_of(first), watch.watch_of(layout)
    for before, after in _pairs((*first.labels, *one.labels), (*layout.labels, *other.labels)):
        _same("a text", (before.at, before.style), (after.at, after.style))
        if before.text != after.text:
            _same("an equation", "equation" in after.style, False)
            yield after.at, after.text
    for was, run in _pairs(cells.runs(first), cells.runs(layout)):
        yield from _changed(was, run, waits, layout.roles[run.block] == first.roles[was.block])
    for then, now in _pairs((*first.lives, *one.lives), (*layout.lives, *other.lives)):
        _same("a formula", (then.at, then.formula, then.style), (now.at, now.formula, now.style))
        if then.value != now.value and now.at not in waits:
            yield now.at, now.value
    _same("links", _links(first), _links(layout))


def _links(layout: Layout) -> list[tuple[object, ...]]:
    return [
        (link.at, link.target if isinstance(link.target, str) else link.target.name, link.text, link.style)
        for link in layout.links
    ]


def _changed(was: cells.Run, run: cells.Run, waits: frozenset[Place], same_role: bool) -> Iterator[tuple[Place, Value]]:
    if run.block is not was.block or not same_role:
        _same("a row's look", _look(was), _look(run))
    if run.formulas is not was.formulas:
        _same("formulas", was.formulas, run.formulas)
    _same(
        "cells",
        (was.sheet, was.row, was.columns, was.blank, same_role),
        (run.sheet, run.row, run.columns, run.blank, True),
    )
    for column, before, value in zip(run.columns, was.values, run.values, strict=True):
        if before != value and not (before != before and value != value) and (run.sheet, run.row, column) not in waits:
            yield (run.sheet, run.row, column), value


def _look(run: cells.Run) -> tuple[object, ...]:
    about = run.block.about
    return run.block.name, contents.kind_of(run.block), about.decimals, about.reads, run.edge


def _pairs(first: Iterable[T], other: Iterable[T]) -> Iterator[tuple[T, T]]:
    for pair in zip_longest(first, other):
        if None in pair:
            raise Unlike("one has more cells than the other")
        yield pair


def _same(what: str, one: object, other: object) -> None:
    """Raises Unlike where two things differ."""
    if one != other:
        raise Unlike(f"{what} of one is not that of the other")


def _places(layout: Layout) -> list[tuple[object, ...]]:
    """Returns what hangs on where the blocks stand."""
    return [
        (block.name, place.sheet, place.row, place.column, *map(place.steps.get, block.axes))
        for block, place in layout.places.items()
    ]


def _said(layout: Layout) -> tuple[object, ...]:
    """Returns what is neither in a cell nor a place, and would be written: notes, what may be typed, what is left out, folds."""
    known = layout.blueprint
    limits = {block.name: ends for block, ends in known.ranges.items()}
    choices = {block.name: among.name for block, among in known.choices.items()}
    asked = [(blank.title, blank.block.name, blank.cells, blank.weight, blank.asks) for blank in known.blanks]
    said = known.title, dict(known.notes), limits, choices, asked, dict(known.left_out), [*known.facts]
    return *said, layout.folds


def _runs(layout: Layout, first: Layout) -> Iterator[cells.Run]:
    """Yields the cells of a layout, spelled as those of the first one."""
    found: dict[Block, dict[Place, int]] = {}
    for run in cells.runs(first):
        if run.block not in found:
            found[run.block] = _order(run.block, first)
        order, numbers = found[run.block], layout.values.arrays[run.block].ravel()
        values = [cells.plain(numbers[order[run.sheet, run.row, column]]) for column in run.columns]
        _same("words among numbers", *([isinstance(each, str) for each in some] for some in (run.values, values)))
        yield run if run.blank else replace(run, values=values)


def _order(block: Block, layout: Layout) -> dict[Place, int]:
    """Returns which of the numbers of a block stands in a cell."""
    place = layout.places[block]
    every = product(*layout.values.spans(block))
    return {(place.sheet, *place.cell(block, places)): i for i, places in enumerate(every)}


def _watch(layout: Layout, first: Layout) -> watch.Watch:
    """Returns the watch of a layout, spelled as that of the first one, with the sums of its own numbers."""
    known = watch.watch_of(first)
    values: dict[Place, Value] = {live.at: live.value for live in layout.lives}
    for run in layout.runs or ():
        values |= {(run.sheet, run.row, column): value for column, value in zip(run.columns, run.values, strict=True)}
    sums = (watch.delivered_sum(values[live.at] for live in some) for some in known.sums)
    labels = [*formulas.fixed(layout, 0)]
    labels += [
        replace(label, text=next(sums) if label.style == "sum" else label.text) for label in known.labels[len(labels) :]
    ]
    return known._replace(labels=labels)
