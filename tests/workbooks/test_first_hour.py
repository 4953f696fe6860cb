"""First hour: every change is typed into a workbook of every kind and recalculated; numbers and sentences are held against it."""

from __future__ import annotations

import csv
from functools import cache

import numpy as np
import pytest

from blueprint.inputs import load
from blueprint.page.outline import Entry, Note
from blueprint.workbooks.common.guides import LIVE_NUMBER, MEASURED, UNMEASURED, all_tries, tries
from tests.page.workshop import Array, made
from tests.workbooks.tried import FIRST, TABLE, Tried, built_ins, moved, watched

"""Built-in numbers, and the default with live conventions, for which no numbers are told."""


@cache
def told() -> dict[tuple[str, str], tuple[float, float]]:
    """Returns what the package says was measured, by numbers and change."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    found = {(row["numbers"], row["do"]): (float(row["before"]), float(row["after"])) for row in rows}
    assert len(found) == len(rows)
    return found


WORKBOOKS = (*((name, ()) for name in dict.fromkeys(name for name, _ in told())), ("default", ("conventions=live",)))
"""The numbers that were measured; that these are all that have the sheet is a test below."""


def first_hour(numbers: str, *overrides: str) -> tuple[list[str], list[Entry], tuple[str, ...]]:
    """Returns what stands on the sheet: notes, rows, and heads of the columns."""
    sheet = next(each for each in made(*overrides, numbers=numbers).blueprint.sheets if each.title == "First hour")
    items, (section,) = list(sheet.items()), sheet.sections
    notes = [item.text for item in items if isinstance(item, Note)]
    return notes, [item for item in items if isinstance(item, Entry)], section.columns


@pytest.mark.parametrize(("numbers", "overrides"), WORKBOOKS, ids=lambda each: str(each))
def test_what_one_will_see_is_what_one_sees(numbers: str, overrides: tuple[str, ...]) -> None:
    """Each change is typed, the file is recalculated; the number to watch, and each claim of the sentence, are looked up."""
    tried, wrong = Tried(numbers, *overrides), []
    for change in tries(tried.blocks):
        tried.type(change.type, change.first)
        before, after = watched(tried, change)
        wrong += [f"{change.do}: {name} {claim}" for name, claim in change.sees.items() if not tried.holds(name, claim)]
        if not overrides and told().get((numbers, change.do)) != pytest.approx((before, after), rel=0, abs=1e-8):
            wrong.append(f"{change.do}: measured {before} → {after}")
        if before == after:
            wrong.append(f"{change.do}: the number to watch stays {before}")
        tried.undo(change.type, change.first)
    assert wrong == []


def test_every_change_claims_something_and_every_measured_one_is_there() -> None:
    assert all(change.sees and change.watch for change in all_tries())
    asked = [(numbers, change.do) for numbers in built_ins() for change in tries(made(numbers=numbers).blocks)]
    assert sorted(asked) == sorted(told())
    assert {numbers for numbers, _ in asked} >= {"default", "epochs", "grpo", "dpo", "sft", "reward-model"}
    assert len([do for numbers, do in asked if numbers == "default"]) == 10


def test_a_claim_that_is_not_so_is_found() -> None:
    a, b = np.array([1.0, 2.0]), np.array([1.0, 1.5])
    assert [moved(claim, a, b) for claim in ("rises", "falls", "stays", "changes", "grows", "shrinks")] == [
        True, False, False, True, True, False,
    ]  # fmt: skip
    assert not moved("rises", a, a)
    assert not moved("rises", np.array([1.0, 2.0]), np.array([2.0, 1.0]))
    tried = Tried("default")
    tried.type({"gae_lambda.yours": 0.5})
    assert not tried.holds("advantages", "is td_errors")
    assert not tried.holds("returns", "sums rewards")
    assert not tried.holds("reward.penalty", "times 10")
    assert not tried.holds("mean.ratio", "is 1")
    assert not tried.holds("kl.used", "at least 0")
    assert not tried.holds("reward.penalty", "at most 0")
    assert not tried.holds("ratio", "is one per response")
    assert not tried.holds("policy_kl", "is not 0.5") or tried.now("policy_kl") != 0.5


def test_a_shift_of_all_scores_reaches_late_tokens_more_unless_gamma_and_lambda_are_1() -> None:
    """What the sentence on the kinder reward model says: A of a token moves by (γλ) to the power of the tokens behind it."""
    tried, shift = Tried("default"), {"reward_model.head.b": 0.0}

    def advantages(name: str) -> Array:
        return tried.now(name)[:4]  # of the first response

    tried.type({})
    raw, white = advantages("advantages"), advantages("advantages_used")
    tried.type(shift)
    moves = advantages("advantages") - raw
    assert moves == pytest.approx((0.9 * 0.8) ** np.arange(3.0, -1, -1), rel=1e-9)
    assert (round(white[1], 4), round(advantages("advantages_used")[1], 4)) == (0.1492, -0.0592)
    tried.type({"gamma.yours": 1, "gae_lambda.yours": 1})
    shifted = advantages("advantages_used")
    tried.undo(shift)
    tried.type({})
    assert advantages("advantages_used") == pytest.approx(shifted, abs=1e-12)


def test_the_first_token_that_is_drawn_ends_the_response() -> None:
    tried = Tried("default")
    change = next(each for each in tries(tried.blocks) if each.first)
    tried.type(change.type, change.first)
    assert tried._read("mask")[0].tolist() == [0, 0, 0, 1, 0, 0, 0, 0]
    assert tried._read("word_written")[0][FIRST] == "<eos>"


def test_measured_numbers_stand_beside_the_numbers_in_which_they_were_measured_alone() -> None:
    for numbers in built_ins():
        notes, rows, heads = first_hour(numbers)
        assert notes == [LIVE_NUMBER, MEASURED]
        assert heads[4] == "delivered → then"
        assert {len(row.cells) for row in rows} == {8}
        assert all(" → " in str(row.cells[6]) for row in rows)
        assert "−0.0000" not in "".join(str(row.cells[6]) for row in rows)
    assert first_hour("default")[1][0].cells[6] == "1.0834 → 1.0000"
    assert first_hour("default")[1][-1].cells[6] == "6 → 3"
    for overrides in (("ppo.gamma=1",), ("conventions=live",), ("gradients=on",)):
        notes, rows, heads = first_hour("default", *overrides)
        assert (notes, heads[4]) == ([LIVE_NUMBER, UNMEASURED], "")
        assert {row.cells[6] for row in rows} == {""}


def test_built_in_numbers_are_known_by_what_they_hold() -> None:
    assert [load(name).built_in for name in built_ins()] == list(built_ins())
    assert load("default", ("ppo.gamma=0.9",)).built_in in ("", "default")
    for changed in (("ppo.gamma=1",), ("seed=2", "sizes.hidden=3"), ("title=mine",)):
        assert load("default", changed).built_in == ""
