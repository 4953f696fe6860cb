"""Which tokens of a minibatch a workbook shows: the worst ones, those that deviate, or the rows that are asked for."""

from __future__ import annotations

import numpy as np
import pytest

from blueprint.dumps import MinibatchError
from blueprint.workbooks.rlhf_ppo.verifying.window import chosen_window, deviating_window, worst_window
from tests.replayed import FIRST, RESPONSES, part_of, replayed, values_of


def test_a_row_says_where_it_stands_in_the_dump() -> None:
    found = replayed()
    window = chosen_window(found, [4, 0], "ratio", 16)
    typed = part_of(found, window, "verl").typed
    assert typed["episode.number"].tolist() == [4, 0]
    for row, (episode, first) in enumerate(zip(window.episodes, window.first, strict=True)):
        assert typed["slot.column"][row].tolist() == list(range(first + FIRST, first + FIRST + 16))
        logprobs = found.batch.tensors["logprobs_new"][episode, first : first + 16]
        inside = typed["mask"][row] > 0
        assert np.allclose(typed["policy.logprobs"][row][inside], logprobs[inside], rtol=1e-14, atol=0)


@pytest.mark.parametrize("by", ["ratio", "advantage", "kl"])
def test_the_worst_word_is_in_its_window(by: str) -> None:
    found = replayed()
    row, centre = {"ratio": ("ratio", 1.0), "advantage": ("advantages_used", 0.0), "kl": ("kl.used", 0.0)}[by]
    off = np.abs(found.rows(range(RESPONSES))[row] - centre) * found.batch.mask
    window = worst_window(found, 3, by, 16)
    assert list(window.episodes) == np.argsort(-off.max(axis=1))[:3].tolist()
    for episode, first in zip(window.episodes, window.first, strict=True):
        assert first <= off[episode].argmax() < first + window.columns


def test_what_deviates_stands_in_the_middle_and_the_worst_word_beside_it() -> None:
    found = replayed()
    window = deviating_window(found, 3, FIRST + 17, "ratio", 16)
    (worst,) = worst_window(found, 1, "ratio", 16).episodes
    assert worst != 3
    assert window.episodes == (3, worst)
    assert window.first[0] <= 17 < window.first[0] + window.columns
    assert float(values_of(part_of(found, window, "verl"))["walk.decision"]) == 17 - window.first[0] + 1
    assert deviating_window(found, worst, FIRST, "ratio", 16).first[0] == 0


@pytest.mark.parametrize(
    ("episodes", "tokens", "sentence"),
    [
        ([99], 16, "run.safetensors has no row 99: rows are counted from 0 to 11"),
        ([1, 1], 16, "row 1 is asked for twice: name each row once"),
        ([], 16, "0 responses are asked for: a workbook shows 1 to 64"),
        ([1], 8, "8 tokens are asked for: a window has 16 to 64"),
        ([1], 65, "65 tokens are asked for: a window has 16 to 64"),
    ],
)
def test_a_window_that_makes_no_sense_is_refused(episodes: list[int], tokens: int, sentence: str) -> None:
    with pytest.raises(MinibatchError) as refused:
        chosen_window(replayed(), episodes, "ratio", tokens)
    assert str(refused.value) == sentence


def test_a_long_minibatch_is_shown_in_part() -> None:
    with pytest.raises(MinibatchError, match="65 responses"):
        worst_window(replayed(), 65, "ratio", 16)
