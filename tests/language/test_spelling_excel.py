"""The spreadsheet's spelling: a pair of expression and formula for every row of its tables, and for its brackets."""

import pytest

from blueprint.language import (
    Axis,
    Expr,
    Max,
    Sum,
    at_most,
    choose,
    equal,
    exp,
    filled,
    find,
    is_off,
    less,
    log,
    match,
    maximum,
    minimum,
    number,
    rounded,
    sqrt,
    tanh,
    weighed,
    where,
)
from blueprint.language.nodes import Op, Ref
from blueprint.language.spelling.excel import EXCEL, EXCEL_CONDITIONS, LOOKUPS, excel, picked
from tests.language.common import k, n, refusal, t, v
from tests.language.expressions import Pair, W, a, b, c, e, most, rows_without_a_pair, small, w, words, x


class Names:
    """Writes names where addresses would stand: a cell `x.n.t`, a range `x.n.t:t` and a number `#t`."""

    def cell(self, ref: Ref) -> str:
        """Returns the name of a cell."""
        return ".".join([ref.block.name, *(str(index).replace(" ", "") for index in ref.at)])

    def span(self, ref: Ref, axes: tuple[Axis, ...]) -> str:
        """Returns the name of a cell and the axes along which it runs."""
        return f"{self.cell(ref)}:{''.join(map(str, axes))}"

    def number(self, axis: Axis) -> str:
        """Returns the name of the member's number."""
        return f"#{axis}"

    def changes(self) -> str:
        """Returns the name of the count of changed inputs."""
        return "changed"


less_than_nothing = -a

ROWS: list[Pair] = [
    (a + b, "a+b"),
    (a - b, "a-b"),
    (a * b, "a*b"),
    (a / b, "a/b"),
    (-a, "-a"),
    (abs(a - b), "ABS(a-b)"),
    (exp(a + b), "EXP(a+b)"),
    (log(a), "LN(a)"),
    (tanh(a), "TANH(a)"),
    (sqrt(a), "SQRT(a)"),
    (maximum(a, b), "MAX(a,b)"),
    (minimum(a, b + 1), "MIN(a,b+1)"),
    (rounded(a - 1, b), "ROUND(a-1,b)"),
    (less(a, b - 1), "IF(a<b-1,1,0)"),
    (at_most(a, b), "IF(a<=b,1,0)"),
    (equal(a, b), "IF(a=b,1,0)"),
    (filled(a), 'IF(a<>"",1,0)'),
    (is_off(most), 'IF(most="off",1,0)'),
]

# Inside `where` a condition stands bare; the row that is tested is the condition's.
BARE: list[Pair] = [
    (less(a + 1, b), "a+1<b"),
    (at_most(a, b), "a<=b"),
    (equal(a, b * c), "a=b*c"),
    (filled(a), 'a<>""'),
    (is_off(most), 'most="off"'),
]

BRACKETS: list[Pair] = [
    (a + (b + c), "a+(b+c)"),
    (a + b + c, "a+b+c"),
    (a + b * c, "a+b*c"),
    (a - (b - c), "a-(b-c)"),
    (a - (b + c), "a-(b+c)"),
    (a - b - c, "a-b-c"),
    (a - b / c, "a-b/c"),
    (a * (b * c), "a*(b*c)"),
    (a * b * c, "a*b*c"),
    (a * (b / c), "a*(b/c)"),
    (a / (b * c), "a/(b*c)"),
    (a / (b / c), "a/(b/c)"),
    (a / b * c, "a/b*c"),
    ((a + b) * c, "(a+b)*c"),
    ((a + b) / (a - b), "(a+b)/(a-b)"),
    (-weighed(a, b * c), "-IF(a=0,0,a*(b*c))"),
    (c * weighed(a + 1, b), "c*IF(a+1=0,0,(a+1)*b)"),
    (a * -b, "a*(-b)"),
    (a / -b, "a/(-b)"),
    (-a * b, "-a*b"),
    (-(a * b), "-a*b"),
    (-(a + b), "-(a+b)"),
    (-less_than_nothing, "-(-a)"),
    (exp(-(a * a)), "EXP(-a*a)"),
    (where(small, a, b) * c, "IF(a<b,a,b)*c"),
    (small * (a - 1), "IF(a<b,1,0)*(a-1)"),
    (2 * find(v, w[v], a), "2*(MATCH(a,w.v:v,1)-1)"),
    (a - match(v, w[v], b), "a-(MATCH(b,w.v:v,0)-1)"),
]

OTHERS: list[Pair] = [
    (where(small, a + 1, 0), "IF(a<b,a+1,0)"),
    (where(small, "OK", 'say "no"'), 'IF(a<b,"OK","say ""no""")'),
    (choose(a, k1=b, k2=x[n, t]), "CHOOSE(a+1,b,x.n.t)"),
    (choose(a * b, k1=b), "CHOOSE(a*b+1,b)"),
    (choose(where(small, 0, 1), k1=b), "CHOOSE(IF(a<b,0,1)+1,b)"),
    (e[n, t + 1] - e[n, t - 1], "e.n.t+1-e.n.t-1"),
    (Sum(t, x[n, t]), "SUM(x.n.t:t)"),
    (Sum((n, t), x[n, t]), "SUM(x.n.t:nt)"),
    (Sum(v, w[v] * W[k, v]), "SUMPRODUCT(w.v:v,W.k.v:v)"),
    (Max(v, W[k, v]), "MAX(W.k.v:v)"),
    (find(v, w[v], a + b), "MATCH(a+b,w.v:v,1)-1"),
    (match(v, words[v], a), "MATCH(a,words.v:v,0)-1"),
    (w[x[n, t]], "INDEX(w.v:v,x.n.t+1)"),
    (W[k, a], "INDEX(W.k.v:v,a+1)"),
    (W[a, v], "INDEX(W.k.v:k,a+1)"),
    (number(t) * 2, "#t*2"),
]


@pytest.mark.parametrize(("expr", "expected"), ROWS + BRACKETS + OTHERS)
def test_spells(expr: Expr, expected: str) -> None:
    assert excel(expr, Names()) == expected


PICKED = {
    "$D11:$K11": "INDEX($D11:$K11,1,k)", "'A!b 3:4'!$D$11:$K$11": "INDEX('A!b 3:4'!$D$11:$K$11,1,k)",
    "\0" "11:\0" "11": "INDEX(\0" "11:\0" "11,1,k)", "K1:K1": "INDEX(K1:K1,1,k)", "D1:D11": "INDEX(D1:D11,k)",
    "D1:D2": "INDEX(D1:D2,k)", "Words!$D$1:$D$11": "INDEX(Words!$D$1:$D$11,k)", "A2!B11:B12": "INDEX(A2!B11:B12,k)",
    "D11": "INDEX(D11,k)",
}  # fmt: skip
"""By range: of one row a position is the second of two, since Gnumeric and HyperFormula take one alone for a row's number."""


@pytest.mark.parametrize("span", PICKED)
def test_a_position_in_a_row_is_written_as_one_of_its_columns(span: str) -> None:
    assert picked(span, "k") == PICKED[span]


@pytest.mark.parametrize(("condition", "expected"), BARE)
def test_a_condition_stands_bare_in_a_choice_between_two(condition: Expr, expected: str) -> None:
    assert excel(where(condition, 1, 0), Names()) == f"IF({expected},1,0)"


def test_every_row_has_a_pair() -> None:
    assert rows_without_a_pair(EXCEL, ROWS) == set()
    assert rows_without_a_pair(EXCEL_CONDITIONS, BARE) == set()
    assert set(LOOKUPS) == {"find", "match"}  # both stand in OTHERS


def test_an_operation_without_a_row_is_refused() -> None:
    assert refusal(lambda: excel(Op("cosine", (a[()],)), Names())) == "this spelling has no row for cosine"


def test_two_lookups_at_once_are_refused() -> None:
    sentence = "W is looked up along two axes at once: make one of them a step of its own"
    assert refusal(lambda: excel(W[a, b], Names())) == sentence
