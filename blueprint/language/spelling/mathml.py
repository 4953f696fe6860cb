"""The mathematics in MathML, which browsers set and screen readers read; as a table that a page can also apply by itself."""

import re
from html import escape

from blueprint.language.axes import Axis, Edge, Position
from blueprint.language.blocks import Block, Definition
from blueprint.language.nodes import Constant, Expr, Index, Lookup
from blueprint.language.spelling.numbers import explained
from blueprint.language.spelling.text import ANYTHING, BIG, PRODUCT, SIGN, SUM, Rule, Spelled, Style, call, styled
from blueprint.language.values import Values


def _function(name: str, operands: int = 1) -> Rule:
    inside = "<mo>,</mo>".join(["{}"] * operands)
    return call(f"<mrow><mi>{name}</mi><mo>&#8289;</mo><mo>(</mo>{inside}<mo>)</mo></mrow>", operands)


def _condition(sign: str) -> Rule:
    return call(f"<mrow><mo>[</mo>{{}}<mo>{sign}</mo>{{}}<mo>]</mo></mrow>", 2)


MATHML: dict[str, Rule] = {
    "add": Rule("{}<mo>+</mo>{}", SUM, (SIGN, SUM)),
    "sub": Rule("{}<mo>−</mo>{}", SUM, (SIGN, BIG)),
    "mul": Rule("{}<mo>·</mo>{}", PRODUCT, (PRODUCT, BIG)),
    "div": call("<mfrac><mrow>{}</mrow><mrow>{}</mrow></mfrac>", 2),
    "neg": Rule('<mo form="prefix">−</mo>{}', SIGN, (BIG,)),
    "abs": call("<mrow><mo>|</mo>{}<mo>|</mo></mrow>"),
    "exp": _function("exp"),
    "log": _function("ln"),
    "tanh": _function("tanh"),
    "sqrt": call("<msqrt><mrow>{}</mrow></msqrt>"),
    "rounded": _function("round", 2),
    "maximum": _function("max", 2),
    "minimum": _function("min", 2),
    "less": _condition("&lt;"),
    "at_most": _condition("≤"),
    "equal": _condition("="),
    "filled": call("<mrow><mo>[</mo>{}<mtext>&#160;is given</mtext><mo>]</mo></mrow>"),
    "is_off": call("<mrow><mo>[</mo>{}<mtext>&#160;is off</mtext><mo>]</mo></mrow>"),
    "where": Rule(
        "{1}<mtext>&#160;if&#160;</mtext>{0}<mtext>&#160;else&#160;</mtext>{2}",
        ANYTHING,
        (ANYTHING, ANYTHING, ANYTHING),
    ),
}
SIGNS = {
    "sum": "<munder><mo>∑</mo><mrow><mi>{axes}</mi></mrow></munder>{body}",
    "max": "<munder><mi>max</mi><mrow><mi>{axes}</mi></mrow></munder>{body}",
}
SEARCHES = {
    "find": "<mtext>last&#160;</mtext><mi>{axis}</mi><mtext>&#160;with&#160;</mtext>{among}<mo>≤</mo>{value}",
    "match": "<mtext>the&#160;</mtext><mi>{axis}</mi><mtext>&#160;whose&#160;</mtext>{among}<mo>=</mo>{value}",
}

STYLE = Style(
    table=MATHML,
    signs=SIGNS,
    searches=SEARCHES,
    brackets="<mrow><mo>(</mo>{}<mo>)</mo></mrow>",
    word="<mtext>“{}”</mtext>",
    digits="<mn>{}</mn>",
    letter="<mi>{}</mi>",
    size="<mrow><mo>|</mo><mi>{}</mi><mo>|</mo></mrow>",
    changes=Spelled("<mtext>how many inputs were changed</mtext>", ANYTHING),
    choice="<mrow><mo>(</mo>{rows}<mo>)</mo></mrow><mtext>&#160;by&#160;</mtext>{number}",
    alternative="<mtext>{label}:&#160;</mtext>{row}",
    between="<mo>|</mo>",
    letters=escape,
    minus='<mo form="prefix">−</mo>',
    plus="<mo>+</mo>",
    comma="<mo>,</mo>",
    times="<mo>·</mo>",
    blank="<mtext>blank</mtext>",
    largest="<mrow><mi>max</mi><mo>(</mo>{}<mo>)</mo></mrow>",
    place="<mtext>place of&#160;</mtext>{}<mtext>&#160;in&#160;</mtext><mrow><mo>(</mo>{}<mo>)</mo></mrow>",
    equals="<mo>=</mo>",
    roughly="<mo>≈</mo>",
    rest="<mo>…</mo>",
)

_RAISED = {"²": "<mn>2</mn>", "ᵀ": '<mi mathvariant="normal">T</mi>'}
"""Signs that stand high behind a symbol, and how they are set: the font has no raised T."""
_PIECE = re.compile(r"[^\W_]+(?:_\w+(?:=\d[\d.]*)?)?²?|\S")
_NUMBERED = re.compile(r"([A-Za-z])(\d+)")


def mathml_symbol(symbol: str) -> str:
    """Turns a printed symbol into MathML: what follows a low line is a subscript (`π_old`, `A_λ=0.5`), words are upright."""
    pieces = [_piece(each) for each in _PIECE.findall(symbol)]
    return pieces[0] if len(pieces) == 1 else f"<mrow>{''.join(pieces)}</mrow>"


def _piece(piece: str) -> str:
    plain = piece[:-1] if piece[-1] in _RAISED else piece
    base, _, sub = plain.partition("_")
    if not sub and (numbered := _NUMBERED.fullmatch(base)):
        base, sub = numbered.groups()
    if not re.match(r"[^\W_]", base):
        return f"<mo>{escape(base)}</mo>"
    upright = ' mathvariant="normal"' if len(base) > 1 and base.isascii() else ""
    spelled = f"<mn>{base}</mn>" if base.isdecimal() else f"<mi{upright}>{escape(base)}</mi>"
    if sub:
        spelled = f"<msub>{spelled}<mtext>{escape(sub)}</mtext></msub>"
    return spelled if plain == piece else f"<msup>{spelled}{_RAISED[piece[-1]]}</msup>"


def mathml(expr: Expr, understood: frozenset[Axis]) -> str:
    """Spells an expression; indices that are understood are left out, as in `text`."""
    return styled(expr, STYLE, lambda ref: mathml_reference(ref.block, ref.at, understood)).text


def mathml_equation(block: Block, definition: Definition, understood: frozenset[Axis] = frozenset()) -> str:
    """Spells an equation: what is defined, =, and the expression."""
    left = mathml_reference(block, definition.target, understood)
    return f"{left}{STYLE.equals}{mathml(definition.expr, understood)}"


def mathml_explained(block: Block, places: tuple[int, ...], values: Values) -> str:
    """Spells a cell as its equation with the numbers put in, and the result; a typed cell is its number."""
    return explained(block, places, values, STYLE)


def mathml_reference(block: Block, at: tuple[Index, ...], understood: frozenset[Axis]) -> str:
    """Spells a block with its indices, behind a subscript that the symbol has."""
    symbol = mathml_symbol(block.symbol)
    inside = STYLE.comma.join(filter(None, (_index(index, understood) for index in at)))
    return indexed(symbol, inside) if inside else symbol


def indexed(symbol: str, inside: str) -> str:
    """Puts indices under a spelled symbol; behind the subscript, where it has one."""
    lowered = re.fullmatch(r"<msub>(.*)<mtext>(.*?)</mtext></msub>", symbol)
    if lowered:
        return f"<msub>{lowered[1]}<mrow><mtext>{lowered[2]}</mtext>{STYLE.comma}{inside}</mrow></msub>"
    return f"<msub>{symbol}<mrow>{inside}</mrow></msub>"


def _index(index: Index, understood: frozenset[Axis]) -> str:
    match index:
        case Lookup(axis, Constant(int() as member)):
            return f"<mn>{axis.start + member}</mn>"
        case Lookup(_, id):
            return mathml(id, understood)
        case Position(axis, 0) if axis in understood:
            return ""
        case Position(axis, by):
            return f"<mi>{axis.letter}</mi>" + (f"<mo>{'+' if by > 0 else '−'}</mo><mn>1</mn>" if by else "")
        case Edge(_, side):
            return f"<mtext>{'start' if side < 0 else 'end'}</mtext>"
