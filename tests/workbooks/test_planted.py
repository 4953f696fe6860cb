"""Every planted mistake is caught by the witness that is named beside it, and the blueprint as it is by none."""

import pytest

pytest.importorskip("torch", reason="PPO's page is torch: install the extra [torch]")

from blueprint.book import Book
from blueprint.inputs import Numbers
from blueprint.language import NotationError
from blueprint.workbooks import blueprint_of
from tests.workbooks.building import Build, plain
from tests.workbooks.misspelled import MISSPELLED, Misspelled
from tests.workbooks.planted import MISTAKES, Planted
from tests.workbooks.random_numbers import default
from tests.workbooks.witnesses import WITNESSES, assert_recalculates

ALL = (*MISTAKES, *MISSPELLED)


def with_mistake(mistake: Planted) -> Build:
    """Returns a way to build books in which the mistake is planted; one that cannot be computed is caught at once."""

    def build(numbers: Numbers) -> Book:
        blueprint = blueprint_of(numbers)
        mistake.plant({block.name: block for block in blueprint.blocks()})
        try:
            return Book(blueprint)
        except NotationError as error:
            raise AssertionError(f"refused while computing: {error}") from error

    return build


@pytest.mark.parametrize("witness", WITNESSES)
def test_nothing_is_wrong_with_the_blueprint_as_it_is(witness: str) -> None:
    WITNESSES[witness](plain)


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda mistake: mistake.name)
def test_mistake_in_the_mathematics_is_caught(mistake: Planted) -> None:
    with pytest.raises(AssertionError):
        WITNESSES[mistake.caught_by](with_mistake(mistake))


@pytest.mark.parametrize("mistake", MISSPELLED, ids=lambda mistake: mistake.name)
def test_mistake_in_the_spelling_is_caught(mistake: Misspelled, monkeypatch: pytest.MonkeyPatch) -> None:
    mistake.plant(monkeypatch)
    with pytest.raises(AssertionError):
        WITNESSES[mistake.caught_by](plain)


def test_an_engine_cannot_see_a_mistake_in_the_mathematics() -> None:
    """Number and formula come from one definition and are wrong together: this is why there are other witnesses."""
    forgotten = next(mistake for mistake in MISTAKES if mistake.name == "λ forgotten")
    assert_recalculates(with_mistake(forgotten)(default()))


def test_every_witness_is_needed() -> None:
    assert {mistake.caught_by for mistake in ALL} == set(WITNESSES)


def test_every_mistake_has_a_name_of_its_own() -> None:
    assert len({mistake.name for mistake in ALL}) == len(ALL) >= 24


def test_most_mistakes_are_misconceptions_of_the_list_that_readers_are_told() -> None:
    assert sum(isinstance(mistake.change, str) for mistake in MISTAKES) >= 38
