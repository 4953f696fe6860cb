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
    "Averages to the KL, yet it may",
    "Close to the KL only where the",
    "Paid token by token, while the score",
    "What the token earned, plus what is",
    "Read from right to left. The last",
    "What the critic is trained towards, constant",
    "Better or worse than the average token",
    "above 0 means more of it, below 0 less of it",
    "1: as likely as before; 1.5: half",
    "moving a good token ever farther",
    "Equal to U as long as the",
    "A good token earns nothing beyond 1",
    "Counts all four corners, also the two",
    "Above 0 the critic promised too much",
    "Larger than e² where the clip holds",
    "In squared units of reward, so a",
    "Falls while the policy learns; near 0",
    "In the total with a plus: a",
    "Never above 0. With a plus it",
    "The paper writes a sum to be",
    "Adds up to the total loss. It",
    "Falls as ρ moves the right way",
    "Where it reads off, no token ever",
    "All that aggregation comes down to. Compare",
    "Where the clip would make an error",
    "0 by default: most libraries pay for",
    "If many do, ε_V is small for returns",
    "What there is to explain. verl",
    "The first row to look at when",
    "The two part where the end token",
    "Scaled, not centred, so good responses stay",
    "A long response has more log-ratio to",
    "Without one nothing holds the policy near",
    "What somebody preferred. Nobody said by how",
    "What the loss knows of a response",
    "Usually falls fastest of all. Pushed far",
    "Counts by ε where labels may be",
    "The weight in DPO's gradient, times β",
    "Falls while the chosen responses get less",
    "Often falls below 0 and goes on",
    "The score less what length costs, within",
    "Takes the place of the critic: what",
    "Dividing by it makes hard and easy",
    "nobody knows which of them was the good one",
    "What adds up to the loss, token",
    "0 while policy and reference are one",
    "The mask says for which labels anybody",
    "By this most libraries divide by now",
    "No surprise, no cost: 0 at probability",
    "Texts that cost much are those that",
    "Among so many equally likely tokens the",
    "Held small by centring: (r_w + r_l)²",
    ".693 (log 2) is what a model",
    "The same order, another probability: the size",
    "What PPO is paid: the score less",
    "the same for all responses to a",
    "Elsewhere it shows what the policy would",
    "What one steps along when the ratio",
    "1/E_π[ρ²]. Of a hundred draws so many",
    "The mean of the others does not",
    "The end of the row is what",
    "what trains is its gradient",
    "both pull the same way",
    "no optimiser turns a gradient back",
    "they pull against each other",
    "For what the gradient does, the loss moves",
    "the new loss is taken off the old one",
    "Its pull never ends where the",
    "by 1/β pull no more",
    "whoever divides by it makes prompts count",
    "have a loss whose value says nothing",
    "One thing is done otherwise than by default",
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
