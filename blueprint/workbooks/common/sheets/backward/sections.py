"""The sections on the sheets: adjoints below what they belong to, in the order in which one goes back."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from blueprint.language import Axis, Block, NotationError, Ref, link, walk
from blueprint.language.gradient import Gradient
from blueprint.page.outline import Blueprint, Item, Note, Row, Section, Sheet, Table, blocks_on, key
from blueprint.workbooks.common.labels import labels

TITLE = "Backward: what one more of each would add to the loss"
HOT, GRAD = ".is", ".grad"
TITLES = {
    ".written.grad.is": "Backward: which token was written",
    ".read.grad.is": "Backward: which token was read",
    ".logits.grad": "Backward through the soft-max: what each logit feels",
    ".tempered.grad": "Backward through the soft-max: what each logit feels",
    ".memory.grad": "Backward through time: what the memory feels",
}
"""What a section is called that begins with a row, by the end of the row's name."""
OF_WEIGHTS = "Backward to the weights: the gradient of each, laid out like the weight"
PULLS = "policy.logprobs"
"""The quantity whose adjoint one looks at first."""
LOOK = (
    "From the top: from the total back to the log-prob. Look first at the last row: below 0 a step makes the token likelier,",
    "above 0 less likely; at 0 the clipped surrogate does not pull, though entropy and KL still may.",
    "Advantages, returns, log π_old and V_old are constants: no gradient flows there. Grey columns count as well: the memory",
    "carries the gradient back into the prompt.",
)


def with_sections(blueprint: Blueprint, made: Gradient) -> Blueprint:
    """Adds the adjoints to each sheet on which what they belong to stands."""
    for block in made.blocks:
        if block.name in labels("backward"):
            block.about = replace(block.about, meaning=labels("backward").of(block.name).meaning)
    places = _places(blueprint.sheets, made)
    last = _home(blueprint.sheets)[made.home.get(made.total, made.total)]
    # On the sheet of the total nothing stands beside a row: what would, stands with its quantity.
    beside = {table for row, table in made.beside.items() if places[row] != last}
    sheets = (
        _extended(sheet, [b for b in made.blocks if places[b] == sheet.title], made, last, beside)
        for sheet in blueprint.sheets
    )
    return replace(blueprint, sheets=tuple(sheets))


def _home(sheets: Sequence[Sheet]) -> dict[Block, str]:
    return {block: sheet.title for sheet in sheets for block in blocks_on(sheet)}


def _places(sheets: Sequence[Sheet], made: Gradient) -> dict[Block, str]:
    """Says on which sheet each row stands: with its quantity; one-hot rows where they are read first."""
    home, order = _home(sheets), [sheet.title for sheet in sheets]
    places = {block: home[made.home[block]] for block in made.blocks}
    for hot in (block for block in made.blocks if block.name.endswith(HOT)):
        first = min((places[each] for each in made.blocks if hot in reads(each)), key=order.index)
        places |= {hot: first, made.beside[hot]: first}
    return places


def reads(block: Block) -> set[Block]:
    """Returns the blocks that a block's equations read."""
    return {node.block for each in block.definitions for node in walk(each.expr) if isinstance(node, Ref)}


def _extended(sheet: Sheet, blocks: list[Block], made: Gradient, last: str, beside: set[Block]) -> Sheet:
    """Adds the sections to one sheet. last: the sheet of the total, on which the others are repeated. beside: what stands beside
    a row."""
    if sheet.title == last and (section := _of_loss(sheet, blocks, made)).items:
        return replace(sheet, sections=(*sheet.sections, section))
    return replace(sheet, sections=(*sheet.sections, *_grouped(sheet, blocks, made, beside))) if blocks else sheet


def _of_loss(sheet: Sheet, blocks: list[Block], made: Gradient) -> Section:
    """Outlines the way from the total to the log-prob: the sheet once more, from its end to its beginning."""
    there: dict[Block, list[Block]] = {}
    for block in blocks:
        there.setdefault(made.home[block], []).append(block)
    for each in blocks_on(sheet):
        if (again := _repeated(each, made, {*blocks})) is not None:
            there.setdefault(each, []).append(again)
    back = [row for each in reversed(blocks_on(sheet)) for row in there.get(each, ())]
    rows: list[Item] = [key(block) if _pulls(block, made) else block for block in back]
    notes = map(Note, LOOK if any(_pulls(block, made) for block in back) else ())
    return Section(TITLE, (*notes, *rows))


def _repeated(block: Block, made: Gradient, there: set[Block]) -> Block | None:
    """Repeats the adjoint of what is itself repeated here, if it stands on another sheet."""
    try:
        adjoint = made[block] if block.link else None
    except NotationError:
        return None
    return None if adjoint is None or adjoint in there else link(f"{block.name}{GRAD}", adjoint)


def _pulls(block: Block, made: Gradient) -> bool:
    """Tells whether a row is the adjoint of the log-prob, or repeats it."""
    (adjoint,) = reads(block) if block.link else (block,)
    return made.home[adjoint].name == PULLS


def _grouped(sheet: Sheet, blocks: list[Block], made: Gradient, tables: set[Block]) -> Iterator[Section]:
    """Outlines the rows of one sheet: those along the tokens, a section for each that has a table beside it; then the weights."""
    passed = set[Block]().union(*map(reads, made.blocks))  # on the way to others, be they a number for the whole batch
    weights = [b for b in blocks if not (b in tables or b in passed or set(b.axes) & set(sheet.across))]
    rows = _in_order([block for block in blocks if block not in {*weights, *tables}])
    title, items = TITLE, list[Item]()
    for block in rows:
        begins = next((text for end, text in TITLES.items() if block.name.endswith(end)), None)
        if begins or (
            block in made.beside and any(isinstance(item, Row) and item.beside is not None for item in items)
        ):
            yield from [Section(title, tuple(items))] if items else []
            title, items = begins or f"Backward: {block.symbol}", []
        items.append(_row(block, made, sheet))
    yield from [Section(title, tuple(items))] if items else []
    if weights:
        yield Section(OF_WEIGHTS, tuple(_table(block, made.home[block], sheet) for block in weights))


def _in_order(rows: list[Block]) -> list[Block]:
    """Puts rows of 1 and 0 right above the first that reads them; those that only weights read come last."""
    others = [row for row in rows if not row.name.endswith(HOT)]
    place = {row: at for at, row in enumerate(others)}
    first = {
        hot: next((at for at, row in enumerate(others) if hot in reads(row)), len(others))
        for hot in rows
        if hot.name.endswith(HOT)
    }
    return sorted(rows, key=lambda row: first[row] - 0.5 if row in first else place[row])


def _row(block: Block, made: Gradient, sheet: Sheet) -> Item:
    if block in made.beside:
        return Row(block, beside=made.beside[block])
    if made.home[block].axes == block.axes and _across(made.home[block], sheet, None):
        return _table(block, made.home[block], sheet)
    return key(block) if _pulls(block, made) else block


def _table(block: Block, weight: Block, sheet: Sheet) -> Item:
    """Lays a gradient out like the weight that it is of."""
    if not block.axes:
        return block
    second = weight.axes[1] if len(weight.axes) > 1 else None
    return Table(block, _across(weight, sheet, second), "plain")


def _across(weight: Block, sheet: Sheet, otherwise: Axis | None) -> Axis | None:
    """Returns the axis of a table that runs to the right on its sheet."""
    laid = (item.across for item in sheet.items() if isinstance(item, Table) and item.block is weight)
    return next(laid, otherwise)
