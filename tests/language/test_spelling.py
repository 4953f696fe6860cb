"""The four spellings of an expression: the spreadsheet's, LaTeX, plain text, and that with the numbers put in.

One line for every row of their tables, for brackets, and for what is no operation; and what each spelling has by itself.
"""

from collections.abc import Callable

import pytest

from blueprint.language import (
    Expr,
    Max,
    Operand,
    Sum,
    at_most,
    block,
    choose,
    compute,
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
    size,
    sqrt,
    tanh,
    typed,
    weighed,
    where,
)  # fmt: skip
from blueprint.language.nodes import Constant, Op
from blueprint.language.spelling.excel import EXCEL, EXCEL_CONDITIONS, LOOKUPS, excel, picked
from blueprint.language.spelling.latex import LATEX, LETTERS, latex, latex_equations, latex_symbol
from blueprint.language.spelling.latex import SEARCHES as LATEX_SEARCHES
from blueprint.language.spelling.latex import SIGNS as LATEX_SIGNS
from blueprint.language.spelling.numbers import explained, with_numbers
from blueprint.language.spelling.numbers import number as spelled
from blueprint.language.spelling.text import ATOM, SEARCHES, SIGNS, TEXT, binding_of, text
from tests.language.common import SIZES, k, n, refusal, t, v
from tests.language.expressions import Names, W, a, b, c, e, gamma, most, ratio, small, w, words, x

word = typed("word", (), text=True)
less_than_nothing = -a
GIVEN = {
    a: 0.5,
    b: -1.25,
    c: 1,
    most: 3,
    w: [0, 0.25, -2, 3],
    words: ["<eos>", "the", "dog", "is"],
    word: "dog",
    x: [[1, 2, 3], [4, 5, -6]],
    e: [[9, 1, 2, 3, 8], [0, 4, 5, 6, 0]],
}
VALUES = compute(GIVEN, SIZES, GIVEN)
LAST = {n: 1, t: 2}
Spelled = tuple[Expr, str | None, str, str, str | None]
"""An expression, the formula, LaTeX, text and numbers; None where it is refused there."""
ROWS: list[Spelled] = [
    (a + b, "a+b", "a + b", "a + b", "0.5 + (−1.25)"),
    (a - b, "a-b", "a - b", "a − b", "0.5 − (−1.25)"),
    (a * b, "a*b", r"a \, b", "a·b", "0.5·(−1.25)"),
    (a / b, "a/b", r"\frac{a}{b}", "a / b", "0.5 / (−1.25)"),
    (-a, "-a", "-a", "−a", "−0.5"),
    (abs(a - b), "ABS(a-b)", r"\left| a - b \right|", "|a − b|", "|0.5 − (−1.25)|"),
    (exp(a + b), "EXP(a+b)", r"\exp\left( a + b \right)", "exp(a + b)", "exp(0.5 + (−1.25))"),
    (log(a), "LN(a)", r"\ln\left( a \right)", "ln(a)", "ln(0.5)"),
    (tanh(a), "TANH(a)", r"\tanh\left( a \right)", "tanh(a)", "tanh(0.5)"),
    (sqrt(a), "SQRT(a)", r"\sqrt{a}", "√(a)", "√(0.5)"),
    (maximum(a, b), "MAX(a,b)", r"\max\left( a, b \right)", "max(a, b)", "max(0.5, −1.25)"),
    (minimum(a, b + 1), "MIN(a,b+1)", r"\min\left( a, b + 1 \right)", "min(a, b + 1)", "min(0.5, (−1.25) + 1)"),
    (rounded(a - 1, b), "ROUND(a-1,b)", r"\operatorname{round}\left( a - 1, b \right)", "round(a − 1, b)", "round(0.5 − 1, −1.25)"),
    (less(a, b - 1), "IF(a<b-1,1,0)", r"\left[ a < b - 1 \right]", "[a < b − 1]", "[0.5 < (−1.25) − 1]"),
    (at_most(a, b), "IF(a<=b,1,0)", r"\left[ a \le b \right]", "[a ≤ b]", "[0.5 ≤ −1.25]"),
    (equal(a, b), "IF(a=b,1,0)", r"\left[ a = b \right]", "[a = b]", "[0.5 = −1.25]"),
    (filled(a), 'IF(a<>"",1,0)', r"\left[ a \text{ is given} \right]", "[a is given]", "[0.5 is given]"),
    (is_off(most), 'IF(most="off",1,0)', r"\left[ \mathrm{most} \text{ is off} \right]", "[most is off]", "[3 is off]"),
    (sqrt(a + 1), "SQRT(a+1)", r"\sqrt{a + 1}", "√(a + 1)", "√(0.5 + 1)"),
    (minimum(a, b), "MIN(a,b)", r"\min\left( a, b \right)", "min(a, b)", "min(0.5, −1.25)"),
    (rounded(a, b), "ROUND(a,b)", r"\operatorname{round}\left( a, b \right)", "round(a, b)", "round(0.5, −1.25)"),
    (less(a, b), "IF(a<b,1,0)", r"\left[ a < b \right]", "[a < b]", "[0.5 < −1.25]"),
    (where(small, a, b), "IF(a<b,a,b)", r"a \text{ if } \left[ a < b \right] \text{ else } b", "a if [a < b] else b",
     "0.5 if [0.5 < −1.25] else −1.25"),
    (choose(a, k1=b, k2=c), "CHOOSE(a+1,b,c)", r"\text{choose } a \text{ of } (\text{k1: } b \mid \text{k2: } c)",
     "(k1: b | k2: c) by a", "blank"),
    (-weighed(a, b * c), "-IF(a=0,0,a*(b*c))", r"-a \, b \, c", "−a·b·c", "−0.5·(−1.25)·1"),
    (tanh(a * b), "TANH(a*b)", r"\tanh\left( a \, b \right)", "tanh(a·b)", "tanh(0.5·(−1.25))"),
    (maximum(a, b + 1), "MAX(a,b+1)", r"\max\left( a, b + 1 \right)", "max(a, b + 1)", "max(0.5, (−1.25) + 1)"),
    (minimum(a - 1, b), "MIN(a-1,b)", r"\min\left( a - 1, b \right)", "min(a − 1, b)", "min(0.5 − 1, −1.25)"),
    (less(a + 1, b), "IF(a+1<b,1,0)", r"\left[ a + 1 < b \right]", "[a + 1 < b]", "[0.5 + 1 < −1.25]"),
    (where(small, a, b + c), "IF(a<b,a,b+c)", r"a \text{ if } \left[ a < b \right] \text{ else } b + c", "a if [a < b] else b + c",
     "0.5 if [0.5 < −1.25] else (−1.25) + 1"),
    (abs(b), "ABS(b)", r"\left| b \right|", "|b|", "|−1.25|"),
    (exp(b), "EXP(b)", r"\exp\left( b \right)", "exp(b)", "exp(−1.25)"),
    (tanh(b), "TANH(b)", r"\tanh\left( b \right)", "tanh(b)", "tanh(−1.25)"),
]  # fmt: skip
"""Every operation, in its simplest form."""
BRACKETS: list[Spelled] = [
    (a + (b + c), "a+(b+c)", "a + b + c", "a + b + c", "0.5 + (−1.25) + 1"),
    (a + b + c, "a+b+c", "a + b + c", "a + b + c", "0.5 + (−1.25) + 1"),
    (a + b * c, "a+b*c", r"a + b \, c", "a + b·c", "0.5 + (−1.25)·1"),
    (a - (b - c), "a-(b-c)", r"a - \left( b - c \right)", "a − (b − c)", "0.5 − ((−1.25) − 1)"),
    (a - (b + c), "a-(b+c)", r"a - \left( b + c \right)", "a − (b + c)", "0.5 − ((−1.25) + 1)"),
    (a - b - c, "a-b-c", "a - b - c", "a − b − c", "0.5 − (−1.25) − 1"),
    (a - b / c, "a-b/c", r"a - \frac{b}{c}", "a − b / c", "0.5 − (−1.25) / 1"),
    (a * (b * c), "a*(b*c)", r"a \, b \, c", "a·b·c", "0.5·(−1.25)·1"),
    (a * b * c, "a*b*c", r"a \, b \, c", "a·b·c", "0.5·(−1.25)·1"),
    (a * (b / c), "a*(b/c)", r"a \, \frac{b}{c}", "a·b / c", "0.5·(−1.25) / 1"),
    (a / (b * c), "a/(b*c)", r"\frac{a}{b \, c}", "a / (b·c)", "0.5 / ((−1.25)·1)"),
    (a / (b / c), "a/(b/c)", r"\frac{a}{\frac{b}{c}}", "a / (b / c)", "0.5 / ((−1.25) / 1)"),
    (a / b * c, "a/b*c", r"\frac{a}{b} \, c", "a / b·c", "0.5 / (−1.25)·1"),
    ((a + b) * c, "(a+b)*c", r"\left( a + b \right) \, c", "(a + b)·c", "(0.5 + (−1.25))·1"),
    ((a + b) / (a - b), "(a+b)/(a-b)", r"\frac{a + b}{a - b}", "(a + b) / (a − b)", "(0.5 + (−1.25)) / (0.5 − (−1.25))"),
    (c * weighed(a + 1, b), "c*IF(a+1=0,0,(a+1)*b)", r"c \, \left( a + 1 \right) \, b", "c·(a + 1)·b", "1·(0.5 + 1)·(−1.25)"),
    (a * -b, "a*(-b)", r"a \, \left( -b \right)", "a·(−b)", "0.5·(−(−1.25))"),
    (a / -b, "a/(-b)", r"\frac{a}{-b}", "a / (−b)", "0.5 / (−(−1.25))"),
    (-a * b, "-a*b", r"\left( -a \right) \, b", "(−a)·b", "(−0.5)·(−1.25)"),
    (-(a * b), "-a*b", r"-a \, b", "−a·b", "−0.5·(−1.25)"),
    (-(a + b), "-(a+b)", r"-\left( a + b \right)", "−(a + b)", "−(0.5 + (−1.25))"),
    (-less_than_nothing, "-(-a)", r"-\left( -a \right)", "−(−a)", "−(−0.5)"),
    (exp(-(a * a)), "EXP(-a*a)", r"\exp\left( -a \, a \right)", "exp(−a·a)", "exp(−0.5·0.5)"),
    (where(small, a, b) * c, "IF(a<b,a,b)*c", r"\left( a \text{ if } \left[ a < b \right] \text{ else } b \right) \, c",
     "(a if [a < b] else b)·c", "(0.5 if [0.5 < −1.25] else −1.25)·1"),
    (small * (a - 1), "IF(a<b,1,0)*(a-1)", r"\left[ a < b \right] \, \left( a - 1 \right)", "[a < b]·(a − 1)",
     "[0.5 < −1.25]·(0.5 − 1)"),
    (2 * find(v, w[v], a), "2*(MATCH(a,w.v:v,1)-1)", r"2 \, \left( \max\{ v : w_{v} \le a \} \right)", "2·(last v with w[v] ≤ a)",
     "2·(place of 0.5 in (0, 0.25, −2, 3))"),
    (a - match(v, w[v], b), "a-(MATCH(b,w.v:v,0)-1)", r"a - \left( v : w_{v} = b \right)", "a − (the v whose w[v] = b)",
     "0.5 − (place of −1.25 in (0, 0.25, −2, 3))"),
    (a - b * c, "a-b*c", r"a - b \, c", "a − b·c", "0.5 − (−1.25)·1"),
    (a * (b + c), "a*(b+c)", r"a \, \left( b + c \right)", "a·(b + c)", "0.5·((−1.25) + 1)"),
    (-a + b, "-a+b", "-a + b", "−a + b", "−0.5 + (−1.25)"),
    (where(small, a, b) + c, "IF(a<b,a,b)+c", r"\left( a \text{ if } \left[ a < b \right] \text{ else } b \right) + c",
     "(a if [a < b] else b) + c", "(0.5 if [0.5 < −1.25] else −1.25) + 1"),
    (a * (1 - minimum(a, b)), "a*(1-MIN(a,b))", r"a \, \left( 1 - \min\left( a, b \right) \right)", "a·(1 − min(a, b))",
     "0.5·(1 − min(0.5, −1.25))"),
    (find(v, w[v], a) + 1, "MATCH(a,w.v:v,1)-1+1", r"\left( \max\{ v : w_{v} \le a \} \right) + 1", "(last v with w[v] ≤ a) + 1",
     "(place of 0.5 in (0, 0.25, −2, 3)) + 1"),
    (a + (b - c), "a+(b-c)", "a + b - c", "a + b − c", "0.5 + (−1.25) − 1"),
    ((a - b) * c, "(a-b)*c", r"\left( a - b \right) \, c", "(a − b)·c", "(0.5 − (−1.25))·1"),
    (a / b / c, "a/b/c", r"\frac{\frac{a}{b}}{c}", "a / b / c", "0.5 / (−1.25) / 1"),
    (a * b / c, "a*b/c", r"\frac{a \, b}{c}", "a·b / c", "0.5·(−1.25) / 1"),
    ((a + b) / c, "(a+b)/c", r"\frac{a + b}{c}", "(a + b) / c", "(0.5 + (−1.25)) / 1"),
    (1 - a, "1-a", "1 - a", "1 − a", "1 − 0.5"),
    (2 * a, "2*a", r"2 \, a", "2·a", "2·0.5"),
    (exp(-(a - b)), "EXP(-(a-b))", r"\exp\left( -\left( a - b \right) \right)", "exp(−(a − b))", "exp(−(0.5 − (−1.25)))"),
    (small * (a - b), "IF(a<b,1,0)*(a-b)", r"\left[ a < b \right] \, \left( a - b \right)", "[a < b]·(a − b)",
     "[0.5 < −1.25]·(0.5 − (−1.25))"),
    (a / Sum(v, w[v]), "a/SUM(w.v:v)", r"\frac{a}{\sum_{v} w_{v}}", "a / (Σ_v w[v])", "0.5 / (0.25 + (−2) + 3)"),
    (a - Sum(v, w[v]), "a-SUM(w.v:v)", r"a - \sum_{v} w_{v}", "a − Σ_v w[v]", "0.5 − (0.25 + (−2) + 3)"),
    (-b, "-b", "-b", "−b", "−(−1.25)"),
    (b * (a + c), "b*(a+c)", r"b \, \left( a + c \right)", "b·(a + c)", "(−1.25)·(0.5 + 1)"),
    (2 * (a - 1), "2*(a-1)", r"2 \, \left( a - 1 \right)", "2·(a − 1)", "2·(0.5 − 1)"),
    (b / (a * c), "b/(a*c)", r"\frac{b}{a \, c}", "b / (a·c)", "(−1.25) / (0.5·1)"),
    (Sum(v, w[v]) * 2, "SUM(w.v:v)*2", r"\left( \sum_{v} w_{v} \right) \, 2", "(Σ_v w[v])·2", "(0.25 + (−2) + 3)·2"),
]  # fmt: skip
"""Operations inside operations."""
OTHERS: list[Spelled] = [
    (where(small, a + 1, 0), "IF(a<b,a+1,0)", r"a + 1 \text{ if } \left[ a < b \right] \text{ else } 0", "a + 1 if [a < b] else 0",
     "0.5 + 1 if [0.5 < −1.25] else 0"),
    (where(small, "OK", 'say "no"'), 'IF(a<b,"OK","say ""no""")',
     '\\text{OK} \\text{ if } \\left[ a < b \\right] \\text{ else } \\text{say "no"}', '“OK” if [a < b] else “say "no"”',
     '“OK” if [0.5 < −1.25] else “say "no"”'),
    (choose(a, k1=b, k2=x[n, t]), "CHOOSE(a+1,b,x.n.t)", r"\text{choose } a \text{ of } (\text{k1: } b \mid \text{k2: } x_{n, t})",
     "(k1: b | k2: x[n, t]) by a", "blank"),
    (choose(a * b, k1=b), "CHOOSE(a*b+1,b)", r"\text{choose } a \, b \text{ of } (\text{k1: } b)", "(k1: b) by a·b", "blank"),
    (choose(where(small, 0, 1), k1=b), "CHOOSE(IF(a<b,0,1)+1,b)",
     r"\text{choose } 0 \text{ if } \left[ a < b \right] \text{ else } 1 \text{ of } (\text{k1: } b)",
     "(k1: b) by 0 if [a < b] else 1", "blank"),
    (e[n, t + 1] - e[n, t - 1], "e.n.t+1-e.n.t-1", "e_{n, t + 1} - e_{n, t - 1}", "e[n, t + 1] − e[n, t − 1]", "0 − 5"),
    (Sum(t, x[n, t]), "SUM(x.n.t:t)", r"\sum_{t} x_{n, t}", "Σ_t x[n, t]", "4 + 5 + (−6)"),
    (Sum((n, t), x[n, t]), "SUM(x.n.t:nt)", r"\sum_{n,t} x_{n, t}", "Σ_n,t x[n, t]", "1 + 2 + 3 + 4 + 5 + (−6)"),
    (Sum(v, w[v] * W[k, v]), "SUMPRODUCT(w.v:v,W.k.v:v)", r"\sum_{v} w_{v} \, W_{k, v}", "Σ_v w[v]·W[k, v]", None),
    (Max(v, W[k, v]), "MAX(W.k.v:v)", r"\max_{v} W_{k, v}", "max_v W[k, v]", None),
    (find(v, w[v], a + b), "MATCH(a+b,w.v:v,1)-1", r"\max\{ v : w_{v} \le a + b \}", "last v with w[v] ≤ a + b",
     "place of 0.5 + (−1.25) in (0, 0.25, −2, 3)"),
    (match(v, words[v], a), "MATCH(a,words.v:v,0)-1", r"v : \mathrm{words}_{v} = a", "the v whose words[v] = a",
     "place of 0.5 in (“<eos>”, “the”, “dog”, “is”)"),
    (w[x[n, t]], "INDEX(w.v:v,x.n.t+1)", "w_{x_{n, t}}", "w[x[n, t]]", None),
    (W[k, a], "INDEX(W.k.v:v,a+1)", "W_{k, a}", "W[k, a]", None),
    (W[a, v], "INDEX(W.k.v:k,a+1)", "W_{a, v}", "W[a, v]", None),
    (number(t) * 2, "#t*2", r"t \, 2", "t·2", "3·2"),
    (where(small, "OK", 0), 'IF(a<b,"OK",0)', r"\text{OK} \text{ if } \left[ a < b \right] \text{ else } 0",
     "“OK” if [a < b] else 0", "“OK” if [0.5 < −1.25] else 0"),
    (gamma * ratio[n, t], "gamma*ratio.n.t", r"\gamma \, {\rho_{\text{old}}}_{n, t}", "γ·ρ_old[n, t]", None),
    (e[n, t.first - 1] + e[n, t.last + 1], "e.n.t.first-1+e.n.t.last+1",
     r"e_{n, t_{\text{first}} - 1} + e_{n, t_{\text{last}} + 1}", "e[n, t.first − 1] + e[n, t.last + 1]", "0 + 0"),
    (w[x[n, t]] * 2, "INDEX(w.v:v,x.n.t+1)*2", r"w_{x_{n, t}} \, 2", "w[x[n, t]]·2", None),
    (Sum((n, t), x[n, t] * x[n, t]), "SUMPRODUCT(x.n.t:nt,x.n.t:nt)", r"\sum_{n,t} x_{n, t} \, x_{n, t}", "Σ_n,t x[n, t]·x[n, t]",
     "1·1 + 2·2 + 3·3 + 4·4 + 5·5 + (−6)·(−6)"),
    (find(v, w[v], a), "MATCH(a,w.v:v,1)-1", r"\max\{ v : w_{v} \le a \}", "last v with w[v] ≤ a",
     "place of 0.5 in (0, 0.25, −2, 3)"),
    (number(t) - 1, "#t-1", "t - 1", "t − 1", "3 − 1"),
    (size(t) * 2, None, r"\left| t \right| \, 2", "how many t·2", "3·2"),
    (a + 2, "a+2", "a + 2", "a + 2", "0.5 + 2"),
    (where(small, "OK", ""), 'IF(a<b,"OK","")', r"\text{OK} \text{ if } \left[ a < b \right] \text{ else } \text{}",
     "“OK” if [a < b] else “”", "“OK” if [0.5 < −1.25] else “”"),
    (w[x[n, t] - 1] * 2, "INDEX(w.v:v,x.n.t-1+1)*2", r"w_{x_{n, t} - 1} \, 2", "w[x[n, t] − 1]·2", None),
    (Sum((n, t), x[n, t] * ratio[n, t]), "SUMPRODUCT(x.n.t:nt,ratio.n.t:nt)", r"\sum_{n,t} x_{n, t} \, {\rho_{\text{old}}}_{n, t}",
     "Σ_n,t x[n, t]·ρ_old[n, t]", None),
    (-Sum(v, w[v] * w[v]), "-SUMPRODUCT(w.v:v,w.v:v)", r"-\sum_{v} w_{v} \, w_{v}", "−Σ_v w[v]·w[v]",
     "−(0.25·0.25 + (−2)·(−2) + 3·3)"),
    (size(t) + 1, None, r"\left| t \right| + 1", "how many t + 1", "3 + 1"),
    (x[n, t] + 2, "x.n.t+2", "x_{n, t} + 2", "x[n, t] + 2", "(−6) + 2"),
    (w[c], "INDEX(w.v:v,c+1)", "w_{c}", "w[c]", "0.25"),
    (choose(c, p=a, q=b) * 2, "CHOOSE(c+1,a,b)*2", r"\text{choose } c \text{ of } (\text{p: } a \mid \text{q: } b) \, 2",
     "(p: a | q: b) by c·2", "(−1.25)·2"),
    (where(small, word, "OK"), 'IF(a<b,word,"OK")', r"\mathrm{word} \text{ if } \left[ a < b \right] \text{ else } \text{OK}",
     "word if [a < b] else “OK”", "“dog” if [0.5 < −1.25] else “OK”"),
    (Sum(v, w[v] * w[v]), "SUMPRODUCT(w.v:v,w.v:v)", r"\sum_{v} w_{v} \, w_{v}", "Σ_v w[v]·w[v]", "0.25·0.25 + (−2)·(−2) + 3·3"),
    (Max(v, w[v]), "MAX(w.v:v)", r"\max_{v} w_{v}", "max_v w[v]", "max(0, 0.25, −2, 3)"),
    (match(v, words[v], word), "MATCH(word,words.v:v,0)-1", r"v : \mathrm{words}_{v} = \mathrm{word}",
     "the v whose words[v] = word", "place of “dog” in (“<eos>”, “the”, “dog”, “is”)"),
]  # fmt: skip
"""Words, neighbours, sums, lookups and what runs along an axis."""
SPELLINGS: dict[str, Callable[[Expr], str]] = {
    "excel": lambda expr: excel(expr, Names()), "latex": latex, "text": text,
    "numbers": lambda expr: with_numbers(expr, LAST, VALUES),
}  # fmt: skip


@pytest.mark.parametrize(("place", "spelling"), [*enumerate(SPELLINGS, 1)])
def test_spells(place: int, spelling: str) -> None:
    wrong = [
        (row[place], found)
        for row in (*ROWS, *BRACKETS, *OTHERS)
        if row[place] is not None and (found := SPELLINGS[spelling](row[0])) != row[place]
    ]
    assert wrong == []
    assert all(str(row[0]) == row[3] for row in (*ROWS, *BRACKETS, *OTHERS))


BARE: list[tuple[Expr, str]] = [
    (less(a + 1, b), "a+1<b"),
    (at_most(a, b), "a<=b"),
    (equal(a, b * c), "a=b*c"),
    (filled(a), 'a<>""'),
    (is_off(most), 'most="off"'),
]
"""Inside `where` a condition stands bare; the row that is tested is the condition's."""
PICKED = {
    "$D11:$K11": "INDEX($D11:$K11,1,k)", "'A!b 3:4'!$D$11:$K$11": "INDEX('A!b 3:4'!$D$11:$K$11,1,k)",
    "\0" "11:\0" "11": "INDEX(\0" "11:\0" "11,1,k)", "K1:K1": "INDEX(K1:K1,1,k)", "D1:D11": "INDEX(D1:D11,k)",
    "D1:D2": "INDEX(D1:D2,k)", "Words!$D$1:$D$11": "INDEX(Words!$D$1:$D$11,k)", "A2!B11:B12": "INDEX(A2!B11:B12,k)",
    "D11": "INDEX(D11,k)",
}  # fmt: skip
"""By range: of one row a position is the second of two, since Gnumeric and HyperFormula take one alone for a row's number."""
SYMBOLS = [
    ("V", "V"),
    ("π_old", r"\pi_{\text{old}}"),
    ("A_c", r"A_{\text{c}}"),
    ("kl", r"\mathrm{kl}"),
    ("βh", r"\beta h"),
    ("π_θA²", r"\pi_{\theta A}^2"),
    ("σ_−βh", r"\sigma_{-\beta h}"),
    ("σ_−u", r"\sigma_{-u}"),
    ("Σout_β_θ", r"\Sigma \mathrm{out}_{\beta_{\theta}}"),
    ("is_end", r"\mathrm{is}_{\text{end}}"),
    ("α", r"\alpha"),
    ("β", r"\beta"),
    ("γ", r"\gamma"),
    ("δ", r"\delta"),
    ("Δ", "\\Delta "),
    ("ΔE", r"\Delta E"),
    ("Σ", "\\Sigma "),
    ("∇J", r"\nabla J"),
    ("η", r"\eta"),
    ("ĝ", r"\hat{g}"),
    ("log π_old_mean", r"\mathrm{log} \pi_{\text{old\_mean}}"),
    ("ε", r"\varepsilon"),
    ("θ", r"\theta"),
    ("λ", r"\lambda"),
    ("μ", r"\mu"),
    ("π", r"\pi"),
    ("ρ", r"\rho"),
    ("σ", r"\sigma"),
    ("τ", r"\tau"),
    ("ε_τ_old", r"\varepsilon_{\tau_{\text{old}}}"),
    ("ψ", r"\psi"),
    ("Â", r"\hat{A}"),
    ("ẑ", r"\hat{z}"),
    ("σ²", r"\sigma^2"),
    ("p·q", r"p\cdot q"),
    ("p‖q", r"p\Vert q"),
    ("−d", "-d"),
    ("w∣s", r"w\mid s"),
    ("1±ε", r"1\pm \varepsilon"),
    ("Ā", r"\bar{A}"),
    ("φ", r"\varphi"),
    ("∂L/∂π_new", r"\partial L/\partial \pi_{\text{new}}"),
    ("∞_w", r"\infty _{\text{w}}"),
    ("a≤b", r"a\le b"),
    ("n′", "n'"),
    ("ρ̄_clip", r"\bar{\rho}_{\text{clip}}"),
    ("r̂_w", r"\hat{r}_{\text{w}}"),
    ("W_newᵀ", r"W_{\text{new}}^{\top}"),
    ("g_E⁽¹²⁾", r"g_{\text{E}}^{(12)}"),
    ("β¹", r"\beta^1"),
]


def rows_without(table: object, rows: list[Spelled] | list[tuple[Expr, str]]) -> set[str]:
    """Returns the rows of a spelling table that no expression's outermost operation uses."""
    return set(table) - {row[0].name for row in rows if isinstance(row[0], Op)}  # type: ignore[call-overload, no-any-return]


def test_every_row_is_spelled() -> None:
    assert [rows_without(table, [*ROWS, *BRACKETS]) for table in (EXCEL, LATEX, TEXT)] == [set()] * 3
    assert rows_without(EXCEL_CONDITIONS, BARE) == set()
    assert set(LETTERS) <= set("".join(symbol for symbol, _ in SYMBOLS))
    for signs, searches in ((SIGNS, SEARCHES), (LATEX_SIGNS, LATEX_SEARCHES)):
        assert (set(signs), set(searches), set(LOOKUPS)) == ({"sum", "max"}, {"find", "match"}, {"find", "match"})


@pytest.mark.parametrize("span", PICKED)
def test_a_position_in_a_row_is_written_as_one_of_its_columns(span: str) -> None:
    assert picked(span, "k") == PICKED[span]


@pytest.mark.parametrize(("condition", "expected"), BARE)
def test_a_condition_stands_bare_in_a_choice_between_two(condition: Expr, expected: str) -> None:
    assert excel(where(condition, 1, 0), Names()) == f"IF({expected},1,0)"


def test_an_operation_without_a_row_is_refused() -> None:
    assert refusal(lambda: excel(Op("cosine", (a[()],)), Names())) == "this spelling has no row for cosine"


def test_two_lookups_at_once_are_refused() -> None:
    sentence = "W is looked up along two axes at once: make one of them a step of its own"
    assert refusal(lambda: excel(W[a, b], Names())) == sentence


@pytest.mark.parametrize(("symbol", "expected"), SYMBOLS)
def test_spells_symbols(symbol: str, expected: str) -> None:
    assert latex_symbol(symbol) == expected


def test_a_symbol_that_is_a_calculation_goes_into_brackets_where_it_would_be_read_otherwise() -> None:
    less, more, share = (
        block(name, (n,), symbol) for name, symbol in (("less", "R−b"), ("more", "s+ε"), ("share", "1/N"))
    )
    for each in (less, more, share):
        each[n] = a
    said = {
        less[n] / more[n]: "(R−b[n]) / (s+ε[n])",
        Sum(n, less[n]) / a: "Σ_n (R−b[n]) / a",
        a - less[n]: "a − (R−b[n])",
        less[n] - a: "R−b[n] − a",
        a * share[n]: "a·1/N[n]",
        a / share[n]: "a / (1/N[n])",
    }
    for expr, expected in said.items():
        assert text(expr) == expected
    assert latex(less[n] / more[n]) == r"\frac{R-b_{n}}{s+\varepsilon_{n}}"
    assert [binding_of(each) for each in ("π(r−J)", "|Σp−1|", "lnσ_−u", "A_λ=1", "∂L/∂σ", "δ")] == [ATOM] * 6


def test_equations_stand_in_lines() -> None:
    y = block("y", (n, t), "δ")
    y[n, t.last + 1] = 0
    y[n, t] = x[n, t] + gamma * y[n, t + 1]
    expected = (
        r"\delta_{n, t_{\text{last}} + 1} &= 0 \\" + "\n" + r"\delta_{n, t} &= x_{n, t} + \gamma \, \delta_{n, t + 1}"
    )
    assert latex_equations(y) == expected


def test_a_letter_without_a_spelling_is_refused() -> None:
    sentence = "LaTeX has no spelling for 'ж' in the symbol 'ж_old': add it to LETTERS"
    assert refusal(lambda: latex_symbol("ж_old")) == sentence


def test_indices_that_are_understood_are_left_out() -> None:
    understood = frozenset((n, t))
    assert text(ratio[n, t] * e[n, t + 1] - x[n, t], understood) == "ρ_old·e[t + 1] − x"
    assert text(w[x[n, t]], understood) == "w[x]"
    assert text(W[k, v], understood) == "W[k, v]"


def test_a_constant_stands_for_itself() -> None:
    assert (str(Constant(2)), str(Constant("OK"))) == ("2", "“OK”")


@pytest.mark.parametrize(
    ("value", "expected"),
    [(4.0, "4"), (0.15, "0.15"), (-3.5, "−3.5"), (1 / 3, "0.3333"), (0.00001, "1e−05"), (-0.0, "0"), (1e6, "1000000"),
     (0.99996, "1"), (12345.678912, "12345.6789"), ("dog", "“dog”")],
)  # fmt: skip
def test_prints_numbers(value: float | str, expected: str) -> None:
    assert spelled(value).text == expected


def explain(expr: Operand, *places: int) -> str:
    """Returns the line under a cell of a block over (n, t)."""
    y = block("y", (n, t))
    y[n, t.last + 1] = 0
    y[n, t] = expr
    return explained(y, places, compute([*GIVEN, y], SIZES, GIVEN))


def test_a_cell_is_its_equation_with_numbers_and_its_result() -> None:
    assert explain(x[n, t] + a * e[n, t + 1] - e[n, t], 0, 2) == "3 + 0.5·8 − 3 = 4"
    assert explain(x[n, t] * number(t), 1, 2) == "(−6)·3 = −18"
    assert explain(x[n, t], 0, 3) == "0 = 0"


def test_a_typed_cell_is_its_number() -> None:
    assert explained(w, (2,), VALUES) == "−2"
    assert explained(e, (0, -1), VALUES) == "9"
    assert explained(words, (0,), VALUES) == "“<eos>”"


def test_a_sum_of_nothing_but_zeros_is_0() -> None:
    values = compute([w], SIZES, {w: [0, 0, 0, 0]})
    assert with_numbers(Sum(v, w[v]), {}, values) == "0"
    assert with_numbers(Sum(v, w[v] * w[v]), {}, values) == "0"


def test_a_long_sum_has_an_ellipsis() -> None:
    values = compute([w], {v: 13}, {w: range(1, 14)})
    assert with_numbers(Sum(v, w[v]), {}, values) == "1 + 2 + 3 + 4 + 5 + 6 + 7 + 8 + 9 + 10 + … + 13"
    values = compute([w], {v: 12}, {w: range(1, 13)})
    assert with_numbers(Sum(v, w[v]), {}, values).endswith("10 + 11 + 12")
