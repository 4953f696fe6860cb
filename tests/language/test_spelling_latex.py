"""The mathematics in LaTeX: a pair of expression and text for every row of its tables, and for its brackets."""

import pytest

from blueprint.language import (
    Expr,
    Max,
    Sum,
    at_most,
    block,
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
    size,
    sqrt,
    tanh,
    where,
)
from blueprint.language.spelling.latex import LATEX, LETTERS, SEARCHES, SIGNS, latex, latex_equations, latex_symbol
from tests.language.common import k, n, refusal, t, v
from tests.language.expressions import Pair, W, a, b, c, e, gamma, most, ratio, rows_without_a_pair, small, w, words, x

CASE = r"a \text{ if } \left[ a < b \right] \text{ else } b"

ROWS: list[Pair] = [
    (a + b, "a + b"),
    (a - b, "a - b"),
    (a * b, r"a \, b"),
    (a / b, r"\frac{a}{b}"),
    (-a, "-a"),
    (abs(a - b), r"\left| a - b \right|"),
    (exp(a + b), r"\exp\left( a + b \right)"),
    (log(a), r"\ln\left( a \right)"),
    (tanh(a), r"\tanh\left( a \right)"),
    (sqrt(a + 1), r"\sqrt{a + 1}"),
    (maximum(a, b), r"\max\left( a, b \right)"),
    (minimum(a, b), r"\min\left( a, b \right)"),
    (rounded(a, b), r"\operatorname{round}\left( a, b \right)"),
    (less(a, b), r"\left[ a < b \right]"),
    (at_most(a, b), r"\left[ a \le b \right]"),
    (equal(a, b), r"\left[ a = b \right]"),
    (filled(a), r"\left[ a \text{ is given} \right]"),
    (is_off(most), r"\left[ \mathrm{most} \text{ is off} \right]"),
    (where(small, a, b), CASE),
    (choose(a, k1=b, k2=c), r"\text{choose } a \text{ of } (\text{k1: } b \mid \text{k2: } c)"),
]

BRACKETS: list[Pair] = [
    (a + (b + c), "a + b + c"),
    (a - (b - c), r"a - \left( b - c \right)"),
    (a - (b + c), r"a - \left( b + c \right)"),
    (a - b * c, r"a - b \, c"),
    (a * (b + c), r"a \, \left( b + c \right)"),
    (a * (b * c), r"a \, b \, c"),
    ((a + b) / (a - b), r"\frac{a + b}{a - b}"),
    (a * (b / c), r"a \, \frac{b}{c}"),
    (a / (b / c), r"\frac{a}{\frac{b}{c}}"),
    (-(a + b), r"-\left( a + b \right)"),
    (-(a * b), r"-a \, b"),
    (-a + b, "-a + b"),
    (where(small, a, b) + c, rf"\left( {CASE} \right) + c"),
    (a * (1 - minimum(a, b)), r"a \, \left( 1 - \min\left( a, b \right) \right)"),
    (find(v, w[v], a) + 1, r"\left( \max\{ v : w_{v} \le a \} \right) + 1"),
]

OTHERS: list[Pair] = [
    (where(small, "OK", 0), r"\text{OK} \text{ if } \left[ a < b \right] \text{ else } 0"),
    (gamma * ratio[n, t], r"\gamma \, {\rho_{\text{old}}}_{n, t}"),
    (e[n, t + 1] - e[n, t - 1], "e_{n, t + 1} - e_{n, t - 1}"),
    (
        e[n, t.first - 1] + e[n, t.last + 1],
        r"e_{n, t_{\text{first}} - 1} + e_{n, t_{\text{last}} + 1}",
    ),
    (w[x[n, t]] * 2, r"w_{x_{n, t}} \, 2"),
    (Sum((n, t), x[n, t] * x[n, t]), r"\sum_{n,t} x_{n, t} \, x_{n, t}"),
    (Max(v, W[k, v]), r"\max_{v} W_{k, v}"),
    (find(v, w[v], a), r"\max\{ v : w_{v} \le a \}"),
    (match(v, words[v], a), r"v : \mathrm{words}_{v} = a"),
    (number(t) - 1, "t - 1"),
    (size(t) * 2, r"\left| t \right| \, 2"),
]

SYMBOLS = [
    ("V", "V"),
    ("π_old", r"\pi_{\text{old}}"),
    ("A_c", r"A_{\text{c}}"),
    ("kl", r"\mathrm{kl}"),
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
]


@pytest.mark.parametrize(("expr", "expected"), ROWS + BRACKETS + OTHERS)
def test_spells(expr: Expr, expected: str) -> None:
    assert latex(expr) == expected


@pytest.mark.parametrize(("symbol", "expected"), SYMBOLS)
def test_spells_symbols(symbol: str, expected: str) -> None:
    assert latex_symbol(symbol) == expected


def test_every_row_has_a_pair() -> None:
    assert rows_without_a_pair(LATEX, ROWS) == set()
    assert set(LETTERS) <= set("".join(symbol for symbol, _ in SYMBOLS))
    assert (set(SIGNS), set(SEARCHES)) == ({"sum", "max"}, {"find", "match"})  # all four stand in OTHERS


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
