"""Several steps of an optimiser on one batch, of any kind of workbook that has weights and a total loss: what is typed of them, the
sheet of a step, all steps side by side, and the sheets that stand once more for each.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple

from pydantic import WithJsonSchema, WrapValidator

from blueprint.inputs import Draft, Numbers, Part, refusal, shown
from blueprint.inputs.catalogue import OFF, data_in
from blueprint.inputs.entries import Number, Whole, between
from blueprint.language import Axis, Block, again, block, link, rounded, typed
from blueprint.language.gradient import Gradient
from blueprint.page.outline import (
    AGAIN,
    READ,
    Blueprint,
    Chart,
    Item,
    Line,
    Row,
    Scale,
    Section,
    Series,
    Sheet,
    Table,
    blocks_on,
)
from blueprint.page.outline.book import sheet_again
from blueprint.workbooks.common.definitions.optimiser import START, Group, Slope, Stepped, of_step, rates, step
from blueprint.workbooks.common.sheets.backward import with_backward

TYPED = "typed"
"""Word of an update that no optimiser makes: where a Δ can be typed it is, elsewhere there is none."""
MOST_EPOCHS = 8
"""A step has sheets of its own: with more of them, nobody finds anything."""
ABOUT = "how the new weights come about"
NO_STEPS = "nothing, since no optimiser takes steps"
NORM_EPS = "optimiser.norm_eps"
DECIMALS = "handed.decimals"
"""The block in which stands to how many decimals weights are rounded that another workbook begins with."""
MOST_DECIMALS = 6
LIMITS: Mapping[str, tuple[float, float, float, str]] = {
    "lr": (0, 1e6, 0.02, "learning rate"),
    "beta1": (0, 0.9999999, 0.9, "how much of the mean gradient Adam keeps"),
    "beta2": (0, 0.9999999, 0.999, "how much of the mean squared gradient Adam keeps"),
    "eps": (1e-12, 1e6, 1e-8, "keeps Adam from dividing by 0"),
    "weight_decay": (0, 1e6, 0.0, "apart from the gradient with adamw, else part of it"),
    "max_norm": (1e-12, 1e6, 1.0, "the largest norm of the whole gradient, or off"),
}
"""The least, the most, the default, and what it is."""
RANGES = {f"optimiser.{name}": limits[:2] for name, limits in LIMITS.items()} | {DECIMALS: (0, MOST_DECIMALS)}
"""What may be typed in a sheet."""
RATES = (*(name for name in RANGES if name != DECIMALS), NORM_EPS)
"""The blocks in which rates are typed."""
_LIMIT = Annotated[
    Number,
    between(*LIMITS["max_norm"][:2], '"off", or a number'),
    WrapValidator(lambda value, check: value if value == "off" else check(value)),
    WithJsonSchema({"anyOf": [{"type": "number"}, {"const": "off", "type": "string"}]}),
]


@dataclass(frozen=True)
class Update:
    """Hold how the new weights come about.

    Attributes:
        by: typed, where no optimiser makes them; sgd, adam or adamw, where they are steps along the gradient.
        epochs: how often the batch is gone through.
        rates: the numbers of the optimiser, by the names under which they stand in a file.
        decimals: to how many the last weights are rounded for the workbook that begins with them; None: for none.
    """

    by: str = TYPED
    epochs: int = 1
    rates: Mapping[str, float] = field(default_factory=dict)
    decimals: int | None = field(default=None, kw_only=True)

    @property
    def facts(self) -> dict[str, str]:
        """What a file says of it among its properties."""
        return {"update": self.by, "epochs": str(self.epochs)}


def rate(name: str) -> Part:
    """Describe the number of an optimiser."""
    low, high, default, about = LIMITS[name]
    entry: Any = _LIMIT if name == "max_norm" else Annotated[Number, between(low, high)]
    return Part(f"update.{name}", entry, (), about, default, default)


def parts(typed: str, passes: str) -> tuple[Part, Part]:
    """Describe by what weights move, and how often. typed: what "typed" means; passes: what an epoch is."""
    by, count = Literal["typed", "sgd", "adam", "adamw"], Annotated[Whole, between(1, MOST_EPOCHS, "a whole number")]
    return Part("update.by", by, (), typed, TYPED, "adamw"), Part("update.epochs", count, (), passes, 1, 4)


PARTS = (
    *parts("typed: the weights stay as they are", "steps, each on the whole batch"),
    *map(rate, LIMITS),
    Part("update.decimals", Annotated[Whole, between(0, MOST_DECIMALS, "a whole number")], (),
         "to how many decimals the last weights are rounded for the next stage", None, 2, "none are handed over"),
)  # fmt: skip
"""The keys of a kind that takes steps on whole batches."""


def update_of(draft: Draft) -> Update:
    """Return how the weights move, by the keys of `PARTS`.

    Raises:
        NumbersError: for numbers of steps where none is taken.
    """
    by = draft.parts["update.by"]
    if by == TYPED:
        refuse_typed(draft, PARTS[1:])
        return Update()
    return Update(by, draft.parts["update.epochs"], rates_of(draft), decimals=draft.parts.get("update.decimals"))


def rates_of(draft: Draft) -> dict[str, float]:
    """Return the numbers of an optimiser by the blocks in which they are typed; torch adds 1e-6 to the norm."""
    return {f"optimiser.{name}": number_of(draft.parts[f"update.{name}"]) for name in LIMITS} | {NORM_EPS: 1e-6}


def refuse_typed(
    draft: Draft, unread: Iterable[Part], expected: str = NO_STEPS, own: Mapping[str, str] | None = None
) -> None:
    """Refuse keys that say something where no optimiser takes steps. expected: instead of them; own: by key, else.

    Raises:
        NumbersError: for the first of them.
    """
    for part in unread:
        found = draft.parts.get(part.key, part.default)
        if found != part.default:
            instead = (own or {}).get(part.key, expected)
            raise refusal(part.key, shown(found), f'{instead}; or write update.by = "adamw"')


def number_of(value: float | str) -> float:
    """Return a number of an optimiser; a limit that is off has one, too."""
    return OFF if value == "off" else float(value)


def update_in(file: Any, names: Iterable[str] = RATES) -> Update:
    """Return how the weights moved in a saved file, with the rates that are typed in it. names: of the blocks of rates."""
    said = file.file.noted
    if "update" not in said:
        return Update()
    decimals = int(file.array(DECIMALS, 0)) if DECIMALS in file else None
    rates = {name: float(file.array(name, 0)) for name in names if name in file}
    return Update(said["update"], int(said["epochs"]), rates, decimals=decimals)


def values_of(update: Update) -> dict[str, object]:
    """Return what a numbers file says where an optimiser takes steps; nothing where none does."""
    if update.by == TYPED:
        return {}
    rates = {f"update.{name.partition('.')[2]}": each for name, each in update.rates.items() if name != NORM_EPS}
    handed = {} if update.decimals is None else {"update.decimals": update.decimals}
    return {"update.by": update.by, "update.epochs": update.epochs, **rates, **handed}


UPDATE = "update"
"""Part of numbers that no file has: how the weights move (`Update`), which a file says under several keys."""


def with_update(draft: Draft, parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return parts with how the weights move in place of the keys that say so.

    Raises:
        NumbersError: for numbers of steps where none is taken.
    """
    kept = {key: value for key, value in parts.items() if not key.startswith("update.")}
    return {**kept, UPDATE: update_of(draft)}


def saved_update(file: Any, parts: Mapping[str, Any]) -> dict[str, Any]:
    """Return how the weights moved in a saved file, as a part of its numbers."""
    return {UPDATE: update_in(file)}


def stated(numbers: Numbers) -> dict[str, Any]:
    """Return what a numbers file says, how the weights move among it."""
    return {key: each for key, each in numbers.parts.items() if key != UPDATE} | values_of(numbers[UPDATE])


@dataclass(frozen=True)
class Epoch:
    """A pass, or a minibatch of it: its blocks by the names that they have in the first one, its sheets, and its step.

    number: 2, or with minibatches 2.1.
    """

    number: str
    rows: Mapping[str, Block]
    sheets: tuple[Sheet, ...]
    stepped: Stepped


def mark(made: Block, number: str) -> None:
    """Says in the symbol of a block of which step it is: L⁽²⁾."""
    made.about = replace(made.about, symbol=of_step(made.symbol, number))


def update_sheet(epoch: Epoch, rates: list[Block]) -> Sheet:
    """Outlines a step: the norm of the gradient and its limit, then weight by weight from the gradient to the new weight.

    rates: what is typed of the optimiser, on the first of these sheets.
    """
    stepped = epoch.stepped
    of = {name: [each for each in stepped.rows if _belongs(each, name)] for name in stepped.new}
    laid = {each for rows in of.values() for each in rows}
    singles = [each for each in stepped.rows if each not in laid]
    sections = [Section("The gradient's norm, and what is left of it", tuple(singles))]
    if rates:
        kind, *others = (Line((each,)) for each in rates)
        sections.insert(0, Section("The optimiser (typed)", (replace(kind, role="fixed"), *others)))
    sections += [Section(_titled(name), tuple(map(_laid, rows))) for name, rows in of.items()]
    title = "Update" if rates else f"Update {epoch.number}"
    lead = f"epoch {epoch.number}: from the gradient to the new weights"
    return Sheet(title, lead, tuple(sections), tab=READ if rates else AGAIN)


def _titled(weight: str) -> str:
    model, _, part = weight.partition(".")
    return f"{model.replace('_', ' ').capitalize()}: {part.removeprefix('head.')}, from its gradient to what it is after the step"


def _belongs(row: Block, weight: str) -> bool:
    """Tells whether a row is on the way from the gradient of a weight to the new weight."""
    return row.name.endswith(f".{weight}") and ".square." not in row.name


def _laid(table: Block) -> Item:
    return Table(table, table.axes[1] if len(table.axes) > 1 else None, "plain") if table.axes else Line((table,))


Rows = Mapping[str, Block]
NUMBERS = {
    "number": ("step", "number of the step"),
    "epoch": ("epoch", "pass over the rollout"),
    "minibatch": ("minibatch", "minibatch of the pass"),
}
"""Symbol and meaning of what says which step it is."""
NORM = "Norm of the gradient"
NORM_TELLS = "Before it is held: what g_max cuts off stands on Update."


class Drawn(NamedTuple):
    """A picture: the row of each line by what the line is called; what is shown upwards; what is to be seen."""

    lines: Mapping[str, str]
    up: str
    tells: str


class Beside(NamedTuple):
    """What the sheet shows: its lead, rows by their names under the title of each section, and pictures by their titles.

    The norm of the gradient comes last of both. numbered: which of `NUMBERS` it says; without minibatches the first will do.
    """

    lead: str
    sections: Mapping[str, Sequence[str]]
    pictures: Mapping[str, Drawn]
    numbered: Sequence[str] = ("number",)


def beside_in(folder: Path) -> Beside:
    """Reads what the sheet shows from `steps.toml` of a folder."""
    found = data_in(folder / "steps.toml")
    return Beside(**{**found, "pictures": {title: Drawn(**each) for title, each in found["pictures"].items()}})


class _Steps(NamedTuple):
    """The steps as an axis of columns, each of which has an equation of its own."""

    axis: Axis
    parts: tuple[Axis, ...]

    def row(self, name: str, of: Sequence[Block]) -> Block:
        """Repeats a number of each step in a row; what it says of itself, the first of them says."""
        made = Block(f"epochs.{name}", (self.axis,), replace(of[0].about, symbol=of_step(of[0].symbol)), link=True)
        for part, value in zip(self.parts, of, strict=True):
            made[part] = value
        return made


def side_by_side(
    epochs: Sequence[Epoch], shows: Beside, more: Sequence[Rows] = ()
) -> tuple[Sheet, dict[Block, object]]:
    """Outlines the sheet; returns what is typed on it, too. more: what each step has besides the rows of its sheets."""
    parts = tuple(Axis(epoch.number, "step", start=at, size=1) for at, epoch in enumerate(epochs, start=1))
    e = Axis("e", "step", start=1, parts=parts) if len(parts) > 1 else parts[0]
    steps = _Steps(e, parts)
    rows = [{**epoch.rows, **own} for epoch, own in zip(epochs, more or [{}] * len(epochs), strict=True)]
    shown = {
        name: steps.row(name, [each[name] for each in rows]) for names in shows.sections.values() for name in names
    }
    every = {name: typed(f"epochs.{_last(name)}", (e,), *NUMBERS[name], decimals=0) for name in shows.numbered}
    norms = [
        steps.row(norm.name[norm.name.index("norm") :], [epoch.stepped.norms[at] for epoch in epochs])
        for at, norm in enumerate(epochs[0].stepped.norms)
    ]
    numbers = dict(zip(NUMBERS, _numbered(epochs), strict=True))
    sections = (
        Section("Which step it is", tuple(Row(each, "fixed") for each in every.values())),
        *(Section(title, tuple(shown[name] for name in names)) for title, names in shows.sections.items()),
        Section("The gradient", tuple(norms)),
        Section("The pictures", _pictures(every["number"], shown, norms, shows.pictures), numbered=False),
    )
    return Sheet("Epochs", shows.lead, sections, across=(e,)), {row: numbers[name] for name, row in every.items()}


def _last(name: str) -> str:
    return name if name == "number" else f"number.{name}"


def _numbered(epochs: Sequence[Epoch]) -> tuple[list[int], ...]:
    """Returns the number of each step, that of its epoch, and that of its minibatch."""
    pairs = [epoch.number.partition(".") for epoch in epochs]
    return [*range(1, len(epochs) + 1)], [int(of) for of, _, _ in pairs], [int(of or 1) for _, _, of in pairs]


def _pictures(x: Block, shown: Rows, norms: list[Block], pictures: Mapping[str, Drawn]) -> tuple[Chart, ...]:
    last = max(2, len(x.axes[0].parts))
    drawn = {
        title: ({called: shown[name] for called, name in lines.items()}, up, tells)
        for title, (lines, up, tells) in pictures.items()
    } | {NORM: ({norm.symbol: norm for norm in norms}, "|g|", NORM_TELLS)}
    return tuple(
        Chart(
            title,
            "scatter",
            tuple(Series(name, row, x) for name, row in lines.items()),
            Scale("step", 1, last, 1),
            Scale(up),
            tells,
        )
        for title, (lines, up, tells) in drawn.items()
    )


BY = "optimiser.by"
Shown = tuple[Sequence[Sheet], Mapping[Block, object]]
"""Sheets, and what is typed on them."""


def one_group(rows: Rows, weights: Sequence[str]) -> tuple[Group, ...]:
    """Lets all weights share a rate and a norm."""
    return (Group("", weights, rates()),)


@dataclass(frozen=True)
class Repeated:
    """What the steps of a kind are.

    weights: the names of what the optimiser moves. again: the titles of the sheets that hang on them, in their order; the
    steps stand behind the last. backward: differentiates the loss by the weights, from the rows by name. beside: the sheets
    that set all steps side by side (`side_by_side`), from the steps and the last sheet of the first. marked: rows that stand
    side by side, and therefore say in their symbols of which step they are. groups: which weights share a rate. ranges: what
    may be typed for each number of the optimiser.
    """

    weights: Sequence[str]
    again: Sequence[str]
    backward: Callable[[Rows], Gradient]
    beside: Callable[[Sequence[Epoch], Sheet], Shown]
    marked: frozenset[str] = frozenset()
    groups: Callable[[Rows, Sequence[str]], tuple[Group, ...]] = one_group
    ranges: Mapping[str, tuple[float, float]] = field(default_factory=lambda: RANGES)


def repeated(
    weights: Sequence[str], again: Sequence[str], backward: Callable[[Rows], Gradient], shown: Beside
) -> Repeated:
    """Returns the steps of a kind that one sheet sets side by side, with the rows that `shown` names."""

    def beside(epochs: Sequence[Epoch], _: Sheet) -> Shown:
        sheet, given = side_by_side(epochs, shown)
        return [sheet], given

    names = (name for section in shown.sections.values() for name in section)
    return Repeated(weights, again, backward, beside, frozenset(names))


def with_epochs(
    outline: Blueprint, update: Update, of: Repeated, seen: Mapping[str, Mapping[str, Block]] | None = None
) -> Blueprint:
    """Adds the gradient, the optimiser's step and more epochs to a workbook, unless its weights are typed.

    seen: by the number of each step (2.1), which blocks stand there for those of the first of these names: what a minibatch
    sees. Without it, each step sees the whole batch, and their numbers are 1, 2, ….
    """
    if update.by == TYPED:
        return outline
    rows = {each.name: each for each in outline.blocks()}
    made = of.backward(rows)
    first = with_backward(outline, made)
    groups = of.groups(rows, of.weights)
    repeated = [sheet for sheet in first.sheets if sheet.title in of.again]
    blocks = [each for sheet in repeated for each in blocks_on(sheet)]
    named = {each.name: each for each in blocks}
    epochs: list[Epoch] = []
    state, weights = START, {name: rows[name] for name in of.weights}
    for number in seen or [str(epoch) for epoch in range(1, update.epochs + 1)]:
        called = f"epoch{number}.{{}}".format
        instead = {rows[n]: link(called(n), weights[n]) for n in of.weights}
        instead |= {rows[name]: each for name, each in (seen or {}).get(number, {}).items()}
        copies = again(blocks, instead, called) if epochs else {}
        here = {name: copies.get(each, each) for name, each in named.items()}
        for name in of.marked & here.keys() if copies else ():
            mark(here[name], number)
        slopes = {name: Slope(weights[name], copies.get(made[rows[name]], made[rows[name]])) for name in of.weights}
        stepped = step(update.by, slopes, groups, state, f"update{number}")
        sheets = tuple(_again(sheet, copies, number) for sheet in repeated) if copies else ()
        epochs.append(Epoch(number, here, sheets, stepped))
        state, weights = stepped.state, dict(stepped.new)
    return (
        _joined(first, epochs, update, groups, of)
        if update.decimals is None
        else _handed(first, epochs, update, groups, of)
    )


def _again(sheet: Sheet, copies: Mapping[Block, Block], number: str) -> Sheet:
    return replace(sheet_again(sheet, copies, f"{sheet.title} {number}", f"epoch {number}: {sheet.lead}"), tab=AGAIN)


def _handed(
    first: Blueprint, epochs: list[Epoch], update: Update, groups: tuple[Group, ...], of: Repeated
) -> Blueprint:
    """Rounds the weights after the last step, as the workbook of the next stage begins with them."""
    decimals = typed(
        DECIMALS, (), "d", "decimals to which weights are rounded that the next stage begins with", decimals=0
    )
    last = epochs[-1]
    made = []
    for name, weight in last.stepped.new.items():
        each = block(
            f"update{last.number}.handed.{name}",
            weight.axes,
            f"{weight.symbol}_d",
            f"{weight.symbol}, rounded: handed over",
        )
        each[weight.axes] = rounded(weight[weight.axes], decimals)
        made.append(each)
    stepped = replace(last.stepped, rows=(*last.stepped.rows, *made))
    whole = _joined(first, [*epochs[:-1], replace(last, stepped=stepped)], update, groups, of, (decimals,))
    return replace(
        whole, typed={**whole.typed, decimals: update.decimals}, ranges={**whole.ranges, decimals: of.ranges[DECIMALS]}
    )


def _joined(
    first: Blueprint,
    epochs: list[Epoch],
    update: Update,
    groups: tuple[Group, ...],
    of: Repeated,
    also: tuple[Block, ...] = (),
) -> Blueprint:
    """Puts the sheets of all epochs in their order, and behind them those that set them side by side. also: typed besides rates."""
    kind = typed(BY, (), "by", "the optimiser that the formulas are of", text=True)
    of_rates = list(dict.fromkeys(each for group in groups for each in group.rows))
    last = next(sheet for sheet in first.sheets if sheet.title == of.again[-1])
    beside, over = of.beside(epochs, last)
    sheets: list[Sheet] = []
    for sheet in first.sheets:
        sheets.append(sheet)
        if sheet is last:
            for epoch in epochs:
                sheets += [*epoch.sheets, update_sheet(epoch, [kind, *of_rates, *also] if epoch is epochs[0] else [])]
            sheets += beside
    given = {kind: update.by, **{each: update.rates[each.name] for each in of_rates if each.typed}}
    result = "" if first.result is None else first.result.name
    losses = (epoch.rows[result] for epoch in epochs if result in epoch.rows)
    # An update has its gradients; those of the libraries come with the key gradients, which a reopened file has again.
    return replace(
        first,
        sheets=tuple(sheets),
        typed={**first.typed, **given, **over},
        ranges={**first.ranges, **{each: of.ranges[each.name] for each in of_rates if each.name in of.ranges}},
        facts={**first.facts, "gradients": "of the update", **update.facts},
        needed=(*first.needed, *losses, *epochs[-1].stepped.new.values()),
    )
