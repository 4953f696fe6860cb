"""Responses that are typed instead of drawn: what is written, against the references, in the file, and what it says."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from openpyxl import load_workbook

pytest.importorskip("torch", reason="PPO's page is torch: install the extra [torch]")

from blueprint.book import Book
from blueprint.language import Block, block, filled, where
from blueprint.workbooks.common import n, rollout, t
from blueprint.workbooks.common.sheets.walk import Rows
from blueprint.workbooks.rlhf_ppo.conventions_and_update import WeightNumbers
from blueprint.workbooks.rlhf_ppo.paper import PAGE
from tests.page.fits import clipped
from tests.page.workshop import located, made
from tests.papers.held import assert_holds, deviating
from tests.workbooks.building import number, plain, words_of
from tests.workbooks.random_numbers import default, random_numbers

FIXED = 'rollout.responses=["happy very <eos>", "sleepy"]'
ROWS = {"rollout.response", "rollout.forced"}
SEEDS = range(20)


def with_responses(numbers: WeightNumbers, *responses: str) -> WeightNumbers:
    """Returns the numbers with responses typed, one string for each episode."""
    return replace(numbers, responses=tuple(tuple(each.split()) for each in responses))


def at_random(seed: int) -> WeightNumbers:
    """Returns random numbers whose responses are typed in part: any number of words, some left to the draw."""
    numbers, rng = random_numbers(seed), np.random.default_rng(seed)
    choices = [*numbers.vocabulary[1:], ""]
    lengths = rng.integers(0, numbers.max_new_tokens, len(numbers.prompts), endpoint=True)
    return replace(numbers, responses=tuple(tuple(map(str, rng.choice(choices, length))) for length in lengths))


def test_the_typed_words_are_written_and_the_rest_is_drawn() -> None:
    book = plain(with_responses(default(), "happy very <eos>", "sleepy"))
    drawn = words_of(plain(default()))
    first, second = words_of(book)
    assert [default().vocabulary[each] for each in first] == ["happy", "very", "<eos>"]
    assert default().vocabulary[second[0]] == "sleepy"
    assert len(second) > 1
    assert [first, second] != drawn


@pytest.mark.parametrize("seed", SEEDS)
def test_the_page_finds_the_same(seed: int) -> None:
    book = plain(at_random(seed))
    apart = deviating(book, PAGE)
    if number(book, "response.words") == 1:  # whitening is 0/0 on the page
        apart = {name: far for name, far in apart.items() if not np.isnan(far)}
    assert apart == {}


def test_a_typed_word_that_is_not_written_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    """A mistake planted on purpose: the draw is taken although a word is typed."""

    def drawn_all_the_same(given: Rows, drawn: Block) -> tuple[Block, ...]:
        response = given["rollout.response"]
        forced = block("rollout.forced", (n, t), "takes", "id of the token", decimals=0)
        forced[n, t] = where(filled(response[n, t]), drawn[n, t], drawn[n, t])
        return response, forced

    monkeypatch.setattr(rollout, "typed_or_drawn", drawn_all_the_same)
    numbers = with_responses(default(), "happy very <eos>", "sleepy")
    with pytest.raises(AssertionError):
        assert_holds(plain(numbers), PAGE)


def test_the_random_responses_are_of_every_kind() -> None:
    sets = [at_random(seed).responses for seed in SEEDS]
    words = [response for responses in sets for response in responses]
    assert any(not response for response in words)
    assert any("" in response and any(response) for response in words)
    assert any(len(response) > 1 and all(response) for response in words)


def test_empty_responses_leave_everything_to_the_draws() -> None:
    blank, drawn = plain(with_responses(default(), "", "")), plain(default())
    found, expected = ({block.name: array for block, array in book.values.arrays.items()} for book in (blank, drawn))
    assert found.keys() - expected.keys() >= ROWS
    for name, array in expected.items():
        np.testing.assert_array_equal(found[name], array, name)


def test_without_typed_responses_there_are_no_rows_for_them() -> None:
    assert not ROWS & plain(default()).blocks.keys()


@pytest.fixture(scope="module", params=["plain", "live"])
def saved(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> tuple[Book, Path]:
    """Saves a workbook with typed responses."""
    book = made(FIXED, f"conventions={request.param}")
    path = tmp_path_factory.mktemp(request.param) / "fixed.xlsx"
    book.save(path)
    return book, path


def test_an_engine_finds_the_same(saved: tuple[Book, Path]) -> None:
    book, path = saved
    proof = book.prove(path)
    assert proof.failures == []
    assert proof.agreeing == proof.total


def test_every_word_can_be_chosen_from_the_vocabulary(saved: tuple[Book, Path]) -> None:
    _, path = saved
    found, sheet = located(path)["rollout.response"], load_workbook(path)["Old policy"]
    lists = [each for each in sheet.data_validations.dataValidation if each.type == "list"]
    vocabulary = located(path)["vocabulary"]
    for _, row, column in found.cells():
        (chosen,) = [each for each in lists if sheet.cell(row, column).coordinate in each.sqref]
        assert vocabulary.sheet in str(chosen.formula1)


def test_every_label_has_room(saved: tuple[Book, Path]) -> None:
    _, path = saved
    elsewhere = ("Walk", "Delivered", "Contents") if "Conventions" in load_workbook(path).sheetnames else ()
    assert [each for each in clipped(path) if each.sheet not in elsewhere] == []


def test_the_outside_witness_agrees(saved: tuple[Book, Path]) -> None:
    pytest.importorskip("torch", reason="the outside witness needs torch")
    from tests.checking.running import judged

    verdict = judged(saved[1])
    assert [first.what for first in verdict.firsts] == []
    assert "rollout.forced" in {line.name for line in verdict.lines}


def test_a_response_with_an_unknown_word_is_refused_by_the_page() -> None:
    pytest.importorskip("torch", reason="the outside witness needs torch")
    from blueprint.witness.raw import Raw
    from blueprint.witness.settings import WitnessError

    typed = {block.name: array.copy() for block, array in made(FIXED).values.arrays.items()}
    typed["rollout.response"][0, 3] = "cat"
    with pytest.raises(WitnessError) as refused:
        PAGE.results(Raw(typed))
    assert str(refused.value) == "rollout.response has the token 'cat', which is not in the vocabulary: add it there"
