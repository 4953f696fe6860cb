"""Numbers of level "preferences": what is asked for is what the losses in use read, and shapes that do not fit are told why."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from copy import deepcopy
from typing import Any

import pytest

from blueprint.book import Book
from blueprint.inputs import NumbersError, load, read, toml_of
from blueprint.workbooks.dpo.schema import READ_BY
from blueprint.workbooks.registry import blueprint_of, kind_named

RAW = read("dpo-batch").raw
FIRST = "the first token of a text, which nothing predicts, has no entry."
NOT_THERE = "mismatched.texts, mismatched.response, mismatched.policy, mismatched.reference"
Change = Callable[[dict[str, Any]], object]


def without(*tables: str) -> dict[str, Any]:
    return {key: deepcopy(each) for key, each in RAW.items() if key not in tables}


def said(raw: dict[str, Any], *overrides: str) -> str:
    with pytest.raises(NumbersError) as refused:
        load(raw, list(overrides))
    return str(refused.value)


READ = {word: table for table, readers in READ_BY.items() for _, words in readers for word in words}


@pytest.mark.parametrize("form", kind_named("dpo").part("settings")["loss.form"].words)
def test_a_loss_asks_for_what_it_reads_alone(form: str) -> None:
    """What reads a table has another loss with other numbers in it; what reads none has the same without it."""
    changed = without()
    changed["rewards"]["true"] = [each + 1.25 * place for place, each in enumerate(changed["rewards"]["true"])]
    changed["mismatched"]["policy"] = changed["policy"]["logits"]
    losses = [_loss(raw, form) for raw in (RAW, changed)]
    if form not in READ:
        assert losses[0] == losses[1] == _loss(without("rewards", "mismatched"), form)
        return
    assert losses[0] != losses[1]
    missing = {"rewards": "rewards.true", "mismatched": NOT_THERE}[READ[form]]
    assert said(without(READ[form]), f"loss.form={form}") == (
        f'{missing.partition(",")[0]}: found nothing, and loss.form = "{form}" reads it, expected {missing}; or another loss.'
    )


def _loss(raw: dict[str, Any], form: str) -> float:
    book = Book(blueprint_of(load(raw, [f"loss.form={form}"])))
    assert book.blueprint.result is not None
    return float(book.values.cell(book.blueprint.result))


@pytest.mark.parametrize("override", ["preset=trl_1.16_kto", "compare=trl_1.16,trl_1.16_kto", "compare=all"])
def test_presets_in_use_and_side_by_side_ask_for_what_they_read(override: str) -> None:
    assert said(without("mismatched"), override).startswith("mismatched.texts: found nothing, and loss.form = ")


def test_what_is_left_out_stays_so_in_a_written_file() -> None:
    text = toml_of(load(without("rewards", "mismatched")))
    assert tomllib.loads(text).keys() & {"rewards", "mismatched"} == set()
    assert "mismatched" not in toml_of(load(tomllib.loads(text)))


def test_a_part_of_the_mismatched_texts_is_refused() -> None:
    raw = without()
    del raw["mismatched"]["response"]
    assert said(raw) == f"mismatched.response: found nothing, expected all of {NOT_THERE}, or none of them."


def _longer(raw: dict[str, Any]) -> None:
    raw["text"]["texts"] = [[*row, "<pad>"] for row in raw["text"]["texts"]]


def _with_the_first(raw: dict[str, Any]) -> None:
    raw["mismatched"]["texts"] = raw["text"]["texts"]


def _there_too_long(raw: dict[str, Any]) -> None:
    raw["text"]["there"] = [[*row, 0] for row in raw["text"]["there"]]


@pytest.mark.parametrize(
    ("change", "sentence"),
    [
        (_longer, f"text.texts, row 1: found 10 tokens, expected 9, one more than text.response has positions; {FIRST}"),
        (_with_the_first, f"mismatched.texts, row 1: found 9 tokens, expected 8, one per position, as text.response has; {FIRST}"),
        (_there_too_long, f"text.there, row 1: found 9 numbers, expected 8, one per position, as text.response has; {FIRST}"),
    ],
)  # fmt: skip
def test_a_row_that_does_not_fit_is_told_why(change: Change, sentence: str) -> None:
    raw = without()
    change(raw)
    assert said(raw) == sentence


def test_the_same_of_demonstrations() -> None:
    raw = deepcopy(read("sft-batch").raw)
    raw["text"]["texts"] = [[*row, row[-1]] for row in raw["text"]["texts"]]
    width = len(raw["text"]["response"][0])
    assert said(raw) == (
        f"text.texts, row 1: found {width + 2} tokens, expected {width + 1}, one more than text.response has positions; {FIRST}"
    )
