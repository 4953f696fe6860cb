"""What is printed of a cell, as text, LaTeX and JSON."""

from __future__ import annotations

import json
import re
from dataclasses import replace

import pytest

from blueprint import Book
from blueprint.language.axes import join
from blueprint.language.values import Values
from blueprint.notation import Axis, block, book, typed
from tests import golden
from tests.page.watching import savings
from tests.page.workshop import made

BALANCE = """\
year t = 2
source: Fibonacci 1202
B[2] = 105  (balance, {B2})  balance at the end of the year
  B[t] = B[t − 1]·(1 + i[plan[t]]) + d[t]
  100·(1 + 0.05) + 0 = 105
    B[1] = 100  (balance, {B1})
      B[t] = B[t − 1]·(1 + i[plan[t]]) + d[t]
      0·(1 + 0.01) + 100 = 100
        B[0] = 0  (balance, {B0})  B[t.first − 1] = 0
        plan[1] = 0  (plan, {plan1}, typed)  plan chosen in the year, counted from 0
        i[0] = 0.01  (rate, {i0}, typed)  interest of each plan
        d[1] = 100  (paid_in, {d1}, typed)  paid in
    plan[2] = 1  (plan, {plan2}, typed)
    i[1] = 0.05  (rate, {i1}, typed)
    d[2] = 0  (paid_in, {d2}, typed)"""

TOTAL = """\
D = 150  (total_paid, {D})  paid in altogether
  D = Σ_t d[t]
  100 + 50 = 150
    d[t]  (paid_in, {d1}:{d3}: 2 of 3 cells, typed; the other terms are 0)  paid in"""

SHORT = """\
year t = 2
source: Fibonacci 1202
B[2] = 105  (balance, {B2})  balance at the end of the year
  B[t] = B[t − 1]·(1 + i[plan[t]]) + d[t]
  100·(1 + 0.05) + 0 = 105
    B[1] = 100  (balance, {B1})  …
    plan[2] = 1  (plan, {plan2}, typed)  plan chosen in the year, counted from 0
    i[1] = 0.05  (rate, {i1}, typed)  interest of each plan
    d[2] = 0  (paid_in, {d2}, typed)  paid in

1 cell marked … is not opened: --depth 2 goes one step further, --depth all down to the inputs."""

LATEX = r"""\begin{aligned}
B_{t} &= B_{t - 1} \, \left( 1 + i_{\mathrm{plan}_{t}} \right) + d_{t} \\
{B}_{2} &= 100 \cdot \left( 1 + 0.05 \right) + 0 = 105 \\
{B}_{1} &= 0 \cdot \left( 1 + 0.01 \right) + 100 = 100 \\[1ex]
{\mathrm{plan}}_{2} &= 1 \\
{i}_{1} &= 0.05 \\
{d}_{2} &= 0 \\
{\mathrm{plan}}_{1} &= 0 \\
{i}_{0} &= 0.01 \\
{d}_{1} &= 100 \\[1ex]
B_{t_{\text{first}} - 1} &= 0 \\
{B}_{0} &= 0 = 0
\end{aligned}"""


def placed(text: str, of: Book) -> str:
    """Puts the addresses into a text: `{B2}` is the cell of B in year 2, `{i0}` that of plan 0."""
    named = {"B": "balance", "plan": "plan", "d": "paid_in"}
    at = {f"{key}{year}": of.show(name, t=year).cell for key, name in named.items() for year in (1, 2, 3)}
    at |= {"B0": of.show("balance", t=0).cell, "D": of.show("total_paid").cell, "d3": of.show("paid_in", t=3).cell}
    at |= {f"i{plan}": of.show("rate", k=plan).cell for plan in (0, 1)}
    at["d3"] = at["d3"].partition("!")[2]
    return text.format(**at)


def test_the_chain_of_a_recursion_is_printed_to_the_inputs() -> None:
    of = savings(source="Fibonacci 1202")
    assert str(of.explain("balance", t=2, depth="all")) == placed(BALANCE, of)
    assert str(of.explain("balance", t=2)) == placed(BALANCE, of)


def test_a_sum_names_its_range_and_opens_no_typed_cell() -> None:
    of = savings(source="Fibonacci 1202")
    assert str(of.explain("total_paid")) == placed(TOTAL, of)


def test_a_depth_of_one_says_how_to_see_more() -> None:
    of = savings(source="Fibonacci 1202")
    assert str(of.explain("balance", t=2, depth=1)) == placed(SHORT, of)


def test_the_latex_is_an_aligned_environment_from_the_top_down() -> None:
    assert savings(source="Fibonacci 1202").explain("balance", t=2, depth="all").latex() == LATEX


def test_the_dictionary_has_every_cell_once_by_its_address() -> None:
    of = savings(source="Fibonacci 1202")
    told = of.explain("balance", t=3, depth="all").to_dict()
    cells = told["cells"]
    labels = ["B[3]", "B[2]", "plan[3]", "i[1]", "d[3]", "B[1]", "plan[2]", "d[2]", "B[0]", "plan[1]", "i[0]", "d[1]"]
    assert [each["label"] for each in cells.values()] == labels
    assert [each["cell"] for each in cells.values()] == list(cells)
    top = cells[told["top"]]
    assert (top["name"], top["at"], top["value"], top["complete"]) == ("balance", {"t": 3}, 160.25, True)
    assert top["numbers"] == "105·(1 + 0.05) + 50 = 160.25"
    assert [(cells[key]["label"], cells[key]["typed"]) for key in top["reads"]] == [
        ("B[2]", False), ("plan[3]", True), ("i[1]", True), ("d[3]", True)
    ]  # fmt: skip
    assert cells[top["reads"][0]]["reads"][2] == top["reads"][2]
    cut = of.explain("balance", t=3, depth=1).to_dict()["cells"]
    assert [(each["complete"], each["reads"]) for each in cut.values()][1] == (False, [])


def test_the_dictionary_has_the_unit_and_a_key_for_a_cell_that_stands_nowhere(default: Book) -> None:
    told = default.explain("mask", n=1, t=4, depth=1)
    fact = told.to_dict()["cells"][told.cell]
    assert (fact["unit"], fact["symbol"], fact["meaning"]) == ("0 or 1", "m", "mask: 1 on the response")
    assert replace(told, cell="", reads=()).to_dict()["top"] == "mask[1, 4]"


def test_json_is_the_dictionary(default: Book) -> None:
    for depth in (1, 3):
        told = default.explain("advantages", n=1, t=5, depth=depth)
        assert json.loads(json.dumps(told.to_dict())) == told.to_dict()
    blank = json.loads(json.dumps(default.explain("gamma.yours").to_dict()))
    assert blank["cells"][blank["top"]]["value"] is None


def test_a_chain_of_hundreds_of_steps_is_printed_in_every_way() -> None:
    t = Axis("t", "step", start=1)
    x, y = typed("x", (t,)), block("y", (t,))
    y[t.first - 1] = 0
    y[t] = y[t - 1] + x[t]
    long = book("Long", [x, y], t, {x: [1.0] * 400})
    told = long.explain("y", t=400, depth="all")
    assert str(told).count("y[t] = y[t − 1] + x[t]") == 400
    assert told.latex().count(r"\\") >= 800
    assert len(told.to_dict()["cells"]) == 801
    assert repr(told) == "<explanation of y[400]: 399 + 1 = 400>"


@pytest.mark.parametrize(("n", "words"), [(1, (4, 5, 6, 7)), (2, (4, 5))])
def test_the_recursion_of_the_advantages_shows_the_golden_numbers(
    default: Book, n: int, words: tuple[int, ...]
) -> None:
    printed = str(default.explain("advantages", n=n, t=4, depth=5))
    A, delta = golden.DEFAULT_TOKENS["advantages"][n - 1], golden.DEFAULT_TOKENS["td_errors"][n - 1]
    line = re.compile(r"^ *\(?(−?[\d.]+)\)? \+ 1·0\.9·0\.8·\(?(−?[\d.]+)\)? = (.*)$", re.MULTILINE)
    put_in = {result: (error, factor) for error, factor, result in line.findall(printed)}
    for i, t in enumerate(words):
        found = [float(each.replace("−", "-")) for each in put_in[shown(A[i])]]
        # A line has as many decimals as it takes; the golden numbers have four.
        assert found == pytest.approx([delta[i], A[i + 1] if i + 1 < len(A) else 0], abs=6e-5)
        assert f"A[{n}, {t}] = {shown(A[i])}  (advantages, " in printed


def shown(value: float) -> str:
    """Prints a golden number as the explanation does."""
    return f"{value:.4f}".rstrip("0").rstrip(".").replace("-", "−")


def test_the_head_says_which_word_is_read_and_written(default: Book) -> None:
    lines = str(default.explain("advantages", n=1, t=4)).splitlines()
    assert lines[0] == "episode n = 1, position t = 4: reads “is”, writes “very”, m = 1"
    assert lines[1].startswith("source: Schulman et al. 2016")
    assert str(default.explain("advantages", n=1, t=9)).startswith("episode n = 1, end column t = 9: m = 0\n")
    assert str(default.explain("gamma")).startswith("γ = 0.9  (gamma, ")


def test_a_cell_is_told_where_it_is_nearest_and_pointed_to_elsewhere(default: Book) -> None:
    lines = [line.strip() for line in str(default.explain("advantages", n=1, t=5)).splitlines()]
    error, ratio = (
        next(i for i, line in enumerate(lines) if line.startswith(start)) for start in ("δ[1, 5] =", "m[1, 5] =")
    )
    assert lines[error + 3] == "with m[1, 5] = 1, γ = 0.9 (below)"
    assert ratio > error + 3
    later = next(i for i, line in enumerate(lines) if line.startswith("A[1, 6] ="))
    assert lines[later + 3] == "with γ = 0.9, λ = 0.8 (above)"
    assert sum(line.startswith("γ = 0.9 ") for line in lines) == 1


def test_on_the_token_level_the_head_says_which_word_is_written() -> None:
    sleepy = made(numbers="very-very-sleepy")
    word = sleepy.values.cell(sleepy.blocks["word_written"], 0, 2)
    assert str(sleepy.explain("td_errors", n=1, t=3)).startswith(
        f"episode n = 1, position t = 3: writes “{word}”, m = 1"
    )


def test_links_are_passed_through(default: Book) -> None:
    told = default.explain("log_ratio", n=1, t=5)
    assert [each.name for each in told.reads] == ["policy.logprobs", "old.logprobs"]
    told = default.explain("loss.logp_new", n=1, t=5)
    assert told.name == "policy.logprobs"
    assert "loss.logp_new repeats policy.logprobs" in told.head


def test_words_stand_for_ids(default: Book) -> None:
    told = default.explain("old.log_p", n=1, t=4, v="very")
    assert (told.label, told.at) == ("log p[1, 4, “very”]", {"n": 1, "t": 4, "v": 5})
    assert told.value == default.explain("old.log_p", n=1, t=4, v=5).value
    assert default.explain("old.memory", n=1, t=4, j="h2").at == {"n": 1, "t": 4, "j": 2}
    assert default.explain("vocabulary", v=5).label == "vocab[5]"
    assert default.explain("old.inputs", n=1, t=4, i=7).label == "x[1, 4, bias]"


def test_a_member_of_a_joined_axis_lies_in_one_of_its_parts() -> None:
    i, j = Axis("i", "word", start=1), Axis("j", "state", start=1)
    x = join("x", "input", i, j)
    values = Values({i: 3, j: 2})
    assert [values.part(x, member) for member in (0, 2, 3, 4)] == [(i, 0), (i, 2), (j, 0), (j, 1)]
    assert values.part(i, 2) == (i, 2)
