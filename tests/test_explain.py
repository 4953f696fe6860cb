"""Explanations in Python: what is printed, and that it says of every cell what its equation and its formula say."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest

import blueprint
from blueprint import Axis, Book, NotationError, Sum, block, book, equal, typed
from blueprint.explain.as_json import to_json
from blueprint.explain.spots import repeated
from blueprint.explain.tree import Explanation
from blueprint.language.axes import join
from blueprint.language.spelling.numbers import number
from blueprint.language.values import Values
from blueprint.page import grid
from blueprint.page.cells import runs
from blueprint.page.names import defined_name
from tests import golden
from tests.imports import imports
from tests.page.workshop import made

SOURCE = Path(blueprint.__file__).parent


def savings() -> Book:
    """Makes the example of the README."""
    t, k = Axis("t", "year", start=1), Axis("k", "plan")
    rate = typed("rate", (k,), "i", "interest of each plan", decimals=2)
    plan = typed("plan", (t,), "plan", "plan chosen in the year, counted from 0", decimals=0)
    paid = typed("paid_in", (t,), "d", "paid in", decimals=0)
    B = block("balance", (t,), "B", "balance at the end of the year", source="Fibonacci 1202", decimals=2)
    B[t.first - 1] = 0
    B[t] = B[t - 1] * (1 + rate[plan[t]]) + paid[t]
    total = block("total_paid", (), "D", "paid in altogether", decimals=0)
    total[()] = Sum(t, paid[t])
    numbers = {rate: [0.01, 0.05], plan: [0, 1, 1], paid: [100, 0, 50]}
    return book("Savings", [rate, plan, paid, B, total], t, numbers)


@pytest.fixture(scope="module")
def default() -> Book:
    """Makes the default book."""
    return made()


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
    of = savings()
    assert str(of.explain("balance", t=2, depth="all")) == placed(BALANCE, of)
    assert str(of.explain("balance", t=2)) == placed(BALANCE, of)


def test_a_sum_names_its_range_and_opens_no_typed_cell() -> None:
    of = savings()
    assert str(of.explain("total_paid")) == placed(TOTAL, of)


def test_a_depth_of_one_says_how_to_see_more() -> None:
    of = savings()
    assert str(of.explain("balance", t=2, depth=1)) == placed(SHORT, of)


def test_the_latex_is_an_aligned_environment_from_the_top_down() -> None:
    assert savings().explain("balance", t=2, depth="all").latex() == LATEX


def test_the_dictionary_has_every_cell_once_by_its_address() -> None:
    of = savings()
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
        assert json.loads(to_json(told)) == told.to_dict()
    blank = json.loads(to_json(default.explain("gamma.yours")))
    assert blank["cells"][blank["top"]]["value"] is None


def test_json_and_latex_do_not_need_the_text() -> None:
    read = {each.read for each in imports(SOURCE) if each.reader in ("explain.as_json", "explain.as_latex")}
    assert "explain.nearest" in read
    assert "explain.text" not in read


def test_a_chain_of_hundreds_of_steps_is_printed_in_every_way() -> None:
    t = Axis("t", "step", start=1)
    x, y = typed("x", (t,)), block("y", (t,))
    y[t.first - 1] = 0
    y[t] = y[t - 1] + x[t]
    long = book("Long", [x, y], t, {x: [1.0] * 400})
    told = long.explain("y", t=400, depth="all")
    assert str(told).count("y[t] = y[t − 1] + x[t]") == 400
    assert told.latex().count(r"\\") >= 800
    assert len(json.loads(to_json(told))["cells"]) == 801
    assert repr(told) == "<explanation of y[400]: 399 + 1 = 400>"


@pytest.mark.parametrize(("n", "words"), [(1, (4, 5, 6, 7)), (2, (4, 5))])
def test_the_recursion_of_the_advantages_shows_the_golden_numbers(
    default: Book, n: int, words: tuple[int, ...]
) -> None:
    printed = str(default.explain("advantages", n=n, t=4, depth=5))
    A, delta = golden.DEFAULT_TOKENS["advantages"][n - 1], golden.DEFAULT_TOKENS["td_errors"][n - 1]
    for i, t in enumerate(words):
        error = f"({shown(delta[i])})" if delta[i] < 0 else shown(delta[i])
        later = A[i + 1] if i + 1 < len(A) else 0
        factor = f"({shown(later)})" if later < 0 else shown(later)
        assert f"{error} + 1·0.9·0.8·{factor} = {shown(A[i])}" in printed
        assert f"A[{n}, {t}] = {shown(A[i])}  (advantages, " in printed


def shown(value: float) -> str:
    """Prints a golden number as the explanation does."""
    return f"{value:.4f}".rstrip("0").rstrip(".").replace("-", "−")


def test_the_head_says_which_word_is_read_and_written(default: Book) -> None:
    lines = str(default.explain("advantages", n=1, t=4)).splitlines()
    assert lines[0] == "episode n = 1, decision t = 4: reads “is”, writes “very”, m = 1"
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
        f"episode n = 1, decision t = 3: writes “{word}”, m = 1"
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


# (what is asked for, the block that is found)
NAMED = [
    ("advantages", "advantages"), ("Advantages", "advantages"), ("A", "advantages"), ("δ", "td_errors"),
    ("ρ", "ratio"), ("old_logprobs", "old.logprobs"), ("OLD.LOGPROBS", "old.logprobs"), ("V", "critic.values"),
    ("L", "total_loss"), ("log π_θ", "policy.logprobs"),
]  # fmt: skip


@pytest.mark.parametrize(("asked", "name"), NAMED)
def test_blocks_are_found_by_name_and_symbol(default: Book, asked: str, name: str) -> None:
    assert default.block_named(asked).name == name


REFUSED = [
    ("advantges", {}, "there is no block 'advantges': did you mean advantages, advantage.abs or advantages_used?"),
    ("zzzzzz", {}, "there is no block 'zzzzzz'"),
    ("z", {}, "z stands for old.logits, reference.logits and policy.logits: write one of these names"),
    ("advantages", {}, "a cell of advantages is named by (n=…, t=…), not by ()"),
    ("advantages", {"n": 3, "t": 1}, "advantages has no n = 3: episodes run 1 … 2"),
    ("advantages", {"n": 1, "t": 10}, "advantages has no t = 10: decisions run 1 … 9"),
    ("old.p", {"n": 1, "t": 4, "v": "vry"},
     "old.p has no v = vry: word ids are <eos>, the, old, dog, is, very, sleepy, happy"),
    ("gamma", {"depth": 0}, "depth 0: an explanation goes 1 step down or more"),
    ("Lss!N14", {}, "there is no sheet Lss: did you mean Loss?"),
    ("Loss!N", {}, "Loss!N is no address of one cell: write the sheet and the cell, such as 'Loss!N51'"),
    ("Loss!N1048577", {}, "Loss!N1048577 is no address of one cell: the last one of the sheet is Loss!XFD1048576"),
    ("Loss!XFE1", {}, "Loss!XFE1 is no address of one cell: the last one of the sheet is Loss!XFD1048576"),
    ("Loss!N" + 5000 * "9", {},
     f"Loss!N{5000 * '9'} is no address of one cell: the last one of the sheet is Loss!XFD1048576"),
    ("Loss!XFD1048576", {},
     "Loss!XFD1048576 belongs to no block: ask for a block by its name, which stands on the sheet Contents"),
]  # fmt: skip


@pytest.mark.parametrize(("asked", "members", "sentence"), REFUSED)
def test_what_is_not_there_is_refused_in_a_sentence(
    default: Book, asked: str, members: dict[str, int | str], sentence: str
) -> None:
    with pytest.raises(NotationError) as refused:
        default.explain(asked, **members)  # type: ignore[arg-type]
    assert str(refused.value) == sentence


def test_an_address_with_members_is_refused(default: Book) -> None:
    cell = default.show("total_loss").cell
    with pytest.raises(NotationError, match=r"is one cell already: leave out n and t$"):
        default.explain(cell, n=1, t=2)


def test_beside_a_row_the_row_is_named(default: Book) -> None:
    sheet, row = "Loss", int(re.sub(r".*\D", "", default.show("ratio", n=1, t=1).cell))
    first, last = (re.sub(r"\d+", "", default.show("ratio", n=1, t=t).cell.partition("!")[2]) for t in (1, 8))
    again, end = (re.sub(r"\d+", "", default.show("ratio", n=2, t=t).cell.partition("!")[2]) for t in (1, 8))
    with pytest.raises(NotationError) as refused:
        default.explain(f"{sheet}!B{row}")
    columns = f"columns {first} to {last} and {again} to {end}"
    assert str(refused.value) == f"Loss!B{row} belongs to no block: row {row} holds ρ (ratio), {columns}"


FOLLOW = "if it shows what stands elsewhere, follow the link beside it"
NAME = "ask for a block by its name, which stands on the sheet Contents"


@pytest.mark.parametrize(("cell", "hint"), [("Contents!A5", FOLLOW), ("Contents!A3", NAME), ("Loss!A900", NAME)])
def test_far_from_every_block_a_link_is_pointed_to_if_there_is_one(default: Book, cell: str, hint: str) -> None:
    with pytest.raises(NotationError) as refused:
        default.explain(cell)
    assert str(refused.value) == f"{cell} belongs to no block: {hint}"


def test_a_cell_that_shows_another_one_leads_there(default: Book) -> None:
    echo = next(echo for echo in default.layout.echoes if echo.block.name == "total_loss")
    shown, cell = f"{echo.sheet}!{grid.letters(echo.column)}{echo.row + 1}", default.show("total_loss").cell
    told = default.explain(shown.lower())
    assert told.name == "total_loss"
    assert told.head[-1] == f"{shown} shows {cell}"


def test_a_formula_of_the_page_that_only_repeats_a_block_leads_there(default: Book) -> None:
    live = next(live for live in default.layout.lives if live.formula == "=kl_coef")
    shown = f"{live.sheet}!{grid.letters(live.column)}{live.row + 1}"
    told = default.explain(shown)
    assert (told.name, told.head[-1]) == ("kl_coef", f"{shown} shows {default.show('kl_coef').cell}")


@pytest.mark.parametrize(
    ("formula", "reference"),
    [("=kl_coef", "kl_coef"), ("=Loss!$N$40", "Loss!$N$40"), ("='Old policy'!P5", "'Old policy'!P5"), ("=A1+1", None),
     ("=SUM(A1)", None), ("=A1:B2", None), ("0.5", None), (None, None)],
)  # fmt: skip
def test_a_formula_repeats_what_it_plainly_refers_to(formula: str | None, reference: str | None) -> None:
    assert repeated(formula) == reference


# The formulas of the workbook are spelled by another part of the program: what they refer to must be what is told.
REFERENCE = re.compile(
    r"""(?:(?P<sheet>'(?:[^']|'')+'|\w+)!)?\$?(?P<left>[A-Z]{1,3})\$?(?P<top>\d+)"""
    r"""(?::\$?(?P<right>[A-Z]{1,3})\$?(?P<bottom>\d+))?(?![\w(])|(?P<name>[a-zA-Z_]\w*)(?![\w(!'])"""
)
PICKS = ("INDEX", "CHOOSE", "SUM", "MAX(", "MATCH")
"""Functions to which a formula gives more cells than the number comes from."""

Place = tuple[str, str]


@cache
def links(of: Book) -> set[Place]:
    """Returns the cells that only repeat another one."""
    listed = (run for run in runs(of.layout) if run.block.link)
    return {(run.sheet, f"{grid.letters(column)}{run.row + 1}") for run in listed for column in run.columns}


@cache
def formulas(of: Book) -> dict[Place, str]:
    """Returns the formula of every cell of a block, "" for a typed one, by sheet and address."""
    found = {}
    for run in runs(of.layout):
        for i, column in enumerate(run.columns):
            address = f"{grid.letters(column)}{run.row + 1}"
            found[run.sheet, address] = run.formulas[i] if run.formulas else ""
    return found


def precedents(of: Book, place: Place) -> Iterator[Place]:
    """Yields the cells of blocks to which a formula refers, those that only repeat another cell followed."""
    for cell in _referred(of, place):
        while cell in links(of):
            (cell,) = _referred(of, cell)
        yield cell


def _referred(of: Book, place: Place) -> list[Place]:
    formula = re.sub(r'"[^"]*"', "", formulas(of)[place])
    named = {defined_name(each): each for each in of.blocks.values() if not each.axes}
    found = []
    for match in REFERENCE.finditer(formula):
        if match["name"]:
            if match["name"] in named:
                found.append(_split(of.show(named[match["name"]]).cell))
            continue
        sheet = (match["sheet"] or place[0]).strip("'")
        left, right = _column(match["left"]), _column(match["right"] or match["left"])
        rows = range(int(match["top"]), int(match["bottom"] or match["top"]) + 1)
        cells = [(sheet, f"{grid.letters(c)}{row}") for row in rows for c in range(left, right + 1)]
        found += [cell for cell in cells if cell in formulas(of)]
    return found


@cache
def _column(letters: str) -> int:
    return next(i for i in range(20_000) if grid.letters(i) == letters)


def _split(cell: str) -> Place:
    sheet, _, address = cell.rpartition("!")
    return sheet.strip("'"), address


def cells_of(of: Book, seed: int, most: int) -> Iterator[Explanation]:
    """Yields explanations, one step deep, of a few cells of every block, links left out."""
    pick = random.Random(seed)
    for each in of.blocks.values():
        spot = of.spots[each.name]
        listed = list(spot.cells())
        for places in pick.sample(listed, min(most, len(listed))):
            if not each.link:
                members = {axis.letter: place + axis.start for axis, place in zip(each.axes, places, strict=True)}
                yield of.explain(each, depth=1, **members)


@pytest.mark.parametrize("numbers", ["default", "very-very-sleepy"])
def test_what_a_cell_reads_is_what_its_formula_refers_to(numbers: str) -> None:
    of = made("ppo.kl_estimator=k3", numbers=numbers)
    picked = plain = 0
    for told in cells_of(of, 7, 4):
        formula = formulas(of)[_split(told.cell)]
        reads = {_split(each.cell) for each in told.reads}
        refers = set(precedents(of, _split(told.cell))) if formula else set()
        assert reads <= refers, told
        if any(word in formula for word in PICKS):
            picked += 1
        else:
            plain += 1
            assert reads == refers, told
    assert picked > 20
    assert plain > 60


NUMBER = re.compile(r"(?<![\w.])−?\d+(?:\.\d+)?(?:e[+−]\d+)?")


@pytest.mark.parametrize("numbers", ["default", "very-very-sleepy"])
def test_the_numbers_of_a_line_are_those_of_the_cells_that_are_read(numbers: str) -> None:
    of = made(numbers=numbers)
    lines = 0
    for told in cells_of(of, 8, 4):
        assert told.numbers.endswith(f"= {number(told.value).text}" if told.equation else number(told.value).text)
        if not told.reads or "…" in told.numbers:
            continue
        lines += 1
        line = told.numbers.rpartition(" = ")[0]
        operands = {number(each.value).text for each in told.reads}
        allowed = {text.lstrip("−") for text in operands} | {"0", "1", "2"} | {str(told.at.get("t"))}
        assert {text.lstrip("−") for text in NUMBER.findall(line)} <= allowed, told
        formula = formulas(of)[_split(told.cell)]
        if not any(word in formula for word in ("INDEX", "CHOOSE")):
            assert all(text in line for text in operands), told
    assert lines > 60


def test_every_cell_is_told_once_and_the_value_is_the_books(default: Book) -> None:
    told = default.explain("total_loss", depth="all")
    left, seen = [told], {}
    while left:
        each = left.pop()
        if (each.name, tuple(each.at.values())) not in seen:
            seen[each.name, tuple(each.at.values())] = each
            left += each.reads
        assert seen[each.name, tuple(each.at.values())] is each
    assert not any(each.more for each in seen.values())
    for each in list(seen.values())[::25]:
        shown = default.show(each.name, **each.at)
        assert (each.cell, each.equation or "typed", each.numbers) == (
            shown.cell, "typed" if each.typed else shown.equation, shown.numbers,
        )  # fmt: skip
    text = str(told)
    assert text.count("A[1, 4] = 0.6675  (advantages, ") == 1
    assert "marked …" not in text


def test_the_latex_of_every_block_has_its_brackets_in_pairs(default: Book) -> None:
    for told in cells_of(default, 9, 1):
        spelled = told.latex()
        plain = re.sub(r"\\[{}]", "", spelled)
        assert plain.count("{") == plain.count("}"), told
        assert spelled.count(r"\left") == spelled.count(r"\right"), told
        assert spelled.isascii() or told.value == "", told
        assert spelled.count("&=") >= 1


def test_the_latex_of_a_sum_of_products(default: Book) -> None:
    spelled = default.explain("policy_loss", depth=1).latex().splitlines()
    assert spelled[1] == r"L_{\pi} &= -\frac{\sum_{n,t} m_{n, t} \, {U_{\text{min}}}_{n, t}}{N} \\"
    terms = (
        r"1 \cdot 0.3625 + 1 \cdot 0.1065 + 1 \cdot 0.8866 + 1 \cdot 1.2044 + 1 \cdot \left( -0.8496 \right) + 1 \cdot"
    )
    assert spelled[2].startswith(rf"L_{{\pi}} &= -\frac{{{terms}")
    assert spelled[2].endswith(r"{6} = 0.0129 \\[1ex]")


def test_words_with_signs_of_latex_are_escaped() -> None:
    word, flag = typed("word", (), "w", text=True), block("is_word", (), "f")
    told = typed("told", (), "t", text=True)
    flag[()] = equal(word, told)
    t = Axis("t", "step")
    x = typed("x", (t,))
    made_here = book("Words", [x, word, told, flag], t, {x: [1], word: "50%_{}", told: "a&b"})
    assert r"\left[ \text{``50\%\_\{\}''} = \text{``a\&b''} \right] = 0" in made_here.explain("is_word").latex()
