"""Expressions: the few kinds of node of which every equation is made. They only record; renderers stand outside.

The tree is kept as it was written: nothing is reordered or simplified, so that the number, the spreadsheet formula and
the printed equation are the same steps in the same order. One thing is folded: an operand that is the Python number 0 or
1 vanishes where it changes nothing, so that a definition whose argument is 0 or 1 reads as if it had none.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NoReturn, cast

from blueprint.language.axes import Axis, Edge, NotationError, Position

if TYPE_CHECKING:
    from blueprint.language.blocks import Block

PLAIN_CONSTANTS = (0, 1, 2)
WEIGHED = ("weighed",)
"""The label of a product that is 0 where its first factor is 0, whatever the second one is."""


def _is(number: int, operand: object) -> bool:
    """Tells whether an operand is this very number of Python's, and no expression."""
    return isinstance(operand, int | float) and not isinstance(operand, bool) and operand == number


def _refused(sentence: str) -> Callable[..., NoReturn]:
    """Makes a method that refuses an operator of Python's in a sentence."""

    def refuse(*operands: object) -> NoReturn:
        raise NotationError(sentence)

    return refuse


_OF_NUMPY = {"add": "__radd__", "subtract": "__rsub__", "multiply": "__rmul__", "divide": "__rtruediv__"}
"""What of ours answers a number of numpy's on the left of an operator, by numpy's name of it."""


class Arithmetic:
    """Lets Python's operators build expressions, and refuses those that would silently mean something else."""

    def __array_ufunc__(self, ufunc: Any, method: str, *operands: Any, **more: Any) -> Expr:
        """Answers numpy, which would take `array * expression` apart cell by cell: its operators are ours, its functions none."""
        ours = _OF_NUMPY.get(ufunc.__name__)
        if ours and method == "__call__" and not more and operands[1] is self:
            return cast(Expr, getattr(self, ours)(operands[0]))
        raise NotationError(
            f"np.{ufunc.__name__} computes now, not in the sheet: use exp, log, sqrt, tanh, maximum or minimum of "
            "blueprint.notation, and + - * /"
        )

    def expression(self) -> Expr:
        """Returns the expression that stands for this object in a larger one."""
        raise NotImplementedError

    # An operand that is the Python number 0 or 1 vanishes where it changes nothing; nothing else is folded.
    def __add__(self, other: Operand) -> Expr:
        return self.expression() if _is(0, other) else Op("add", (self.expression(), wrap(other)))

    def __radd__(self, other: Operand) -> Expr:
        return self.expression() if _is(0, other) else Op("add", (wrap(other), self.expression()))

    def __sub__(self, other: Operand) -> Expr:
        return self.expression() if _is(0, other) else Op("sub", (self.expression(), wrap(other)))

    def __rsub__(self, other: Operand) -> Expr:
        return -self if _is(0, other) else Op("sub", (wrap(other), self.expression()))

    def __mul__(self, other: Operand) -> Expr:
        return self._times(other, Op("mul", (self.expression(), wrap(other))))

    def __rmul__(self, other: Operand) -> Expr:
        return self._times(other, Op("mul", (wrap(other), self.expression())))

    def _times(self, other: Operand, product: Op) -> Expr:
        if _is(0, other):
            return cast(Expr, 0)  # Python's own number, so that it vanishes in what is added up next
        return self.expression() if _is(1, other) else product

    def __truediv__(self, other: Operand) -> Expr:
        return self.expression() if _is(1, other) else Op("div", (self.expression(), wrap(other)))

    def __rtruediv__(self, other: Operand) -> Op:
        return Op("div", (wrap(other), self.expression()))

    def __neg__(self) -> Op:
        return Op("neg", (self.expression(),))

    def __abs__(self) -> Op:
        return Op("abs", (self.expression(),))

    __bool__ = _refused("an expression is not true or false while it is being written: use where(less(a, b), x, y)")
    __lt__ = _refused("a < b compares now, not in the sheet: write less(a, b); max(a, b) is maximum(a, b)")
    __gt__ = _refused("a > b compares now, not in the sheet: write less(b, a); max(a, b) is maximum(a, b)")
    __le__ = _refused("a <= b compares now, not in the sheet: write at_most(a, b)")
    __ge__ = _refused("a >= b compares now, not in the sheet: write at_most(b, a)")
    __float__ = _refused("an expression has no number while it is being written: math.exp(x) is exp(x), and so on")
    __pow__ = _refused("powers are spelled differently from program to program: write x * x")
    __floordiv__ = __rfloordiv__ = _refused("a // b has no formula that every program has: write a / b")
    __mod__ = __rmod__ = _refused("a % b has no formula that every program has: type the remainders, with typed(…)")
    __round__ = _refused("an expression is not rounded while it is being written: give decimals=2 to its block")
    __iter__ = _refused("an expression cannot be looped over: sum(x) is Sum(t, x[n, t]), max(x) is Max(t, x[n, t])")

    def __eq__(self, other: object) -> bool:
        if self is other:
            return True
        raise NotationError("a == b compares now, not in the sheet: write equal(a, b)")

    # Identity, so that expressions can be keys although == is refused.
    __hash__ = object.__hash__


class Expr(Arithmetic):
    """An expression that stands for itself."""

    def expression(self) -> Expr:
        """Returns itself."""
        return self


@dataclass(frozen=True, eq=False)
class Constant(Expr):
    """A plain number (0, 1 or 2) or a fixed word such as "OK"."""

    value: int | str


@dataclass(frozen=True, eq=False)
class Ref(Expr):
    """One cell of a block for the members at hand; `at` has one index for each of the block's axes."""

    block: Block
    at: tuple[Index, ...]


@dataclass(frozen=True, eq=False)
class Op(Expr):
    """An operation of the tables in `spelling`, applied to its arguments; `labels` name the alternatives of a choice.

    A product with the label `WEIGHED` is 0 where its first factor is 0, whether the second one has a number or not.
    """

    name: str
    args: tuple[Expr, ...]
    labels: tuple[str, ...] = ()

    @property
    def weighed(self) -> bool:
        """Tells whether this is a product that does not read its second factor where the first one is 0."""
        return self.labels == WEIGHED


@dataclass(frozen=True, eq=False)
class Reduce(Expr):
    """The sum or the largest (`name` is "sum" or "max") over some axes of one reference, or of a product of two."""

    name: str
    axes: tuple[Axis, ...]
    body: Expr


@dataclass(frozen=True, eq=False)
class Find(Expr):
    """The id of a member of `axis`: the last one not above `value` (name "find"), or the equal one ("match")."""

    name: str
    axis: Axis
    among: Ref
    value: Expr


@dataclass(frozen=True, eq=False)
class Count(Expr):
    """The number of the member at hand (`what` is "number") or how many members there are ("size")."""

    what: str
    axis: Axis


@dataclass(frozen=True, eq=False)
class Changes(Expr):
    """How many typed blocks are no longer as they were when the page was made: 0 as long as nobody has typed."""


@dataclass(frozen=True)
class Lookup:
    """An index that is itself computed: the word id that picks a row of the embedding table."""

    axis: Axis
    id: Expr

    def __str__(self) -> str:
        return str(self.id)


Index = Position | Edge | Lookup
Operand = Arithmetic | int | float | str


def wrap(value: Operand) -> Expr:
    """Turns a block without axes or a plain constant into an expression; refuses numbers that deserve a name."""
    if isinstance(value, Arithmetic):
        return value.expression()
    if isinstance(value, str):
        return Constant(value)
    if isinstance(value, int | float) and not isinstance(value, bool) and value in PLAIN_CONSTANTS:
        return Constant(int(value))
    if isinstance(value, Axis | Position | Edge):
        raise NotationError(
            f"{value} is a place, not a number: the number of the member at hand is "
            f"number({value if isinstance(value, Axis) else value.axis})"
        )
    raise NotationError(
        f"{value!r} would be hidden inside a formula, which may hold only 0, 1 and 2: give it a name with typed(…)"
    )
