"""Workbooks with live conventions, from logits, of classic PPO and of the KL controller become books again."""

from __future__ import annotations

import re
from dataclasses import replace
from math import inf
from pathlib import Path
from typing import Any

import openpyxl
import pytest

from blueprint import Book
from blueprint.inputs import load
from blueprint.language.trees import OFF_WORD
from blueprint.page import grid
from blueprint.reopening import back_from, back_of, book_of
from tests.page.workshop import differing, made, save_made
from tests.reopening.alike import fields_that_differ
from tests.reopening.kinds import KINDS, book_of_kind
from tests.reopening.typing_in import refusal, typed_into, untouched


def arrays(of: Book) -> dict[str, Any]:
    """Returns all blocks by name."""
    return {each.name: array for each, array in of.values.arrays.items()}


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_book_is_the_book(kinds: Path, kind: str) -> None:
    of, saved = book_of_kind(kind), untouched(kinds / f"{kind}.xlsx")
    assert differing(of, arrays(saved), 0) == []
    assert saved.blueprint.facts == of.blueprint.facts
    ranges = {block.name: ends for block, ends in of.blueprint.ranges.items()}
    assert {block.name: ends for block, ends in saved.blueprint.ranges.items()} == ranges


@pytest.mark.parametrize("kind", KINDS)
def test_its_numbers_come_back(kinds: Path, kind: str) -> None:
    name, *overrides = KINDS[kind]
    back = back_of(untouched(kinds / f"{kind}.xlsx"))
    expected = replace(load(name, overrides), name=name)
    assert fields_that_differ(expected, back.numbers) == []
    assert (back.unheld, back.remarks) == ([], [])


OTHERS = (
    ("grpo-batch", "preset=verl_grpo", "kl.coef=0.07", "loss.clip_high=off"),
    ("dpo-batch", "preset=openrlhf", "dpo.beta=0.07", "logp.alpha=0.5"),
    ("dpo", "policy.update_step=0.5", "dpo.beta=0.2"), ("dpo", "update.by=sgd", "update.epochs=1"),
    ("sft", "update.epochs=1", "sft.microbatches=2"), ("sft-batch", "preset=verl_b178a3c", "sft.packing=wrapped"),
)  # fmt: skip


@pytest.mark.parametrize("asked", OTHERS, ids=str)
def test_so_do_those_of_other_kinds(asked: tuple[str, ...], tmp_path: Path) -> None:
    name, *overrides = asked
    back = back_from(save_made(tmp_path / "a.xlsx", *overrides, numbers=name))
    assert (fields_that_differ(load(name, overrides), back.numbers), back.unheld, back.remarks) == ([], [], [])


@pytest.mark.parametrize("kind", KINDS)
def test_an_untouched_file_explains_as_the_book_does(kinds: Path, kind: str) -> None:
    of, saved = book_of_kind(kind), untouched(kinds / f"{kind}.xlsx")
    result = of.blueprint.result
    assert result is not None
    told = saved.explain(result.name, depth=4)
    ours = of.explain(result, depth=4)
    assert (str(told), told.to_dict(), told.latex()) == (str(ours), ours.to_dict(), ours.latex())
    assert "the file says" not in str(told)
    assert str(saved.explain(told.cell, depth=4)) == str(told)


@pytest.mark.parametrize("kind", KINDS)
def test_blocks_are_found_by_the_address_of_one_of_their_cells(kinds: Path, kind: str) -> None:
    of = untouched(kinds / f"{kind}.xlsx")
    for i, (name, found) in enumerate([*of.file.places.items()][::5]):
        cells = list(found.cells())
        at, row, column = cells[i * 7 % len(cells)]
        told = of.explain(f"{found.sheet}!{openpyxl.utils.get_column_letter(column)}{row}", depth=1)
        value = arrays(of)[name][at]
        if of.blocks[name].limit and value == inf:  # arrays compute with infinity, cells say the word
            value = OFF_WORD
        assert told.value == value or (value != value and told.value != told.value), name
        assert told.name == name or of.blocks[name].link


def test_an_edited_cell_of_the_table_of_presets_counts(kinds: Path, tmp_path: Path) -> None:
    saved = book_of(typed_into(kinds / "logits.xlsx", tmp_path / "edited.xlsx", "presets.gamma", (5,), 0.25))
    told = saved.explain("library.gamma", l="verl", depth="all")
    assert (told.value, told.label) == (0.25, "γ_l[“verl”]")
    typed = next(each for each in told.reads if each.name == "presets.gamma")
    assert (typed.typed, typed.label) == (True, "γ_table[“verl”]")
    assert saved.explain("library.gamma", l="openrlhf").value == 1
    assert saved.explain("gamma").value == 0.9


def test_a_mask_with_a_hole_is_taken_as_it_is(kinds: Path, tmp_path: Path) -> None:
    before = book_of_kind("logits")
    saved = book_of(typed_into(kinds / "logits.xlsx", tmp_path / "hole.xlsx", "mask", (0, 1), 0))
    assert (before.explain("mask", n=1, t=2).value, saved.explain("mask", n=1, t=2).value) == (1, 0)
    assert saved.explain("response.length", n=1).value == float(before.explain("response.length", n=1).value) - 1
    assert saved.explain("advantages_used", n=1, t=2).value == 0


def test_another_action_is_taken_by_its_number(kinds: Path, tmp_path: Path) -> None:
    before = book_of_kind("classic")
    other = int(before.values.cell(before.blocks["actions"], 0, 1)) - 1
    saved = book_of(typed_into(kinds / "classic.xlsx", tmp_path / "acted.xlsx", "actions", (0, 1), other))
    told = saved.explain("old.logprobs", n=1, t=2, depth=1)
    assert (
        told.value
        == before.explain("old.log_p", n=1, t=2, a=other).value
        != before.explain("old.logprobs", n=1, t=2).value
    )


@pytest.mark.parametrize("kind", ["default", *KINDS])
def test_a_copy_moved_and_without_properties_has_all_but_the_name_and_the_seed(
    folder: Path, kinds: Path, tmp_path: Path, kind: str
) -> None:
    """Saved by openpyxl: without the numbers of formulas."""
    copy = openpyxl.load_workbook(folder / "default.xlsx" if kind == "default" else kinds / f"{kind}.xlsx")
    for prop in list(copy.custom_doc_props.props):
        del copy.custom_doc_props[prop.name]
    copy.properties.title = None
    copy.move_sheet("Contents", -len(copy.sheetnames) + 1)
    copy.save(tmp_path / "mine.xlsx")
    saved, (name, *overrides) = book_of(tmp_path / "mine.xlsx"), KINDS.get(kind, ("default",))
    assert saved.sheets[0] == "Contents"
    assert differing(made(*overrides, numbers=name), arrays(saved), 0) == []
    back = back_of(saved)
    assert fields_that_differ(load(name, overrides), back.numbers) == ["name"]
    assert back.numbers.name == "mine"
    assert back.unheld == []


REFUSED: list[tuple[str, str, tuple[int, ...], object, str]] = [
    ("classic", "preset", (), "sb4", "{cell}: found 'sb4', did you mean sb3?"),
    ("classic", "preset", (), None, "{cell}: blank, but it is searched for: type a word"),
    ("live", "library.names", (0,), "nonsense thing",
     "{cell}: found 'nonsense thing', expected one of default, openai, trl_0.11.4, trl_1.12, openrlhf, verl, trlx, dschat, "
     "nemo_aligner, nemo_rl, torchtune"),
    ("logits", "word_written", (0, 1), None, "{cell}: blank, but it is searched for: type a word"),
    ("logits", "old.logits", (0, 1, 2), "x", "{cell}: found 'x', expected a number"),
    ("live", "vocabulary", (3,), 42, "{cell}: found 42, expected a word"),
    ("live", "presets.loss.aggregation", (5,), "all",
     "{cell}: found 'all', expected one of token-mean, token-sum, seq-mean-token-sum, seq-mean-token-sum-norm, "
     "seq-mean-token-mean; loss.aggregation.number (@) has no number: “the o whose alternatives[o] = agg_is” finds nothing; "
     "agg_choice = the o whose alternatives[o] = agg_is"),
    ("classic", "actions", (0, 1), 9,
     "{cell}: found 9, expected 0 … 3; old.logprobs (n = 1, t = 2, @) has no number: "
     "“log p[n, t, a_t[n, t]]” looks up a member that old.log_p does not have; log π_old = log p[n, t, a_t[n, t]]"),
    ("controller", "horizon.yours", (), 0,
     "{cell}: found 0, expected 1 … 1e+06; factor (u = 1, @) has no number: "
     "51.2 cannot be divided by 0; f = 1 + e[u]·n / K = 1 + 0.2·256 / 0"),
]  # fmt: skip


@pytest.mark.parametrize(("kind", "name", "at", "value", "sentence"), REFUSED)
def test_what_cannot_be_computed_with_is_refused_with_its_cell(
    kinds: Path, tmp_path: Path, kind: str, name: str, at: tuple[int, ...], value: object, sentence: str
) -> None:
    path = typed_into(kinds / f"{kind}.xlsx", tmp_path / "refused.xlsx", name, at, value)
    of = untouched(kinds / f"{kind}.xlsx")
    cell = of.file.where(name, at).removeprefix(f"{of.file.path}, ")
    said, sheets = refusal(path), "|".join(re.escape(grid.quoted_title(sheet)) for sheet in of.sheets)
    assert re.sub(rf"({sheets})![A-Z]+[0-9]+(?=\) has no number)", "@", said) == sentence.format(cell=cell)


def test_what_the_result_does_not_read_is_no_reason_to_refuse(kinds: Path, tmp_path: Path) -> None:
    """A length of 0: the KL of a token is 10 / 0, but the coefficient follows the KL of whole responses."""
    saved = book_of(typed_into(kinds / "controller.xlsx", tmp_path / "unread.xlsx", "responses.length", (0, 0), None))
    assert {block.name for block in saved.values.roots} == {"responses.kl_per_word"}
    said = "no number: 10 cannot be divided by 0; the result does not read it"
    assert said in str(saved.explain("responses.kl_per_word", u=1, i=1)).splitlines()


def test_a_word_of_the_table_that_nothing_uses_is_no_reason_to_refuse(kinds: Path, tmp_path: Path) -> None:
    saved = book_of(typed_into(kinds / "live.xlsx", tmp_path / "unused.xlsx", "presets.loss.aggregation", (1,), "mine"))
    assert differing(book_of_kind("live"), arrays(saved), 0) == ["presets.loss.aggregation"]


def test_the_norm_is_that_of_the_rows_whatever_is_typed(kinds: Path, tmp_path: Path) -> None:
    saved = book_of(typed_into(kinds / "classic.xlsx", tmp_path / "norm.xlsx", "value_norm.built", (), "smooth_l1"))
    assert "value.size" not in saved.blocks
    assert "value.size" in untouched(kinds / "smooth.xlsx").blocks
