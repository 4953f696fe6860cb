"""How many inputs were changed: 0 while computing, a name in the sheet, words in print."""

from blueprint.language import block, changes, compute, equal, typed, where
from blueprint.language.spelling.excel import excel
from blueprint.language.spelling.latex import latex
from blueprint.language.spelling.numbers import explained
from tests.language.expressions import Names

a = typed("a")
y = block("y", ())
y[()] = where(equal(changes(), 0), a, 0)


def test_it_is_0_while_computing() -> None:
    values = compute([a, y], {}, {a: 2.5})
    assert float(values[y]) == 2.5
    assert explained(y, (), values) == "2.5 if [0 = 0] else 0 = 2.5"


def test_it_is_spelled_everywhere() -> None:
    expr = y.definitions[0].expr
    assert excel(expr, Names()) == "IF(changed=0,a,0)"
    assert str(y) == "y = a if [how many inputs were changed = 0] else 0"
    assert r"\text{changed inputs} = 0" in latex(expr)
