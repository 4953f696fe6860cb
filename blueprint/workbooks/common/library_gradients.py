"""The gradient of each library's loss on one batch: how long it is, and how it lies to the one of the settings in use."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import reduce
from itertools import chain
from operator import add
from typing import NamedTuple

from blueprint.language import Arithmetic, Axis, Block, Sum, block, less, link, sqrt, transposed, where
from blueprint.language.gradient import Gradient
from blueprint.page.outline import Blueprint, Item, Line, Note, Row, Section, Sheet, Table, key, minor
from blueprint.workbooks.common.backward import Backward, Rows
from blueprint.workbooks.common.definitions import slopes
from blueprint.workbooks.common.labels import labels
from blueprint.workbooks.common.libraries import LIBRARY, PREFIX

TITLE, LEAD = (
    "Library gradients",
    "from each library's loss back to what its optimisers move: who pulls, how much, and which way",
)
SAME = "Each library pulls at the same weights on the same batch; a row stands once for each of them."
ALONE = "Over what the policy's optimiser moves; first the gradient of the settings in use."
SECTION = "The gradient: how long it is, and where it points"
ONLY = "Over what the policy's optimiser moves alone, and over what the critic's moves; first the gradient of the settings in use."
BACK = "The way back from the {}"
NAMED = {
    "library.total_loss": "total loss, to what the policy's optimiser moves",
    "library.critic_loss": "critic's own loss",
}
PULLS = ("library.policy.logprobs.grad", "library.critic.values.grad")
"""The rows that one looks at first: what each token's log-prob feels, and its value."""
SIDES = ("policy", "critic")
ADVANTAGES = "advantages_used"
"""What a loss calls advantages where the rollout has others."""


class Apart(NamedTuple):
    """A sheet of its own for the way back among other columns: its title and lead, its columns, and which rows stand there."""

    title: str
    lead: str
    across: tuple[Axis, ...]
    holds: Callable[[Block], bool]


def with_library_gradients(outline: Blueprint, of: Backward, which: str, apart: Apart | None = None) -> Blueprint:
    """Adds a sheet with the way back of every library, and what comes of it to the sheet `which`, before which it stands.

    apart: where rows lie among columns of two sorts, the sheet of those that do not lie as the sheet before `which`.
    """
    rows = {each.name: each for each in outline.blocks()}
    shared = {name.removeprefix(PREFIX): each for name, each in rows.items() if name.startswith(PREFIX)}
    used_for = {"loss.advantages": shared[ADVANTAGES]} if ADVANTAGES in shared else {}
    known = {**rows, **shared, **used_for}
    made = of.of(known, (LIBRARY,), PREFIX)
    sides = {side: moved for side, moved in zip(SIDES, of.moves(known), strict=True) if moved}
    used = {
        each: link(f"library_gradients.{each.name}.grad", rows[f"{each.name}.grad"]) for each in chain(*sides.values())
    }
    norms = {side: _norm(side, moved, rows) for side, moved in sides.items()}
    found = {
        side: measured(side, [made[each] for each in moved], [used[each] for each in moved], norms[side])
        for side, moved in sides.items()
    }
    own = [norm for norm in norms.values() if norm.name not in rows]
    sheets: list[Sheet] = []
    for sheet in outline.sheets:
        if sheet.title == which:
            sheets += [
                *_ways_back(made, [*own, *used.values()], found, sheets[-1], apart),
                _with_results(sheet, norms, found),
            ]
        else:
            sheets.append(sheet)
    return replace(outline, sheets=tuple(sheets))


def measured(side: str, theirs: Sequence[Block], ours: Sequence[Block], norm: Block) -> tuple[Block, ...]:
    """Measures each library's gradient: its norm, the inner product with the one in use, and the cosine between both.

    theirs: by each weight, the gradient of every library; ours: that of the settings in use, whose norm is given.
    """
    named = {end: labels("live").of(f"{side}.grad.{end}") for end in ("norm_l", "inner", "cosine")}
    length, inner, cosine = (
        block(f"{PREFIX}{side}.grad.{end}", (LIBRARY,), label.symbol, label.meaning) for end, label in named.items()
    )
    length[LIBRARY] = sqrt(_inner(zip(theirs, theirs, strict=True)))
    inner[LIBRARY] = _inner(zip(theirs, ours, strict=True))
    both = length[LIBRARY] * norm
    cosine[LIBRARY] = where(less(0, both), inner[LIBRARY] / both, 0)
    return length, inner, cosine


def _norm(side: str, moved: Sequence[Block], rows: Rows) -> Block:
    """Returns the norm of the gradient in use: of the weights, or of what stands in their place."""
    joint = rows.get(f"{side}.grad.norm")
    return slopes.norm(rows[f"{moved[0].name}.grad"]) if joint is None else joint


def _inner(pairs: Iterable[tuple[Block, Block]]) -> Arithmetic:
    """Adds up the products of two gradients over every weight; a library's is one for each library."""
    terms = []
    for one, other in pairs:
        product, over = one[one.axes] * other[other.axes], tuple(axis for axis in one.axes if axis is not LIBRARY)
        terms.append(Sum(over, product) if over else product)
    return reduce(add, terms)


def _ways_back(
    made: Gradient, used: Sequence[Block], found: Mapping[str, tuple[Block, ...]], like: Sheet, apart: Apart | None
) -> list[Sheet]:
    """Outlines the way back: results first, then every adjoint from the loss down to the weights, and those in use."""
    if apart is None:
        return [_way_back(made, list(made.blocks), used, found, like)]
    beside = set(_beside(made).values())
    there = [each for each in made.blocks if apart.holds(each)]
    ways: dict[Block, list[Item]] = {}
    for each in there:
        if each not in beside:
            ways.setdefault(made.totals[each], []).append(_item(each, made, apart.across))
    sections = [Section(BACK.format(NAMED[total.name]), tuple(items)) for total, items in ways.items()]
    rest = [each for each in made.blocks if not apart.holds(each)]
    return [
        Sheet(apart.title, apart.lead, tuple(sections), apart.across),
        _way_back(made, rest, used, found, like),
    ]


def _way_back(
    made: Gradient,
    blocks: Sequence[Block],
    used: Sequence[Block],
    found: Mapping[str, tuple[Block, ...]],
    like: Sheet,
) -> Sheet:
    """Outlines the sheet of the way back among columns of tokens, or of whatever the sheet `like` has."""
    beside = set(_beside(made).values())
    ways: dict[Block, list[Item]] = {}
    for each in blocks:
        if each not in beside:
            ways.setdefault(made.totals[each], []).append(_item(each, made, like.across))
    sections = (
        *(Section(f"What comes of it: {side}", tuple(map(key, rows))) for side, rows in found.items()),
        *(Section(BACK.format(NAMED[total.name]), (Note(SAME), *items)) for total, items in ways.items()),
        Section("The gradient in use, once more", tuple(map(minor, used))),
    )
    head = {each: link(each.name.replace("libraries.", "library_gradients."), each) for each in like.head}
    grey = None if like.grey is None else head[like.grey]
    return replace(
        like, title=TITLE, lead=LEAD, sections=tuple(sections), head=tuple(head.values()), grey=grey, first=1
    )


def _beside(made: Gradient) -> dict[Block, Block]:
    """Returns the tables that stand left of a row: where a row stands once for each library, its table has a place of its own."""
    return {row: table for row, table in made.beside.items() if LIBRARY not in row.axes}


def _item(each: Block, made: Gradient, across: tuple[Axis, ...]) -> Item:
    if len(each.axes) == 2 and not {*across} & {*each.axes} and LIBRARY not in each.axes:
        return Table(each, each.axes[1], "plain")
    return key(each) if each.name in PULLS else Row(each, beside=_beside(made).get(each), fold=True)


def _with_results(sheet: Sheet, norms: Mapping[str, Block], found: Mapping[str, tuple[Block, ...]]) -> Sheet:
    """Adds what comes of it to the sheet that has a column for each library."""
    items: list[Item] = [Note(ONLY if len(found) > 1 else ALONE)]
    for side, (norm, _, cosine) in found.items():
        repeated = (transposed(f"which.{each.name.removeprefix(PREFIX)}", each) for each in (norm, cosine))
        items += [Line((link(f"which.{norms[side].name}", norms[side]),)), *map(key, repeated)]
    first, *others = sheet.sections
    return replace(sheet, sections=(first, Section(SECTION, tuple(items)), *others))
