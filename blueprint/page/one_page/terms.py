"""Terms: the small expressions of a page's lines, `-rate * paid`, read once and spelled as a formula or computed."""

import ast
from collections.abc import Callable
from functools import cache, cached_property
from math import exp, inf, log, nan, sqrt

from blueprint.language import NotationError

Number = float
FUNCTIONS: dict[str, tuple[str, Callable[..., float]]] = {
    "exp": ("EXP({0})", exp),
    "ln": ("LN({0})", log),
    "sqrt": ("SQRT({0})", sqrt),
    "abs": ("ABS({0})", abs),
    "min": ("MIN({0},{1})", min),
    "max": ("MAX({0},{1})", max),
    "clip": ("MIN(MAX({0},{1}),{2})", lambda x, low, high: min(max(x, low), high)),
    "sigmoid": ("1/(1+EXP(-({0})))", lambda x: 1 / (1 + exp(-x))),
}
SIGNS: dict[type, tuple[str, Callable[[float, float], float]]] = {
    ast.Add: ("+", lambda a, b: a + b),
    ast.Sub: ("-", lambda a, b: a - b),
    ast.Mult: ("*", lambda a, b: a * b),
    ast.Div: ("/", lambda a, b: a / b),
}
COMPARED: dict[type, tuple[str, Callable[[float, float], bool]]] = {
    ast.LtE: ("<=", lambda a, b: a <= b),
    ast.GtE: (">=", lambda a, b: a >= b),
    ast.Lt: ("<", lambda a, b: a < b),
    ast.Gt: (">", lambda a, b: a > b),
}
Leaf = tuple[str, str]
"""What an expression reads: "" or `next` or `before` or `sum`, and a name."""
Computed = Callable[[Callable[[Leaf], float]], float]
"""How an expression is computed from the numbers of what it reads."""
SHIFTS = {"next": 1, "before": -1}
"""How far from its column an expression reads."""


class Term:
    """An expression. Raises NotationError for anything but numbers, names, + − * /, comparisons and the known functions."""

    def __init__(self, text: str):
        self.text = text
        try:
            self.tree = ast.parse(text, mode="eval").body
        except SyntaxError as error:
            raise NotationError(f"one page: “{text}” is no expression; write one such as -rate * paid") from error
        self.leaves: list[Leaf] = []
        self._leaf_at: dict[int, Leaf] = {}
        self._visit(self.tree)

    def _visit(self, node: ast.AST) -> None:
        leaf = _leaf(node)
        if leaf:
            self.leaves.append(leaf)
            self._leaf_at[id(node)] = leaf
            return
        match node:
            case ast.BinOp(left, op, right) if type(op) in SIGNS:
                parts = [left, right]
            case ast.UnaryOp(ast.USub(), operand):
                parts = [operand]
            case ast.Compare(left, [op], [right]) if type(op) in COMPARED:
                parts = [left, right]
            case ast.Call(ast.Name(name), parts) if name in FUNCTIONS:
                pass
            case ast.Constant(int() | float()):
                parts = []
            case _:
                raise NotationError(
                    f"one page: “{self.text}” holds {ast.unparse(node)}, which no line of a page can say"
                )
        for part in parts:
            self._visit(part)

    def formula(self, spelled: Callable[[Leaf], str]) -> str:
        """Spells it as a formula, each name as it is told."""
        return self._formula(self.tree, spelled)

    def _formula(self, node: ast.AST, spelled: Callable[[Leaf], str]) -> str:
        if leaf := self._leaf_at.get(id(node)):
            return spelled(leaf)
        match node:
            case ast.BinOp(left, op, right):
                return f"({self._formula(left, spelled)}{SIGNS[type(op)][0]}{self._formula(right, spelled)})"
            case ast.UnaryOp(_, operand):
                return f"(-{self._formula(operand, spelled)})"
            case ast.Compare(left, [op], [right]):
                return f"{self._formula(left, spelled)}{COMPARED[type(op)][0]}{self._formula(right, spelled)}"
            case ast.Call(ast.Name(name), parts):
                return FUNCTIONS[name][0].format(*(self._formula(part, spelled) for part in parts))
        return ast.unparse(node)

    def value(self, known: Callable[[Leaf], float]) -> float:
        """Computes it; NaN where there is no such number, infinity where it is too large."""
        try:
            return float(self.computed(known))
        except (ValueError, ZeroDivisionError):
            return nan
        except OverflowError:
            return inf

    @cached_property
    def computed(self) -> Computed:
        """How it is computed, made once: a claim is computed for each number of decimals that its lines may have."""
        return self._computed(self.tree)

    def _computed(self, node: ast.AST) -> Computed:
        if leaf := self._leaf_at.get(id(node)):
            return lambda known: known(leaf)
        match node:
            case ast.BinOp(left, op, right):
                return _of_two(SIGNS[type(op)][1], self._computed(left), self._computed(right))
            case ast.UnaryOp(_, operand):
                inner = self._computed(operand)
                return lambda known: -inner(known)
            case ast.Compare(left, [op], [right]):
                return _of_two(COMPARED[type(op)][1], self._computed(left), self._computed(right))
            case ast.Call(ast.Name(name), parts):
                function, inners = FUNCTIONS[name][1], [self._computed(part) for part in parts]
                return lambda known: function(*[each(known) for each in inners])
        number = float(ast.literal_eval(node))
        return lambda known: number


def _of_two(function: Callable[[float, float], float], left: Computed, right: Computed) -> Computed:
    return lambda known: function(left(known), right(known))


def _leaf(node: ast.AST) -> Leaf | None:
    """Returns the name that a node is: `gamma`, `paid`, or `next(paid)`."""
    match node:
        case ast.Call(ast.Name("next" | "before" | "sum" as way), [ast.Name() | ast.Attribute() as inner]):
            return way, ast.unparse(inner)
        case ast.Name() | ast.Attribute():
            return "", ast.unparse(node)
    return None


@cache
def term_of(text: str) -> Term:
    """Returns an expression; each is read once, since claims are judged many times over."""
    return Term(text)
