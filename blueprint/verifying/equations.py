"""Causes that nobody has listed: every change of one part of every equation on the way to a quantity that deviates.

A mistake in a trainer's code is mostly one part of one equation: another operation, an operand that is forgotten, doubled or of
another sign, a row of the same shape in its place. The definitions have these equations, so the changes are made of them; each is
computed from the file's own rows on. Where both sides of a pair have an equation, it is changed in both, then in either alone.
What stands in another place counts, too: the row before or behind, a mask that is one longer or shorter.
"""

from collections import Counter
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import NamedTuple

from blueprint.language import (
    Axis,
    Block,
    Constant,
    Expr,
    Op,
    Position,
    Reduce,
    Ref,
    equal,
    exp,
    reading,
    rebuilt,
    text,
    walk,
)
from blueprint.language.blocks import Definition
from blueprint.language.schedule import read_by
from blueprint.language.trees import lookups_in
from blueprint.misconceptions.mechanical import changed
from blueprint.misconceptions.rewriting import Change, Names, is_setting, put
from blueprint.verifying.constant_rows import constant_rows, nothing_added, source, without_constants, without_ones
from blueprint.verifying.definitions import Definitions, Equations
from blueprint.verifying.in_memory import Try
from blueprint.verifying.other_cells import (
    going_on,
    is_here,
    moved,
    other_masks,
    other_places_of_masks,
    other_side,
    places,
    read,
)
from blueprint.verifying.other_operations import (
    BRANCHES,
    constants,
    factors_of,
    is_square,
    means,
    of_exponentials,
    operations,
    sizes,
)

MOST_ROWS, MOST_OTHERS = 80, 8
"""Rows on the way to a quantity that are changed, the nearest first; and rows that may stand in the place of one that is read."""
SIDES = ("chosen", "rejected")
MODELS = ("policy", "reference")
CERTAIN = 10.0
"""Of two changes at a time so many bits more than it takes to pick one among all must agree."""
FLAG = "0 or 1"
"""The unit of a row that says whether something is so."""
AROUND: Mapping[str, Callable[[Expr], Expr]] = {
    "σ of it is taken first, as if it were log-odds": lambda x: Op(
        "div", (Constant(1), Op("add", (Constant(1), exp(-x))))
    ),
    "it is held between −1 and 1": lambda x: Op("maximum", (Constant(-1), Op("minimum", (Constant(1), x)))),
    "what is below 0 counts as 0": lambda x: Op("maximum", (Constant(0), x)),
    "its sign alone is taken": lambda x: Op("sub", (Op("less", (Constant(0), x)), Op("less", (x, Constant(0))))),
}
"""Functions that somebody may put around a number."""


@dataclass(frozen=True)
class Between:
    """The rows between those that are known and those that are wanted, under some settings.

    of: whose they are. beside: rows that are 1 where something counts, beside those that the definitions name; None: none is there.
    """

    of: Definitions
    settings: Mapping[str, float | str]
    wanted: tuple[str, ...]
    known: Collection[str]
    beside: tuple[str, ...] | None = ()

    @cached_property
    def equations(self) -> Equations:
        """All rows."""
        return self.of.under(self.settings)

    @cached_property
    def way(self) -> list[str]:
        """The rows on the way, the nearest to what is wanted first; none that is one number because what it is for is off."""
        constant = constant_rows(self.equations)
        every = self.equations.on_the_way_to_any(self.wanted, self.known)
        return [name for name in every if self.equations.rows[name] not in constant]

    @cached_property
    def read(self) -> dict[Block, list[str]]:
        """The rows that are read on the way, and not on it, with those that read them; none that only says where one stands."""
        found: dict[Block, list[str]] = {}
        for name in self.way:
            for block in self.equations.reads(self.equations.rows[name]):
                there = self.equations.rows.get(block.name) is block and block not in constant_rows(self.equations)
                there = there and block.name not in (*self.way, *self.masks)
                if there and block.axes and not block.text and not block.edges:
                    found.setdefault(block, []).append(name)
        picks = {name for name in self.way if only_picks(self.equations.rows[name])}
        return {block: names for block, names in found.items() if not (block.typed and picks.issuperset(names))}

    @property
    def masks(self) -> tuple[str, ...]:
        """The rows that are 1 where something counts."""
        return () if self.beside is None else (*self.of.masks, *self.beside)


class Changed(NamedTuple):
    """A change of a row: how it is said, how its equation is changed, and whether it then reads what it did not.

    part: the row that it reads otherwise, if that is all that it changes.
    """

    says: str
    change: Change
    far: bool = False
    part: Block | None = None


def tries(
    of: Definitions, settings: Mapping[str, float | str], wanted: str | tuple[str, ...], known: Collection[str]
) -> Iterator[Try]:
    """Yields every change of one part of the equations between the rows that are known and those that are wanted.

    Where both sides of a pair, or both models, have an equation, it is changed in both, too; and of a row of all responses on one
    side alone. What is done to one side alone comes last.
    """
    equations = of.under(settings)
    last = list[Try]()
    wanted = tuple(each for each in ((wanted,) if isinstance(wanted, str) else wanted) if each in equations.rows)
    on_the_way = equations.on_the_way_to_any(wanted, known)
    constant = constant_rows(equations)
    zero = frozenset(key for key, value in settings.items() if value == 0)
    rows = [
        each
        for each in on_the_way
        if not only_picks(equations.rows[each], of.masks) and equations.rows[each] not in constant
    ]
    read = Counter(read for name in on_the_way for read in dict.fromkeys(equations.reads(equations.rows[name])))
    for name in rows[:MOST_ROWS]:
        paired, other = name.partition(".")[0] in SIDES, twin_of(name, equations)
        own, others = (
            _changes(equations, name, wanted, of, zero),
            tuple(twin_of(each, equations) or each for each in wanted),
        )
        theirs = _changes(equations, other, others, of, zero) if other else ()
        both, first = len(theirs) == len(own), name.partition(".")[0] in (SIDES[0], MODELS[0])
        for at, made in enumerate(own):
            label = f"another equation of {meaning_of(equations, name)}: {made.says}"
            once = made.part is not None and read[made.part] > 1
            alone = Try(f"{label}, on the {name.partition('.')[0]} side alone" if paired else label, settings,
                        {"equations": {name: made.change}}, far=made.far, once=once)  # fmt: skip
            if paired and other:
                last.append(alone)
            else:
                yield alone
            found = [alone]
            if both and first:
                found.append(Try(f"{label}, {'on both sides' if paired else f'and in {other}'}", settings,
                                 {"equations": {name: made.change, other: theirs[at].change}}, far=made.far))  # fmt: skip
                yield found[-1]
            if of.side and not paired and equations.rows[name].axes[:1] == equations.rows[of.side].axes:
                last += [_on_side(each, equations.rows[of.side], which) for each in found for which in SIDES]
    yield from last


def extremes(of: Definitions, settings: Mapping[str, float | str], name: str) -> Iterator[Try]:
    """Yields the largest and the smallest in the place of the mean that a row is."""
    row = of.under(settings).rows[name]
    for own in (each.expr for each in row.definitions):
        for says, made in means(own):
            yield Try(f"another equation of {name}: {says}", settings, {"equations": {name: to(own, made)}})


def twin_of(name: str, equations: Equations) -> str:
    """Returns what the row is called of the other side, or of the other model; "" where there is none."""
    head, _, rest = name.partition(".")
    there = [f"{pair[1 - pair.index(head)]}.{rest}" for pair in (SIDES, MODELS) if head in pair]
    return next((each for each in there if each in equations.rows), "")


def _on_side(each: Try, side: Block, which: str) -> Try:
    """Returns changes of rows of all responses as they are where the response is the chosen or the rejected one of its pair."""
    here = equal(Ref(side, tuple(Position(axis) for axis in side.axes)), int(which == SIDES[0]))

    def on(change: Change) -> Change:
        def either(expr: Expr, names: Names) -> Expr:
            other = change(expr, names)
            return (
                expr if other is expr else Op("where", (here, other, expr))
            )  # under other settings nothing is changed

        return either

    made = {name: on(change) for name, change in each.ways["equations"].items()}
    return each._replace(label=f"{each.label}, on the {which} side alone", ways={"equations": made})


def only_picks(row: Block, masks: Collection[str] = ()) -> bool:
    """Whether a row takes cells of another one by a block of 0 and 1, or repeats one that is no mask: where things stand is no
    mathematics."""
    expr = row.definitions[0].expr if row.definitions else None
    match expr:
        case Reduce("sum", _, Op("mul", (Ref() as one, Ref() as other))):
            return any(
                by.block.typed and len(by.block.axes) > len(of.block.axes) for by, of in ((one, other), (other, one))
            )
    return expr is None or (isinstance(expr, Ref) and expr.block.name not in masks)


def meaning_of(equations: Equations, name: str) -> str:
    """Returns what a row is called, and in words."""
    about = equations.rows[name].about
    return f"{name} ({about.meaning})" if about.meaning else name


@lru_cache(maxsize=2048)
def _changes(
    equations: Equations,
    name: str,
    wanted: tuple[str, ...],
    of: Definitions | None = None,
    zero: frozenset[str] = frozenset(),
) -> tuple[Changed, ...]:
    """Returns every change of one part of a row's equation, each once; both sides of a pair have theirs in the same order.

    of: whose equations they are, which says what is a mask, and what has two sides. zero: settings that are 0.
    """
    masks, side = (of.masks, equations.rows[of.side] if of.side else None) if of else ((), None)
    row = equations.rows[name]
    own, found = row.inside, dict[str, tuple[str, Expr]]()
    if own is None:  # beside it an end column may have an equation, which stays
        return ()
    plain = nothing_added(without_constants(own, constant_rows(equations)), zero)
    for says, expr in every_change(equations, name, wanted, plain, masks, side):
        if not _needs_itself(row, expr):
            found.setdefault(text(without_ones(expr)), (says, expr))
    for same in (own, plain):
        found.pop(text(without_ones(same)), None)
    twice, reads = Counter(says for says, _ in found.values()), _cells(own)
    return tuple(
        Changed(
            within(says if twice[says] == 1 else f"{says}: {text(expr)}"),
            to(own, expr),
            not _cells(expr) <= reads,
            _part_changed(plain, expr),
        )
        for says, expr in found.values()
    )


def _part_changed(one: Expr, other: Expr) -> Block | None:
    """Returns the row that is read otherwise in an equation than in another one, if that is all that differs."""
    match one, other:
        case Ref(block), _:
            return block
        case Op(name, args), Op(same, others) if name == same and len(args) == len(others):
            apart = [both for both in zip(args, others, strict=True) if text(both[0]) != text(both[1])]
            return _part_changed(*apart[0]) if len(apart) == 1 else None
        case Reduce(name, axes, body), Reduce(same, along, inner) if name == same and axes == along:
            return _part_changed(body, inner)
    return None


def _cells(expr: Expr) -> set[tuple[str, str]]:
    """Returns what an equation reads: rows by name, and where."""
    return {(node.block.name, text(node)) for node in walk(expr) if isinstance(node, Ref)}


def every_change(
    equations: Equations,
    name: str,
    wanted: tuple[str, ...],
    own: Expr,
    masks: tuple[str, ...] = (),
    side: Block | None = None,
) -> Iterator[tuple[str, Expr]]:
    """Yields every change of one part of an equation of a row, as it is said, and the equation with it.

    side: 1 where a response is the chosen one of its pair; these come first, then as many rejected ones.
    """
    if isinstance(own, Ref):  # a mask as it is
        yield from (*other_places_of_masks(own, masks), *other_masks(own, equations, masks), *moved(own, name, side))
        return
    yield from ((each.says, each.expr) for each in changed(own))
    yield from sizes(own, scaled=not _scales_one(equations, name, wanted))
    yield from _means_of_what_counts(own, equations, masks)
    yield from (*_both_others(equations, name, wanted, own), *_others(equations, name, wanted, own, masks))
    yield from (*operations(own), *constants(own), *means(own), *of_exponentials(own), *going_on(own, name, equations))
    if name in masks or (name in wanted and not equations.rows[name].axes):
        yield "1 is divided by it", Op("div", (Constant(1), own))
        yield "it is taken off 1", Op("sub", (Constant(1), own))
        yield "1 is added to it", Op("add", (Constant(1), own))
    yield from (*places(own, name, side), *other_places_of_masks(own, masks), *other_masks(own, equations, masks))
    yield from other_side(own, side)


def _needs_itself(row: Block, expr: Expr) -> bool:
    """Whether a cell of a recursion would be made of itself, not of its neighbour."""
    own = (node for node in walk(expr) if isinstance(node, Ref) and node.block is row)
    return any(not any(getattr(index, "by", 0) for index in node.at) for node in own)


def within(sentence: str) -> str:
    """Returns a sentence as a part of one; one that begins with a symbol keeps it."""
    word, space, rest = sentence.removesuffix(".").partition(" ")
    return f"{word.lower() if word.istitle() and word.isalpha() and len(word) > 1 else word}{space}{rest}"


def to(own: Expr | None, other: Expr) -> Change:
    """Makes a change of one equation, None for none, into another; under settings that have another equation nothing is changed.

    Where other settings leave the equation as it is, what it reads are the rows under these.
    """

    def change(expr: Expr, names: Names) -> Expr:
        if expr is own:
            return other
        try:
            return read_from(other, names) if own is not None and text(expr) == text(own) else expr
        except KeyError:  # a row that is not there under other settings
            return expr

    return change


def read_from(expr: Expr, names: Names) -> Expr:
    """Returns an expression that reads the rows of the same names, where there are such of the same shape."""
    if isinstance(expr, Ref) and not lookups_in(expr):
        return Ref(there, expr.at) if (there := names[expr.block.name]).axes == expr.block.axes else expr
    return rebuilt(expr, lambda inner: read_from(inner, names))


def another_row(of: Block, axes: tuple[Axis, ...], expr: Expr, name: str = "") -> Block:
    """Returns a row with another equation, and other axes, under the name of a row, or under another name."""
    made = Block(name or of.name, axes, of.about)
    made.definitions = [Definition(tuple(map(Position, axes)), expr)]
    return made


def instead(row: Block, other: Block) -> Change:
    """Makes a change of an equation: another row is read in the place of one."""
    return lambda expr, names: reading(expr, {row: other})


def _means_of_what_counts(expr: Expr, equations: Equations, masks: tuple[str, ...]) -> Iterator[tuple[str, Expr]]:
    """Yields the mean over what a mask counts in the place of a sum."""
    above = {id(part.args[0]) for part in walk(expr) if isinstance(part, Op) and part.name == "div"}
    once = {source(equations.rows[each]): each for each in masks[::-1] if each in equations.rows}
    sums = [each for each in walk(expr) if isinstance(each, Reduce) and each.name == "sum"]
    for part in (each for each in sums if id(each) not in above):
        for mask in (equations.rows[each] for each in once.values()):
            at = next((ref.at for ref in read(part.body) if ref.block.axes == mask.axes and is_here(ref)), None)
            if at is not None and not _is_count(part, masks):
                count = Reduce("sum", part.axes, Ref(mask, at))
                yield f"it is divided by {text(count)}", put(expr, part, Op("div", (part, count)))


def _is_count(part: Reduce, masks: tuple[str, ...]) -> bool:
    """Tells whether a sum is the number of what counts itself."""
    return isinstance(part.body, Ref) and part.body.block.name in masks


def _both_others(equations: Equations, name: str, wanted: tuple[str, ...], expr: Expr) -> Iterator[tuple[str, Expr]]:
    """Yields other rows of both sides, or of both models, in the place of two that are read: what is compared is another thing."""
    refs = {node.block.name: node for node in walk(expr) if isinstance(node, Ref)}
    for one, two in (SIDES, MODELS):
        tails = [each.partition(".")[2] for each in refs if each.startswith(f"{one}.")]
        for tail in (each for each in tails if f"{two}.{each}" in refs):
            parts = [refs[f"{head}.{tail}"].block for head in (one, two)]
            near = [each for each in equations.made_of(wanted) if each.startswith(f"{one}.")]
            near.sort(key=lambda each: (-len(equations.made_of((each,))), each))
            nearest = [each.partition(".")[2] for each in near]
            for other in (each for each in nearest if each != tail and f"{two}.{each}" in equations.rows):
                rows = [equations.rows[f"{head}.{other}"] for head in (one, two)]
                alike = all(_of_one_shape(row, part) for row, part in zip(rows, parts, strict=True))
                if alike and name not in equations.made_of((f"{one}.{other}", f"{two}.{other}")):
                    made = reading(expr, dict(zip(parts, rows, strict=True)))
                    yield f"{rows[0].name} and {rows[1].name} are read, not {parts[0].name} and {parts[1].name}", made


def _scales_one(equations: Equations, name: str, wanted: tuple[str, ...]) -> bool:
    """Tells whether a row is nothing but a factor of the one row that reads it: then that one is doubled in its place."""
    if name in wanted:
        return False
    row, of = equations.rows[name], equations.made_of(wanted)
    readers = [each for each in of if any(block is row for block in read_by(equations.rows[each]))]
    if len(readers) != 1 or len(equations.rows[readers[0]].definitions) != 1:
        return False
    (reader,) = equations.rows[readers[0]].definitions
    if isinstance(reader.expr, Ref):  # it repeats the row, and is not changed itself
        return _scales_one(equations, readers[0], wanted)
    here = [node for node in walk(reader.expr) if isinstance(node, Ref) and node.block is row]
    return len(here) == 1 and any(node is here[0] for node in factors_of(reader.expr))


def scalable(equations: Equations, name: str, wanted: tuple[str, ...], own: Expr) -> Iterator[Expr]:
    """Yields the whole of an equation, unless that only scales the one row that reads it, and every part that scales nothing; none
    that is the test of a branch."""
    scaling = {id(each) for whole in walk(own) for each in [*factors_of(whole)][1:]}
    branches = (node for node in walk(own) if isinstance(node, Op) and node.name in BRANCHES)
    tests = {id(each) for node in branches for each in walk(node.args[0])}
    for part in walk(own):
        constant = isinstance(part, Ref) and is_setting(part.block)
        if isinstance(part, Ref | Op | Reduce) and not constant and id(part) not in scaling | tests:
            yield from [] if part is own and _scales_one(equations, name, wanted) else [part]


def _others(
    equations: Equations, name: str, wanted: tuple[str, ...], expr: Expr, masks: tuple[str, ...] = ()
) -> Iterator[tuple[str, Expr]]:
    """Yields rows of the same shape in the place of one that is read, those that are called alike first; of masks other masks."""
    constant = constant_rows(equations)
    near = {each for each in equations.made_of(wanted) if equations.rows[each] not in constant}
    near |= {other for each in near if (other := twin_of(each, equations))}
    for part in [node for node in walk(expr) if isinstance(node, Ref) and not is_setting(node.block)]:
        others = [
            other
            for other in near
            if _of_one_shape(equations.rows[other], part.block)
            and (other in masks) == (part.block.name in masks)
            and reaches(equations.rows[other], part)
            and name not in equations.made_of((other,))
        ]
        tail = part.block.name.rpartition(".")[2]
        others.sort(key=lambda each: (each.rpartition(".")[2] != tail, each))
        once = {source(equations.rows[each]): each for each in others[::-1]}
        once.pop(source(part.block), None)
        for other in [each for each in others if each in once.values()][:MOST_OTHERS]:
            made = Ref(equations.rows[other], part.at)
            yield f"{other} is read, not {part.block.name}", _put_in_square(expr, part, made)


def _put_in_square(expr: Expr, part: Ref, other: Expr) -> Expr:
    """Replaces a part; of x·x both, since a square is written once."""
    if is_square(expr) and isinstance(expr, Op):
        return Op("mul", (other, other)) if any(each is part for each in expr.args) else expr
    return other if expr is part else rebuilt(expr, lambda inner: _put_in_square(inner, part, other))


def reaches(row: Block, part: Ref) -> bool:
    """Tells whether a row has the cells that a part of an equation reads: one behind the last column is not in every row."""
    moved = [(at.axis, at.by) for at in part.at if isinstance(at, Position) and at.by]
    return all((axis, 1 if by > 0 else -1) in row.edges for axis, by in moved)


def alike(equations: Equations, wanted: str, block: Block, most: int = MOST_OTHERS) -> list[str]:
    """Returns rows of the same shape as one, given or on the way to a quantity, that are not made of it themselves."""
    tail = block.name.rpartition(".")[2]
    typed = {name for name, row in equations.rows.items() if row.typed}
    near = [
        name
        for name in typed | equations.made_of((wanted,))
        if _of_one_shape(equations.rows[name], block) and block.name not in equations.made_of((name,))
    ]
    return sorted(near, key=lambda each: (each.rpartition(".")[2] != tail, each))[:most]


def changes_of(
    equations: Equations, name: str, wanted: tuple[str, ...], of: Definitions | None = None
) -> tuple[Changed, ...]:
    """Returns every change of one part of a row's equation, each once; of: whose it is, for those of masks and of sides."""
    return _changes(equations, name, wanted, of)


def changes_of_form(expr: Expr | None, name: str, masks: tuple[str, ...], cells: bool) -> Iterator[tuple[str, Expr]]:
    """Yields the changes of an equation of a row, by its name, that say nothing of other rows; cells: also of where it reads."""
    if expr is not None:
        yield from ((each.says, each.expr) for each in changed(expr))
        yield from (*sizes(expr, scaled=True), *operations(expr), *constants(expr))
    if expr is not None and cells:
        yield from (*moved(expr, name, None), *other_places_of_masks(expr, masks))
        if name in masks:
            yield "1 is added to it", Op("add", (Constant(1), expr))
            yield "it is taken off 1", Op("sub", (Constant(1), expr))


def plain_of(equations: Equations, name: str) -> Expr | None:
    """Returns the equation of a row without what is switched off; None where it has none, or more than one."""
    own = equations.rows[name].inside
    return None if own is None else without_constants(own, constant_rows(equations))


def _of_one_shape(one: Block, other: Block) -> bool:
    return one is not other and one.axes == other.axes and not one.text and bool(one.axes) and not is_setting(one)
