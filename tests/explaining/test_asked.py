"""What one can ask for, by name, symbol and address, and what is refused."""

from __future__ import annotations

import re

import pytest

from blueprint import Book
from blueprint.explaining.cells import repeated
from blueprint.notation import NotationError
from blueprint.page import grid
from tests.page.workshop import made

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
    ("zzzzzz", {}, "there is no block 'zzzzzz': the sheet Contents lists the names of all"),
    ("z", {}, "z stands for old.logits, reference.logits and policy.logits: write one of these names"),
    ("advantages", {}, "a cell of advantages is named by (n=…, t=…), and nothing is named"),
    ("advantages", {"n": 3, "t": 1}, "advantages has no n = 3: episodes run 1 … 2"),
    ("advantages", {"n": 1, "t": 10}, "advantages has no t = 10: positions run 1 … 9"),
    ("old.p", {"n": 1, "t": 4, "v": "vry"},
     "old.p has no v = vry: token ids are <eos>, the, old, dog, is, very, sleepy, happy"),
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
    shown, cell = f"{echo.sheet}!{grid.column_letters(echo.column)}{echo.row + 1}", default.show("total_loss").cell
    told = default.explain(shown.lower())
    assert told.name == "total_loss"
    assert told.head[-1] == f"{shown} shows {cell}"


def test_a_formula_of_the_page_that_only_repeats_a_block_leads_there(default: Book) -> None:
    live = next(live for live in default.layout.lives if live.formula == "=kl_coef")
    shown = f"{live.sheet}!{grid.column_letters(live.column)}{live.row + 1}"
    told = default.explain(shown)
    assert (told.name, told.head[-1]) == ("kl_coef", f"{shown} shows {default.show('kl_coef').cell}")


@pytest.mark.parametrize(
    ("formula", "reference"),
    [("=kl_coef", "kl_coef"), ("=Loss!$N$40", "Loss!$N$40"), ("='Old policy'!P5", "'Old policy'!P5"), ("=A1+1", None),
     ("=SUM(A1)", None), ("=A1:B2", None), ("0.5", None), (None, None)],
)  # fmt: skip
def test_a_formula_repeats_what_it_plainly_refers_to(formula: str | None, reference: str | None) -> None:
    assert repeated(formula) == reference


def test_a_member_that_has_a_name_goes_by_it() -> None:
    of = made("text.episodes=[1]", "compare=verl,trl_1.12", numbers="ten-libraries")
    for told in (of.explain("library.gamma", l="TRL_1.12"), of.explain("library.gamma", l=2)):
        assert (told.label, told.at) == ("γ_l[“trl_1.12”]", {"l": 2})
    assert of.show("library.gamma", l="trl_1.12") == of.show("library.gamma", l=2)
    assert of.show("old.p", n=1, t=1, v="dog") == of.show("old.p", n=1, t=1, v=4)
    assert of.explain("presets.gamma", q="verl").value == of.show("library.gamma", l="verl").value == 1
    with pytest.raises(NotationError, match=r"^library.gamma has no l = vrl: libraries are verl, trl_1.12$"):
        of.show("library.gamma", l="vrl")


def test_the_parts_of_a_joined_axis_go_by_their_letters() -> None:
    of = made("text.episodes=[1]", "compare=verl", numbers="ten-libraries")
    told = of.explain("library.differs", i="γ", l="verl", depth=1)
    assert told.label.endswith("[γ, “verl”]")
    assert told.at == {"i": 0, "l": 1}
    assert "{\\gamma, \\text{``verl''}} &= 1 - \\left[ 0.9 = 1 \\right] = 1" in told.latex()
