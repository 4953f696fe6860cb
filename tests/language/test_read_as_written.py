"""What is printed is what was written: equations, blocks, and no two meanings in one line."""

import pytest

from blueprint.language import Expr, Max, Sum, block, equations, link, typed
from blueprint.language.spelling.latex import latex
from blueprint.language.spelling.text import equation
from tests.language.common import i, k, n, one, t, v
from tests.language.expressions import a, b, gamma, w, x

lam = block("lam", (), "λ")


def test_a_block_prints_its_equations() -> None:
    delta, A = block("delta", (n, t), "δ"), block("A", (n, t), "A")
    delta[n, t] = x[n, t] - gamma * 2
    A[n, t.last + 1] = 0
    A[n, t] = delta[n, t] + gamma * lam * A[n, t + 1]
    assert str(delta) == "δ[n, t] = x[n, t] − γ·2"
    assert str(A) == "A[n, t.last + 1] = 0\nA[n, t] = δ[n, t] + γ·λ·A[n, t + 1]"
    assert str(A) == equations(A)
    assert repr(A) == "<block A[n, t]>"


def test_blocks_without_an_equation_say_so() -> None:
    assert (str(x), str(a)) == ("x[n, t] is typed in", "a is typed in")
    assert str(block("y", (n,))) == ""


def test_a_single_number_prints_without_indices() -> None:
    y = block("y", (), "L")
    y[()] = Sum((n, t), x[n, t]) / 2
    assert str(y) == "L = Σ_n,t x[n, t] / 2"


def test_the_letters_are_those_that_were_written() -> None:
    u = t.alias("u")
    per_step, pairs = typed("per_step", (t,), "p"), block("pairs", (t, u))
    pairs[t, u] = per_step[t] * per_step[u]
    others = block("others", (t,))
    others[t] = Sum(u, per_step[u]) - per_step[t]
    assert str(pairs) == "pairs[t, u] = p[t]·p[u]"
    assert str(others) == "others[t] = Σ_u p[u] − p[t]"


def test_parts_print_with_their_own_letters() -> None:
    X = block("X", (n, i))
    given = typed("given", (n, k))
    X[n, k] = given[n, k]
    X[n, one] = 1
    assert str(X) == "X[n, k] = given[n, k]\nX[n, one] = 1"


def test_a_link_prints_what_it_repeats() -> None:
    assert str(link("here", x, symbol="x_here")) == "x_here[n, t] = x[n, t]"


def test_understood_indices_are_left_out_on_both_sides() -> None:
    y = block("y", (n, t))
    y[n, t.last + 1] = 0
    y[n, t] = x[n, t] + y[n, t + 1]
    assert [equation(y, definition, frozenset((n, t))) for definition in y.definitions] == [
        "y[t.last + 1] = 0",
        "y = x + y[t + 1]",
    ]


def test_the_order_is_kept() -> None:
    """Nothing is reordered, and nothing folded but an operand 0 or 1, not even what mathematics would allow."""
    assert str(b + a * 2 - b) == "b + a·2 − b"
    assert str(b + (2 * a - a)) == "b + 2·a − a"


def test_an_operand_0_or_1_vanishes_where_it_changes_nothing() -> None:
    assert [str(each) for each in (a * 1, 1 * a, a / 1, a + 0, 0 + a, a - 0)] == ["a"] * 6
    assert str(a - 1) == "a − 1"
    assert str(2 * a - a) == "2·a − a"


AMBIGUOUS: list[tuple[Expr, str, str]] = [
    # A sum times something is not a sum of products; a maximum even less so.
    (Sum(v, w[v]) * w[v], "(Σ_v w[v])·w[v]", r"\left( \sum_{v} w_{v} \right) \, w_{v}"),
    (Max(v, w[v]) * a, "(max_v w[v])·a", r"\left( \max_{v} w_{v} \right) \, a"),
    # Beside another sign, a sign goes into brackets: `a \, -b` is read as a − b.
    (a * -b, "a·(−b)", r"a \, \left( -b \right)"),
    (a - -b, "a − (−b)", r"a - \left( -b \right)"),
    (a + -b, "a + (−b)", r"a + \left( -b \right)"),
]


@pytest.mark.parametrize(("expr", "printed", "spelled"), AMBIGUOUS)
def test_has_one_meaning(expr: Expr, printed: str, spelled: str) -> None:
    assert (str(expr), latex(expr)) == (printed, spelled)
