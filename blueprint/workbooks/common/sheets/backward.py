"""The way back on a workbook's pages: every sheet between the loss and the weights ends with the adjoints of what it holds; Walk
goes on downhill, Loss and Diagnostics show which token pulls, and three more pictures how strongly.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace

from blueprint.language import Axis, Block, NotationError, Ref, less, link, typed, walk, where
from blueprint.language import block as new_block
from blueprint.language.gradient import Gradient
from blueprint.page.outline import (
    Blueprint,
    Chart,
    Item,
    Line,
    Listed,
    Note,
    Piece,
    Row,
    Scale,
    Section,
    Series,
    Sheet,
    Step,
    Table,
    blocks_on,
    key,
)
from blueprint.workbooks.common.definitions import gradients
from blueprint.workbooks.common.definitions.writing_rows import defined
from blueprint.workbooks.common.labels import labels
from blueprint.workbooks.common.sheets.charts import HIGH, LOW, Drawn, Within, side_by_side
from blueprint.workbooks.common.sheets.start import COLUMNS, MAP


def with_backward(blueprint: Blueprint, made: Gradient) -> Blueprint:
    """Adds the gradient of its loss to a workbook."""
    shown = with_charts(with_walk(with_watched(with_sections(blueprint, made)), made))
    return replace(shown, facts={**shown.facts, "gradients": "on"})


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
        _with_adjoints(sheet, [b for b in made.blocks if places[b] == sheet.title], made, last, beside)
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


def _with_adjoints(sheet: Sheet, blocks: list[Block], made: Gradient, last: str, beside: set[Block]) -> Sheet:
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
    rows: list[Item] = [key(block) if _is_of_logprob(block, made) else block for block in back]
    notes = map(Note, LOOK if any(_is_of_logprob(block, made) for block in back) else ())
    return Section(TITLE, (*notes, *rows))


def _repeated(block: Block, made: Gradient, there: set[Block]) -> Block | None:
    """Repeats the adjoint of what is itself repeated here, if it stands on another sheet."""
    with suppress(NotationError):  # no derivative goes through it, or it needed no row
        if block.link and made[block] not in there:
            return link(f"{block.name}{GRAD}", made[block])
    return None


def _is_of_logprob(block: Block, made: Gradient) -> bool:
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
    return key(block) if _is_of_logprob(block, made) else block


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


WALK, WRITTEN = "Walk", "rollout.written"
LOGITS = ("policy.tempered", "policy.logits")
POLICY, VALUE = "Downhill: from the share back to the log-prob", "Downhill to the value"
OTHERS = "Downhill: from the loss back"
"""Where what is picked is no token, such as a pair."""
UNPRINTED = Note("On paper the walk ends with the loss, so that it is one page; the way back is read on the screen.")
SOFTMAX = "Downhill through the soft-max: what the logits feel"


def with_walk(blueprint: Blueprint, made: Gradient) -> Blueprint:
    """Adds the way back to the sheet that derives one token."""
    rows = {block.name: block for block in blueprint.blocks()}
    sheets = {sheet.title: sheet for sheet in blueprint.sheets}
    if WALK not in sheets:
        return blueprint
    *sections, last = sheets[WALK].sections
    shown = {item.block for item in sheets[WALK].items() if isinstance(item, Step)}
    first, *others = (replace(each, printed=False) for each in _sections(blueprint, made, rows, shown))
    back = replace(first, items=(UNPRINTED, *first.items)), *others
    sheets[WALK] = replace(sheets[WALK], sections=(*sections, *back, last))
    return replace(blueprint, sheets=tuple(sheets.values()))


def _sections(
    blueprint: Blueprint, made: Gradient, rows: Mapping[str, Block], shown: Collection[Block]
) -> Iterator[Section]:
    """Outlines the way back of the chosen token, as far as it has rows of its own; of what is no token, that of the rows shown."""
    across = blueprint.chosen.across if blueprint.chosen else ()
    own = [block for block in made.blocks if block.axes == across]
    known = (made[rows[name]] for name in LOGITS if name in rows and rows[name] in made.found)
    logits = next((each for each in known if each.axes[: len(across)] == across), None)
    of_logits = [each for each in own if logits is not None and each in reads(logits) and made.home[each].name != PULLS]
    of_policy = _behind(made[rows[PULLS]], {*made.blocks}) if PULLS in rows else set()
    if PULLS in rows and rows[PULLS].axes != across:
        yield Section(OTHERS, tuple(Step(each) for each in own if made.home[each] in shown))
        return
    yield Section(POLICY, tuple(Step(each) for each in own if each in of_policy))
    if logits is not None and WRITTEN in rows and {*rows[WRITTEN].axes} <= {*across}:
        chosen = Step(logits, member=rows[WRITTEN]), Step(logits, member=0)
        yield Section(SOFTMAX, (*map(Step, of_logits), *chosen, Listed(logits)))
    of_value = [each for each in own if each not in {*of_policy, *of_logits}]
    if of_value:
        yield Section(VALUE, tuple(map(Step, of_value)))


def _behind(block: Block, among: set[Block]) -> set[Block]:
    """Returns a block, and those among others from which it follows."""
    return {block}.union(*(_behind(each, among) for each in reads(block) & among))


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
    "what one watches while training; none of it enters the loss (no gradient norm: the update is typed)":
        "what one watches while training; none of it enters the loss",
    "Δ is typed and stands for a gradient step; no gradient is computed in this workbook.":
        "Δ is typed and stands for a gradient step; it does not change with the gradient below.",
}  # fmt: skip
"""Sentences that hold only without a gradient, and what is said instead."""


def with_watched(blueprint: Blueprint) -> Blueprint:
    """Adds to a workbook with a gradient what one watches of it, as far as there is a row of log-probs, and weights.

    Counts and the norm of all stand on the sheet of diagnostics, where there is one; else below the marks of which tokens pull.
    """
    if not any(block.name == PULLS for block in blueprint.blocks()):
        return blueprint  # of a kind that has no policy
    sheets = {sheet.title: sheet for sheet in blueprint.sheets}
    at, pulls = _pulls(blueprint.sheets)
    norms = {title: found for title, sheet in sheets.items() if (found := _norms(sheet))}
    total = (gradients.joint_norm("loss.grad.norm", [each[-1] for each in norms.values()]),) if norms else ()
    counts = gradients.counted(pulls.rows) if pulls else ()
    if pulls:
        seen: tuple[Item, ...] = () if DIAGNOSTICS in sheets else (*counts, *map(key, total))
        rows: tuple[Item, ...] = (*pulls.rows, *seen, Note(ROUNDING), Line((pulls.tiny,), "fixed"))
        longer = (replace(e, items=(*e.items, *rows)) if _goes_back(e) else e for e in sheets[at].sections)
        sheets[at] = replace(sheets[at], sections=tuple(longer))
    added = {title: Section(NORMS, (*each, key(joint))) for title, (*each, joint) in norms.items()}
    if DIAGNOSTICS in sheets:
        models = (link(f"diagnostics.{each[-1].name}", each[-1]) for each in norms.values())
        added[DIAGNOSTICS] = Section(WATCHED, (*counts, *models, *map(key, total)))
    for title, section in added.items():
        sheets[title] = replace(sheets[title], sections=(*sheets[title].sections, section))
    if START in sheets:
        told = _on_start(sheets[START].sections, counts, pulls.rows if pulls else (), total)
        sheets[START] = replace(sheets[START], sections=tuple(told))
    given = {pulls.tiny: gradients.TINY} if pulls else {}
    return replace(blueprint, sheets=tuple(map(_rephrased, sheets.values())), typed={**blueprint.typed, **given})


def _pulls(sheets: Sequence[Sheet]) -> tuple[str, gradients.Pulls | None]:
    """Tells which tokens pull, and on which sheet: first where one ends with the log-prob, then where one goes on behind it."""
    ends = [(sheet, each) for sheet in sheets if sheet.grey is not None for each in sheet.sections if _goes_back(each)]
    for sheet, section in sorted(ends, key=lambda found: found[1] is not found[0].sections[-1]):
        looked_at = section.items[-1]
        if isinstance(looked_at, Row) and sheet.grey is not None:
            return sheet.title, gradients.pulls(looked_at.block, sheet.grey)
    return "", None


def _goes_back(section: Section) -> bool:
    """Tells whether a section ends with the adjoint of the log-prob."""
    last = section.items[-1] if section.items else None
    return section.title == TITLE and isinstance(last, Row) and last.role == "key"


def _norms(sheet: Sheet) -> tuple[Block, ...]:
    """Returns the norm of each weight's gradient, and last that of all on the sheet, where it ends with weights."""
    last = sheet.sections[-1]
    if last.title != OF_WEIGHTS:
        return ()
    each = tuple(gradients.norm(g) for g in blocks_on(Sheet("", "", (last,))) if g.name.endswith(GRAD))
    model = each[0].name.partition(".")[0]
    return (*each, gradients.joint_norm(f"{model}{GRAD}.norm", each))


def _on_start(
    sections: Sequence[Section], counts: Sequence[Block], flags: Sequence[Block], total: Sequence[Block]
) -> Iterator[Section]:
    """Adds to the first sheet, after its map, how many tokens pull, and to its pieces the norm of the gradient."""
    norm = tuple(Piece("gradient norm", each, each, of=ALL) for each in total)
    marked = zip(counts, flags, strict=True)
    pulling = tuple(Piece(PULLING[count.symbol], count, row, of=COUNTED) for count, row in marked)
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

    def said(item: Item) -> Item:
        return replace(item, text=REPHRASED.get(item.text, item.text)) if isinstance(item, Note) else item

    sections = (replace(section, items=tuple(map(said, section.items))) for section in sheet.sections)
    return replace(sheet, lead=REPHRASED.get(sheet.lead, sheet.lead), sections=tuple(sections))


CHARTS = "Charts"
BENDS = {"good": ("Â+", (0, 3, 3, 4), (1, 1, 0, 0)), "bad": ("Â−", (0, 1, 1, 4), (0, 0, -1, -1))}
"""Of each curve: its symbol, at which corners of the clip's picture it bends, and what it multiplies the ratio by there."""
NEEDED = ("curve.ratio", "dot.ratio", "dot.size", "ratio", "ratio.grad", "surrogate.grad", "loss.grad.tiny")
BARS = ("policy.logprobs.grad", "bar.word")
FINE = "[<=-0.0005]-0.000;[>=0.0005]0.000;"
"""Three decimals, and nothing for what rounds to 0: there is no bar to be seen, and no number."""


def with_charts(blueprint: Blueprint) -> Blueprint:
    """Adds the pictures to the gallery, as far as there is what they show."""
    rows = {each.name: each for each in blueprint.blocks()}
    norms = [each for name, each in rows.items() if name.endswith(".grad.norm") and not (each.link or "loss." in name)]
    found = {
        1: _pull_picture(rows) if rows.keys() >= {*NEEDED} else None,
        3: _token_picture(rows) if rows.keys() >= {*BARS} else None,
        8: _norm_picture(norms) if norms else None,
    }
    drawn = {at: each for at, each in found.items() if each is not None}
    sheets = (_with_pictures(sheet, drawn) if sheet.title == CHARTS else sheet for sheet in blueprint.sheets)
    given = {cell: value for each in drawn.values() for cell, value in each.typed.items()}
    return replace(blueprint, sheets=tuple(sheets), typed={**blueprint.typed, **given})


def _with_pictures(sheet: Sheet, drawn: Mapping[int, Drawn]) -> Sheet:
    gallery, *others = sheet.sections
    pictures = [*gallery.items]
    for at, each in drawn.items():
        pictures.insert(at, each.chart)
    below = (replace(each.rows, items=(Note(each.chart.tells), *each.rows.items)) for each in drawn.values())
    return replace(
        sheet, sections=(replace(gallery, items=tuple(pictures)), *others, *(each for each in below if each.items[1:]))
    )


def _pull_picture(rows: Mapping[str, Block]) -> Drawn:
    """Draws the slope of the clip's picture times the ratio: what a token's log-prob feels, per unit of advantage."""
    curves = {way: _curve(way, rows["curve.ratio"]) for way in BENDS}
    g, rho, U, size = (rows[name] for name in ("ratio.grad", "ratio", "surrogate.grad", "dot.size"))
    at = rho.axes
    pull = new_block("dot.grad.pull", at, "dot_pull", "how high: its pull / |Â|")
    defined(pull, where(less(rows["loss.grad.tiny"], abs(U[at]) * size[at]), g[at] * rho[at] / U[at] / size[at], 0))
    chart = Chart(
        "Clip: pull of each token, per unit of advantage", "scatter",
        (*(Series(f"advantage {sign}1", curves[way][-1], curves[way][-2]) for way, sign in (("good", "+"), ("bad", "−"))),
         Series("tokens of this batch", pull, rows["dot.ratio"], dots=True, words=rows.get("word_written"))),
        Scale("ratio ρ", LOW, HIGH), Scale("pull on log π / |advantage|"),
        "The slope of the picture beside it, times ρ: where that is flat the pull is 0, and a step leaves the token alone.",
    )  # fmt: skip
    lines = tuple(Line((row,)) for way in curves.values() for row in way)
    given: dict[Block, object] = {
        curves[way][i]: values for way, (_, *both) in BENDS.items() for i, values in enumerate(both)
    }
    return Drawn(chart, Section("The pull: curves and dots", (*lines, pull)), given)


def _curve(way: str, ratio: Block) -> tuple[Block, Block, Block, Block]:
    """Makes a curve through four bends: which corners they are, by what the ratio is multiplied, where, and how high."""
    bend, symbol = Axis("c", "bend", start=1, size=4), BENDS[way][0]
    corner = typed(f"curve.grad.{way}.corner", (bend,), f"at_{symbol}", "corners at which it bends", decimals=0)
    times = typed(f"curve.grad.{way}.times", (bend,), f"on_{symbol}", "by what the ratio is multiplied", decimals=0)
    where_, high = (
        new_block(f"curve.grad.{way}.{name}", (bend,), f"{sign}_{symbol}", meaning)
        for name, sign, meaning in (("ratio", "ρ", "ratio at the bend"), ("pull", "pull", "pull at the bend"))
    )
    defined(where_, ratio[corner[bend]])
    return corner, times, where_, defined(high, times[bend] * where_[bend])


def _token_picture(rows: Mapping[str, Block]) -> Drawn:
    """Draws the slope of the loss by the log-prob of each token."""
    (pull, words), within = (rows[name] for name in BARS), Within.of(rows)
    chart = Chart(
        "Gradient of every token: below 0 it is made likelier", "bars", (Series("∂L/∂log π", pull, words),),
        Scale("tokens of the responses, episode after episode"), Scale("∂L/∂log π"),
        "Below 0 a step makes the token likelier, above 0 less likely; without a bar the clip holds it, or its advantage is 0.",
        FINE, among=within.among, given=within.given,
    )  # fmt: skip
    return Drawn(chart, Section("", ()), {})


def _norm_picture(norms: list[Block]) -> Drawn:
    """Draws how long the gradient of each weight is."""
    told = ("norms.grad.names", "gradient", "of what it is the gradient")
    names, values = side_by_side(("w", "gradient"), told, ("norms.grad.bars", "norm", "how long it is"), norms)
    chart = Chart(
        "How long the gradient of each weight is", "bars", (Series("norm", values, names),),
        Scale("weight, and all of a model"), Scale("norm of the gradient", 0),
        "Of the policy and of the critic, weight by weight, and all together: what clipping by the norm would scale down.",
        FINE,
    )  # fmt: skip
    section = Section("Norms of the gradients", (Table(names, role="fixed"), Table(values, role="plain")))
    return Drawn(chart, section, {names: [_called(norm) for norm in norms]})


def _called(norm: Block) -> str:
    """Returns what stands below a bar: the model and the weight, or the model alone."""
    model, *weight = norm.name.removesuffix(".grad.norm").split(".")
    return f"{model} {weight[-1]}" if weight else model
