"""Handouts: what is asked on paper, and that what is given on it tells no answer."""

from pathlib import Path

import pytest

from blueprint.inputs import load
from blueprint.workbooks.registry import blueprint_of
from blueprint.worksheets import Asked, Worksheet, WorksheetError, worksheet
from blueprint.worksheets.handout import accented, check_paper, handout, print_handout
from tests.page.workshop import MAINS
from tests.worksheets.finder import answers_in
from tests.worksheets.on_paper import Paper

CELLS = ["old_critic.out@n=1,t=5", "td_errors@n=1,t=5", "advantages@n=1,t=5", "entropy", "total_loss"]


@pytest.fixture(scope="module")
def made() -> Worksheet:
    """Five blanks that build on each other."""
    asked = [Asked(title, 2 if title == "entropy" else 1) for title in CELLS]
    return worksheet(blueprint_of(load("default", [])), asked, check=True)


def test_each_blank_has_its_equation_and_what_it_reads(made: Worksheet) -> None:
    value, error, advantage, entropy, loss = handout(made).tasks
    assert (error.number, error.wanted, error.asks, entropy.weight) == (2, "δ[1, 5]", "number", 2)
    assert error.equation == "δ[n, t] = m[n, t]·(r[n, t] + γ·V_old[n, t + 1] − V_old[n, t])"
    assert error.given == (
        "m[1, 5] = 1", "r[1, 5] = 0.026693", "γ = 0.900", "V_old[1, 6] = 0.322382", "V_old[1, 5] follows from blank 1",
    )  # fmt: skip
    assert "δ[1, 5] is blank 2" in advantage.given
    assert "H_mean is blank 4" in loss.given
    assert [task.digits for task in (value, error)] == [blank.check for blank in made.blanks[:2]]
    assert advantage.stands == made.cells_of(made.blanks[2])[0]


LARGE = {"q-learning": "by-hand-q-learning"}
"""What stands for a kind whose workbook has more numbers than fit on paper."""
KINDS = [*(LARGE.get(name, name) for name in MAINS.values()), "very-very-sleepy", "epochs", "grpo-batch", "sft-batch"]


@pytest.mark.parametrize("name", KINDS)
def test_each_blank_is_solved_from_what_is_printed(name: str) -> None:
    """With the equations on paper, the numbers on it, and the answers of other blanks, each comes out to the digits of its cell."""
    made = worksheet(blueprint_of(load(name, [])))
    for blank, solved in zip(made.blanks, Paper(made).solved(), strict=True):
        answer = made.answers[blank.title][0]
        assert abs(solved - answer) <= 0.5 * 10.0**-blank.block.about.decimals, (blank.title, solved, answer)


def test_a_number_that_is_not_printed_is_missed() -> None:
    made = worksheet(blueprint_of(load("very-very-sleepy", [])), [Asked("advantages@n=1,t=1")])
    paper = Paper(made)
    del paper.printed["γ"]
    with pytest.raises(AssertionError, match="γ is not on paper"):
        paper.solved()


def test_what_is_given_tells_no_answer(made: Worksheet) -> None:
    missing = {blank.title: (made.answers[blank.title][0], blank.block.about.decimals) for blank in made.blanks}
    on_paper = handout(made)
    assert [name for text in (*on_paper.steps, *on_paper.numbers) for name in answers_in(text, missing)] == []
    for task in on_paper.tasks:
        asked = (task.title, task.wanted, task.equation, task.stands, *task.given)
        assert [name for text in asked for name in answers_in(text, missing)] == []
        assert [*answers_in(task.answer, missing)] == [made.blanks[task.number - 1].title]


def test_it_is_printed_with_the_answers_on_pages_of_their_own(made: Worksheet, tmp_path: Path) -> None:
    print_handout(handout(made), tmp_path / "asked.pdf", answers=False)
    print_handout(handout(made), tmp_path / "told.pdf", answers=True)
    pages = [(tmp_path / name).read_bytes().count(b"/Type /Page ") for name in ("asked.pdf", "told.pdf")]
    assert pages == [2, 3]
    print_handout(handout(made), tmp_path / "again.pdf", answers=True)
    assert (tmp_path / "again.pdf").read_bytes() == (tmp_path / "told.pdf").read_bytes()


def test_rows_ask_for_their_formula(tmp_path: Path) -> None:
    rows = worksheet(blueprint_of(load("very-very-sleepy", [])), [Asked("section:GAE")], 3)
    tasks = handout(rows).tasks
    assert {task.asks for task in tasks} == {"formula"}
    print_handout(handout(rows), tmp_path / "rows.pdf", answers=True)


@pytest.mark.parametrize("name", MAINS.values())
def test_a_hat_stands_above_its_letter(name: str) -> None:
    """The font sets r and a hat that is a sign of its own so that the hat is above the bracket that follows."""
    from matplotlib.figure import Figure

    assert accented("r\u0302[n] = $1, β·r_w[n]") == r"$\mathrm{\hat{r}}$[n] = \$1, β·r_w[n]"
    assert accented("Â = $1") == "Â = $1"
    figure = Figure()
    for block in blueprint_of(load(name)).blocks():
        spelled = accented(f"{block.symbol}[n] = 1")
        assert not {"\u0302", "\u0304"} & {*spelled}
        if "$" in spelled:
            figure.text(0, 0, spelled).get_window_extent()  # matplotlib reads it, or raises


def test_only_a_pdf_is_paper() -> None:
    with pytest.raises(WorksheetError, match=r"--print a.docx does not end in .pdf"):
        check_paper(Path("a.docx"))


def test_several_cells_follow_from_blanks_and_one_follows() -> None:
    said = [text for task in handout(worksheet(blueprint_of(load("default", [])), 12)).tasks for text in task.given]
    several = {"], " in text.partition(" follow")[0] for text in said if " follow from blank" in text}
    assert several == {True}
    assert not any("], " in text.partition(" follows")[0] for text in said if " follows from blank" in text)
