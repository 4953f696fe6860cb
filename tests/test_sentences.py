"""Sentences that were odd, stiff or wrong do not come back, and what their successors say of numbers holds."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

ROOT = Path(__file__).parent.parent
SHOWN = [
    path
    for folder, ends in (("blueprint", ("*.toml", "*.csv", "*.py")), ("docs", ("*.md",)))
    for end in ends
    for path in (ROOT / folder).rglob(end)
]
GONE = (
    "a shift of all scores is no signal", "the clip does nothing: no ratio", "in the default”", "column on that reads",
    "by one per cent", "h lacks of 1/2β", "trusts the rewards alone", "here scored as it stands", "entropy shall not",
    "lets a token see", "faded later", "far above expectation", "reach of GAE", "what drifting costs", "drifting dear",
    "a dearer", "a mark in the corner", "against those delivered", "Four networks are in memory", "a LOOK too",
    "no matter of taste", "is made larger", "so no push", "pushed too far", "All that is left of the text",
    "close to twenty pieces", "at hand when this was tested", "made known by", "neither compares across",
    "by what the head says of a pad", "the score stands there", "to come to an end,", "asks of everybody",
    "has to be the own one", "and enters no loss", "by how much it is to be ahead", "whoever compares two",
)  # fmt: skip
"""What each of them was known by."""


def plain(text: str) -> str:
    """Returns a text on one line."""
    return " ".join(text.split())


@pytest.mark.parametrize("phrase", GONE)
def test_no_odd_sentence_has_come_back(phrase: str) -> None:
    texts = {path: plain(path.read_text(encoding="utf-8")) for path in (*SHOWN, ROOT / "README.md")}
    kept = {path.relative_to(ROOT).as_posix() for path, text in texts.items() if phrase in text}
    assert len(texts) > 300
    assert kept <= {"blueprint/page/formulas.py"} if phrase == "against those delivered" else kept == set()


def test_newcomers_read_at_once_in_which_programs_this_was_tested() -> None:
    first = (ROOT / "README.md").read_text(encoding="utf-8").split("![")[0]
    assert "Not tested in Microsoft Excel; tested in LibreOffice, Gnumeric and IronCalc." in first


@pytest.mark.parametrize("count", [6, 28, 47, 1000])
def test_n_less_1_makes_the_spread_larger_by_about_half_an_nth(count: int) -> None:
    """What the note on ddof_A says: to a tenth of itself where there are six numbers or more."""
    numbers = np.random.default_rng(0).normal(size=count)
    assert numbers.std(ddof=1) / numbers.std() - 1 == pytest.approx(1 / (2 * count), rel=0.15)


def test_a_label_that_may_be_wrong_makes_the_loss_of_a_pair_least_at_the_log_odds_of_the_labels() -> None:
    """What First hour says of ε = 0.1: the loss of a pair is least at u = ln 9."""
    u = np.linspace(0, 5, 50_001)
    loss = 0.9 * np.log1p(np.exp(-u)) + 0.1 * np.log1p(np.exp(u))
    assert u[np.argmin(loss)] == pytest.approx(np.log(9), abs=1e-4)
