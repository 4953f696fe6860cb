"""Responses that a file fixes: what may stand there."""

from __future__ import annotations

from pathlib import Path

import pytest

from blueprint.inputs import load
from blueprint.inputs.errors import NumbersError
from blueprint.workbooks.rlhf_ppo.conventions_and_update import WeightNumbers


def with_responses(text: str) -> WeightNumbers:
    """Loads the default with responses."""
    numbers = load("default", [f"rollout.responses={text}"])
    assert isinstance(numbers, WeightNumbers)
    return numbers


@pytest.mark.parametrize(
    ("text", "responses"),
    [
        ('["happy <eos>", "very  very"]', (("happy", "<eos>"), ("very", "very"))),
        ('[["happy", "<eos>"], []]', (("happy", "<eos>"), ())),
        ('["", ""]', ((), ())),
        ('[["", "happy"], "very very very <eos>"]', (("", "happy"), ("very", "very", "very", "<eos>"))),
    ],
)
def test_words_or_strings(text: str, responses: tuple[tuple[str, ...], ...]) -> None:
    found = with_responses(text)
    assert found.responses == responses
    assert found.drawn_anew == ()


def test_without_them_the_draws_decide() -> None:
    numbers = load()
    assert isinstance(numbers, WeightNumbers)
    assert numbers.responses == ()


def test_they_tell_sizes_where_nothing_else_does(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    words = 'vocabulary = ["<eos>", "to", "be"]\n[rollout]\nresponses = ["to be to be to <eos>", "be", ""]\n'
    path.write_text(f'level = "weights"\n[text]\n{words}', encoding="utf-8")
    numbers = load(path)
    assert isinstance(numbers, WeightNumbers)
    assert numbers.max_new_tokens == 6
    assert len(numbers.prompts) == 3


def test_draws_may_have_a_number_for_every_column(tmp_path: Path) -> None:
    rows = [[round(0.1 + 0.1 * column, 1) for column in range(8)]] * 2
    numbers = load("default", [f"rollout.draws={rows}", "sizes.max_new_tokens=4", "sizes.prompt=4"])
    assert isinstance(numbers, WeightNumbers)
    assert numbers.draws.tolist() == rows
    with pytest.raises(NumbersError) as refused:
        load("default", [f"rollout.draws={[row[:7] for row in rows]}", "sizes.max_new_tokens=4"])
    assert str(refused.value) == "rollout.draws: found max_new_tokens = 7, expected 4, as sizes.max_new_tokens says."
