"""Evaluation in torch: the numbers of many files of one kind at once, on any device, and the slope of a total by every cell.

The equations are the trees that `evaluate` computes in numpy and that a page spells as formulas; here only their order of
computation is shared with numpy. This is the only module of the notation that imports torch, and nothing of it is imported
before it is asked for.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from math import inf, nan
from typing import Any, cast

import numpy as np
import torch
from torch import Tensor

from blueprint.language.axes import Axis, NotationError, Position, require
from blueprint.language.blocks import Block
from blueprint.language.evaluate import belongs
from blueprint.language.nodes import Changes, Constant, Count, Expr, Find, Lookup, Op, Reduce, Ref
from blueprint.language.schedule import Loop, Step, in_order, read_by, schedule
from blueprint.language.trees import is_limit, is_off_word, is_text, letters_of, lookups_in, walk
from blueprint.language.values import At, Values
from blueprint.language.vectorise import LAZY

Typed = Mapping[Block, object]


def evaluate_torch(
    blocks: Iterable[Block],
    sizes: Mapping[Axis, int],
    typed: Typed | Sequence[Typed],
    *,
    device: str = "cpu",
    dtype: str = "float64",
    moving: Collection[Block] = (),
    still: Collection[Block] = (),
    beyond: bool = False,
    near: float = 0.0,
) -> Tensors:
    """Computes every block in torch.

    sizes: how many members each axis has. typed: the numbers of each typed block, edges included, or a list of such tables,
        one for each of several files of the same sizes: every tensor then has a first dimension for the files.
    device, dtype: where, and in float64 or float32.
    moving: the blocks by which slopes are wanted, if any; what they are made of is not followed, and every computed cell that
        hangs on them has a slope, too.
    still: blocks that pass no slope on, as `detach` does.
    beyond: whether results may be infinite; without it an infinite operand is no number, as in a sheet.
    near: how close to an edge a choice is a tie, which rounding may decide otherwise (`Tensors.ties`).
    Raises NotationError for a missing or misshapen input and a cell that needs itself.

    >>> from blueprint.language import About, Axis, block, typed
    >>> t = Axis("t", "day")
    >>> x, y = typed("x", (t,), About("x")), block("y", (t,), About("y"))
    >>> y[t] = x[t] * x[t]
    >>> found = evaluate_torch([x, y], {t: 2}, {x: [3.0, 4.0]}, moving=[x])
    >>> found[y].tolist(), found.slopes(y)[x].tolist()
    ([9.0, 16.0], [6.0, 8.0])
    """
    files = [typed] if isinstance(typed, Mapping) else list(typed)
    with torch.set_grad_enabled(bool(moving)):
        return Tensors(
            list(blocks), sizes, files, device, dtype, moving, still, beyond, near, isinstance(typed, Mapping)
        )


class Tensors:
    """The numbers of every block as tensors: `tensors[block]`, edges included; those of words are codes, see `words`.

    ties: by block, where its cells choose a member of a list by a number that lies at an edge. kinks: where they are the larger
    or smaller of two numbers that are as close, so that a slope may go through either.
    """

    def __init__(
        self,
        blocks: list[Block],
        sizes: Mapping[Axis, int],
        files: Sequence[Typed],
        device: str,
        dtype: str,
        moving: Collection[Block],
        still: Collection[Block],
        beyond: bool,
        near: float,
        single: bool,
    ):
        self.values = Values(sizes, beyond)
        self.near, self.ties, self.kinks = near, dict[Block, Tensor](), dict[Block, Tensor]()
        self._frame: tuple[Axis, ...] = ()
        self._noted: list[tuple[dict[Block, Tensor], Tensor]] = []
        self.of: dict[str, Any] = {"device": device, "dtype": getattr(torch, dtype)}
        self.single = single
        self.moving, self.still = frozenset(moving), frozenset(still)
        self.words = _Words()
        self.arrays: dict[Block, Tensor] = {}
        self.probes: dict[Block, Tensor] = {}
        self._open: set[Block] = set()
        self._smooth = False
        for block in blocks:
            if block.typed:
                self._take(block, files)
        self._files = len(files) if self.arrays else 1  # without a typed number all files are alike
        self._moved = self._led_to(blocks)
        self._run(schedule([block for block in blocks if not block.typed]), {})

    def __getitem__(self, block: Block) -> Tensor:
        """Returns the numbers of a block, with a first dimension for the files if there are several."""
        return self.arrays[block][0] if self.single else self.arrays[block]

    def numpy(self, block: Block) -> np.ndarray:
        """Returns a block as `evaluate` has it: numbers in float64, or words."""
        found = self[block].detach().cpu().numpy().astype(float)
        return self.words.read(found) if block.text else found

    def slopes(self, *totals: Block) -> dict[Block, Tensor]:
        """Returns how much the sum of totals grows with every cell of every block that moves, itself and all it leads to.

        A total's own cells are the ends: one backward pass for all of them.
        """
        known = {block: probe for block, probe in self.probes.items() if block in self.arrays}
        root = torch.stack([self.arrays[total].sum() for total in totals]).sum()
        if not root.requires_grad:
            return {block: torch.zeros_like(self[block]) for block in known}
        found = torch.autograd.grad(root, [*known.values()], retain_graph=True, materialize_grads=True)
        return {block: slope[0] if self.single else slope for block, slope in zip(known, found, strict=True)}

    def _take(self, block: Block, files: Sequence[Typed]) -> None:
        """Takes the typed numbers of every file; `Values.fill` refuses what is missing or has another shape."""
        taken: dict[int, np.ndarray] = {}  # files that share a table have it looked at once
        for file in files:
            if id(file.get(block)) not in taken:
                self.values.fill(block, file)
                cells = self.values.arrays.pop(block)
                taken[id(file[block])] = self.words.write(cells) if block.text else cells
        given = np.stack([taken[id(file[block])] for file in files])
        self.arrays[block] = torch.tensor(given, **self.of)
        if block in self.moving:
            require(not (block.text or block.limit), f"{block.name} holds words or limits: nothing has a slope by them")
            self.probes[block] = self.arrays[block].requires_grad_()

    def _led_to(self, blocks: Iterable[Block]) -> set[Block]:
        """Returns the computed blocks of numbers that hang on those that move, these included."""
        readers: dict[Block, list[Block]] = {}
        for block in blocks:
            for read in () if block in self.moving or block.text else read_by(block):
                readers.setdefault(read, []).append(block)
        found, ahead = set(self.moving), list(self.moving)
        while ahead:
            block = ahead.pop()
            for reader in () if block in self.still else readers.get(block, ()):
                if reader not in found:
                    found.add(reader)
                    ahead.append(reader)
        return found

    def _run(self, steps: Iterable[Step], at: At) -> None:
        for step in steps:
            if isinstance(step, Loop):
                inside = set(in_order(step.steps))
                self._open |= inside
                for place in range(-1, self.values.size(step.axis) + 1)[:: step.way]:
                    self._run(step.steps, {**at, step.axis: place})
                self._open -= inside
            else:
                self._compute(step, at)

    def _compute(self, block: Block, at: At) -> None:
        """Writes the cells of a block where the loops stand, each with a zero beside it through which its slope is seen."""
        for definition in block.definitions:
            if not belongs(definition, at, self.values):
                continue
            frame = tuple(axis for axis in letters_of(definition.target) if axis not in at)
            where = self.values.where(block, definition.target, at)
            shape = [self._files, *(self.values.size(axis) for axis in frame)]
            self._frame, self._noted = frame, []
            self._smooth = any(isinstance(node, Op) and node.name == "abs" for node in walk(definition.expr))
            cells = self._expr(definition.expr, frame, at, is_limit(definition.expr)).expand(shape)
            order = (0, *(1 + frame.index(axis) for axis in where.letters))
            cells = cells.permute(order)
            place = (slice(None), *where.place(at))
            for noted, close in self._noted:
                if bool(close.any()):
                    none = torch.zeros((self._files, *self.values.shape(block)), dtype=torch.bool)
                    noted.setdefault(block, none)[place] |= close.expand(shape).permute(order).cpu()
            if block not in self.arrays:
                self.arrays[block] = torch.full((self._files, *self.values.shape(block)), nan, **self.of)
            if block in self.moving:
                cells = cells.detach()
            if block in self._moved:
                if block not in self.probes:
                    self.probes[block] = torch.zeros_like(self.arrays[block], requires_grad=True)
                cells = cells + self.probes[block][place]
            self.arrays[block][place] = cells

    def _expr(self, expr: Expr, frame: tuple[Axis, ...], at: At, off: bool = False) -> Tensor:
        """Computes an expression over (files, *frame); dimensions of one member are broadcast. off: whether it may be off."""
        match expr:
            case Constant(value):
                number = inf if off and is_off_word(expr) else self.words.code(value) if is_text(expr) else value
                return torch.full([1] * (1 + len(frame)), float(number), **self.of)
            case Ref():
                return self._lookup(expr, frame, at) if lookups_in(expr) else self._aligned(expr, frame, at)
            case Op():
                return self._operation(expr, frame, at)
            case Reduce(name, axes, body):
                inner = self._expr(body, frame + axes, at)
                cells = inner.expand([len(inner), *inner.shape[1 : 1 + len(frame)], *map(self.values.size, axes)])
                over = tuple(range(1 + len(frame), 1 + len(frame) + len(axes)))
                # A matrix product would sum the same numbers in another order where it has another number of rows, so that what
                # should be equal differs in the last bit.
                return cells.sum(over) if name == "sum" else self._finite(cells, is_limit(body)).amax(over)
            case Find(name, axis, among, value):
                listed = self._expr(among, (*frame, axis), at)
                wanted = self._expr(value, frame, at)[..., None]
                if self.near and name == "find":
                    self._note(self.ties, ((listed[..., 1:] - wanted).abs() <= self.near).any(-1), frame)
                return self._found(name, listed, wanted)
            case Changes():
                return torch.zeros([1] * (1 + len(frame)), **self.of)
            case Count("size", axis):
                return torch.full([1] * (1 + len(frame)), float(self.values.size(axis)), **self.of)
            case Count("number", axis):
                return (self._members(axis, frame, at) + axis.start).to(**self.of)
        raise NotationError(f"{expr!r} is no node of the notation")

    def _operation(self, expr: Op, frame: tuple[Axis, ...], at: At) -> Tensor:
        limit = is_limit(expr)
        parts = [self._expr(arg, frame, at, limit) for arg in expr.args]
        if expr.name not in LAZY:
            parts = [
                self._finite(part, is_limit(arg) or is_text(arg)) for part, arg in zip(parts, expr.args, strict=True)
            ]
        if self.near and expr.name in DECIDES and not any(isinstance(arg, Constant) for arg in expr.args):
            apart = (parts[0] - parts[1]).abs()
            self._note(
                self.kinks, (apart > 0) & (apart <= self.near), frame
            )  # what is equal to the last bit is so for everyone
        match expr.name, parts:
            case "where", (test, then, otherwise):
                return _known(test >= 0, torch.where(test == 1, then, otherwise))
            case "choose", (number, *rows):
                return self._chosen(number, rows)
            case "filled", (cells,):
                empty = cells == self.words.code("") if is_text(expr.args[0]) else cells.isnan()
                return (~empty).to(**self.of)
            case "equal", (one, other) if is_text(expr.args[0]):
                return (self.words.lower(one) == self.words.lower(other)).to(**self.of)
        if self._smooth and expr.name in HALVES and any(isinstance(arg, Constant) for arg in expr.args):
            return HALVES[expr.name](*parts)
        found = OPERATIONS[expr.name](*parts)
        return torch.where(parts[0] == 0, 0.0, found) if expr.weighed else found

    def _note(self, noted: dict[Block, Tensor], close: Tensor, frame: tuple[Axis, ...]) -> None:
        """Notes the cells of the block at work in which two numbers that decide are close."""
        if frame == self._frame:
            self._noted.append((noted, close))

    def _chosen(self, number: Tensor, rows: Sequence[Tensor]) -> Tensor:
        found = torch.full_like(rows[0], nan)
        for i, row in enumerate(rows):
            found = torch.where(number == i, row, found)
        return found

    def _finite(self, cells: Tensor, passed: bool) -> Tensor:
        """Returns cells with NaN for infinity, as a spreadsheet has an error there, whatever is calculated with it."""
        return cells if passed or self.values.beyond else _known(cells.isfinite(), cells)

    def _found(self, name: str, listed: Tensor, value: Tensor) -> Tensor:
        """Returns the place of the last member not above a value, or of the word that is equal; NaN if there is none."""
        if name == "find":
            place = (listed <= value).sum(-1).to(**self.of) - 1
            ordered = (listed[..., 1:] >= listed[..., :-1]).all(-1)
            return _known((place >= 0) & ordered, place)
        same = self.words.lower(listed) == self.words.lower(value)
        return _known(same.any(-1), same.to(torch.uint8).argmax(-1).to(**self.of))

    def _members(self, axis: Axis, frame: tuple[Axis, ...], at: At) -> Tensor:
        """Returns the places of an axis's members as they lie in (files, *frame), or the one where a loop stands."""
        if axis not in frame:
            return torch.full([1] * (1 + len(frame)), at[axis], device=self.of["device"])
        shape = [1, *(-1 if other is axis else 1 for other in frame)]
        return torch.arange(self.values.size(axis), device=self.of["device"]).reshape(shape)

    def _read(self, block: Block) -> Tensor:
        """Returns the numbers of a block to read: a copy while a loop still writes to it, and without a slope if it is still."""
        array = self.arrays[block]
        array = array.detach() if block in self.still else array
        return array.clone() if block in self._open else array

    def _view(self, ref: Ref, frame: tuple[Axis, ...], at: At) -> tuple[list[Axis], Tensor]:
        """Returns what a reference without lookups reads, and the letters of its dimensions behind that of the files."""
        where = self.values.where(ref.block, ref.at, [axis for axis in letters_of(ref.at) if axis not in frame])
        return list(where.letters), self._read(ref.block)[(slice(None), *where.place(at))]

    def _aligned(self, ref: Ref, frame: tuple[Axis, ...], at: At) -> Tensor:
        letters, cells = self._view(ref, frame, at)
        order = sorted(range(len(letters)), key=lambda i: frame.index(letters[i]))
        shape = [self.values.size(axis) if axis in letters else 1 for axis in frame]
        return cells.permute(0, *(1 + i for i in order)).reshape(len(cells), *shape)

    def _lookup(self, ref: Ref, frame: tuple[Axis, ...], at: At) -> Tensor:
        """Picks cells by computed ids, file by file; NaN where an id is no whole number of a member."""
        array = self._read(ref.block)
        places = [torch.arange(len(array), device=self.of["device"]).reshape(-1, *[1] * len(frame))]
        known = torch.ones([1] * (1 + len(frame)), dtype=torch.bool, device=self.of["device"])
        for slot, index in zip(ref.block.axes, ref.at, strict=True):
            if isinstance(index, Lookup):
                ids = self._expr(index.id, frame, at).detach()
                inside = (ids >= 0) & (ids < self.values.size(slot)) & (ids == ids.floor())
                known = known & inside
                places.append(torch.where(inside, ids, 0).long() + self.values.before(ref.block, slot))
            elif isinstance(index, Position):
                moved = self.values.offset(ref.block, slot, index.axis) + index.by
                places.append(self._members(index.axis, frame, at) + moved)
            else:
                raise NotationError(f"{ref} looks up a member beside an edge, which no page does")
        return _known(known, array[tuple(places)])


class _Words:
    """Words as numbers: a code for each, and one for all that differ in capitals alone."""

    def __init__(self) -> None:
        self.codes: dict[str, int] = {}
        self.small: list[int] = []

    def code(self, word: object) -> int:
        """Returns the code of a word; a new word gets the next."""
        text = str(word)
        if text not in self.codes:
            lower = text.lower()
            if lower != text:
                self.code(lower)
            self.codes[text] = len(self.codes)
            self.small.append(self.codes[lower])
        return self.codes[text]

    def write(self, cells: np.ndarray) -> np.ndarray:
        """Returns the codes of words."""
        return np.array([self.code(cell) for cell in cells.flat], dtype=float).reshape(cells.shape)

    def read(self, codes: np.ndarray) -> np.ndarray:
        """Returns words by their codes; what is no code has no word."""
        words = [*self.codes]
        found = [words[int(code)] if np.isfinite(code) else nan for code in codes.flat]
        return np.array(found, dtype=object).reshape(codes.shape)

    def lower(self, codes: Tensor) -> Tensor:
        """Returns codes of the same words in small letters."""
        table = torch.tensor(self.small, dtype=codes.dtype, device=codes.device)
        return torch.where(codes.isnan(), codes, table[torch.nan_to_num(codes).long()])


def _known(known: Tensor, cells: Tensor) -> Tensor:
    return torch.where(known, cells, nan)


def _guarded(operation: Callable[..., Tensor], slopes: Callable[..., Sequence[Tensor]]) -> Callable[..., Tensor]:
    """Makes an operation through which a slope of 0 stays 0, though the operation's own may have no number there.

    A branch that `where` does not take gets the slope 0 from above: times infinity, as of log at 0, it would be no number.
    """

    class Guarded(torch.autograd.Function):
        @staticmethod
        def forward(ctx: Any, *operands: Tensor) -> Tensor:
            result = operation(*operands)
            ctx.save_for_backward(result, *operands)
            return result

        @staticmethod
        def backward(ctx: Any, above: Tensor) -> Any:
            result, *operands = ctx.saved_tensors
            own = slopes(result, *operands)
            back = [torch.where(above == 0, 0, above * slope) for slope in own]
            shares = [share.sum_to_size(operand.shape) for share, operand in zip(back, operands, strict=True)]
            return shares[0] if len(shares) == 1 else tuple(shares)

    def apply(*operands: Tensor) -> Tensor:
        moving = any(operand.requires_grad for operand in operands)
        found: Tensor = cast("Any", Guarded).apply(*operands) if moving else operation(*operands)
        return found

    return apply


def _tied(before: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
    """Makes maximum or minimum: of two that tie the moving one has the whole slope, and of two moving ones the first."""

    def chosen(one: Tensor, other: Tensor) -> Tensor:
        first, second = (other, one) if other.requires_grad and not one.requires_grad else (one, other)
        return torch.where(before(first, second) | first.isnan(), first, second)

    return chosen


def _compared(compare: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Tensor, Tensor], Tensor]:
    """Makes a comparison that is 1 or 0, and NaN where a blank cell is compared."""
    return lambda a, b: _known(~(a.isnan() | b.isnan()), compare(a, b).to(a.dtype))


def _rounded(number: Tensor, digits: Tensor) -> Tensor:
    scale = 10.0**digits
    return torch.copysign(torch.floor(number.abs() * scale + 0.5) / scale, number) + 0.0


OPERATIONS: dict[str, Callable[..., Tensor]] = {
    "add": torch.add,
    "sub": torch.sub,
    "mul": _guarded(torch.mul, lambda _, a, b: (b, a)),
    "div": _guarded(torch.div, lambda quotient, _, b: (1 / b, -quotient / b)),
    "neg": torch.neg,
    "abs": torch.abs,
    "exp": _guarded(torch.exp, lambda result, _: (result,)),
    "log": _guarded(torch.log, lambda _, a: (1 / a,)),
    "tanh": torch.tanh,
    "sqrt": _guarded(torch.sqrt, lambda root, _: (1 / (2 * root),)),
    "maximum": _tied(torch.ge),
    "minimum": _tied(torch.le),
    "rounded": _rounded,
    "less": _compared(torch.lt),
    "at_most": _compared(torch.le),
    "equal": _compared(torch.eq),
    "is_off": lambda cells: cells.isposinf().to(cells.dtype),
}
"""The operations on numbers by name; those that read words or choose are methods of Tensors."""
HALVES = {"maximum": torch.maximum, "minimum": torch.minimum}
"""Of max(0, x) beside |x| in one equation, as log σ(x) is kept in range: both have a kink at 0, which the whole has not.

There each side has half of the slope, and |x| none: together they give the slope that the whole has.
"""
DECIDES = ("maximum", "minimum")
"""Operations whose slope jumps where two numbers meet."""
