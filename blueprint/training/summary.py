"""What a run came to, in a table: the last iterations of each KL coefficient beside what would have been possible at best."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from blueprint.inputs import NumbersError
from blueprint.training.optimum import Everything, Optimum

if TYPE_CHECKING:
    from blueprint.training.run import Run

LAST = 10
"""Iterations over which the end of a run is averaged."""


@dataclass(frozen=True)
class Ending:
    """The end of the runs of one KL coefficient: means over seeds and the last iterations.

    begins: gold of the first three iterations. best: the exact optimum of the first seed, None where the run has another aim or
    there are too many responses to list. usual: the most frequent response of the last iterations, and its share.
    """

    beta: float
    begins: float
    gold: float
    proxy: float
    kl: float
    best: Optimum | None
    usual: str
    share: float


def endings_of(run: Run) -> list[Ending]:
    """Returns how the runs of each KL coefficient end."""
    betas = run.numbers.ppo.kl_coef
    try:
        everything = Everything(run.numbers, run.models)
    except NumbersError:  # a language too large to list
        everything = None
    found = []
    for place, beta in enumerate(betas):
        of = slice(place, None, len(betas))
        means = {name: float(run.watched[name][-LAST:, of].mean()) for name in ("gold", "proxy", "kl")}
        rows = run.tokens[-LAST:, of].reshape(-1, run.tokens.shape[-1])
        usual, count = Counter(map(run.text, rows)).most_common(1)[0]
        best = everything.best(beta) if everything and _maximises(run) else None
        begins = float(np.mean(run.watched["gold"][:3, of]))
        found.append(Ending(beta, begins, means["gold"], means["proxy"], means["kl"], best, usual, count / len(rows)))
    return found


def _maximises(run: Run) -> bool:
    """Tells whether a run aims at the mean of reward − β·KL with one β, and at nothing else: then its optimum is known."""
    of = run.numbers
    whole = of.update.method == "ppo" and of.ppo.gamma == 1 and of.ppo.ent_coef == 0
    return whole and not of.reward.length_penalty and not of.controller.target


def beginning(run: Run) -> str:
    """Says in a sentence what was learned before the first iteration."""
    of = {name: float(each.mean()) for name, each in run.models.report.items()}
    return (
        f"Before: the policy's perplexity on demonstrations is {np.exp(of['sft_nll']):.2f}; the reward model is right on "
        f"{of['accuracy']:.0%} of the comparisons, and its scores correlate {of['gold_correlation']:.2f} with gold "
        f"({of['felt_correlation']:.2f} with what labelers feel)."
    )


def endings(run: Run) -> list[str]:
    """Returns a table with a line for each KL coefficient."""
    found = endings_of(run)
    lines = [
        f"     β    gold: from      to    reward      KL   best possible: reward    KL   usual response (last {LAST} iterations)"
    ]
    for each in found[:20]:
        best = f"{each.best.proxy:22.2f} {each.best.kl:6.2f}" if each.best else " " * 29
        lines.append(
            f"{each.beta:6g} {each.begins:13.2f} {each.gold:7.2f} {each.proxy:9.2f} {each.kl:7.2f} {best}   "
            f"{each.share:.0%} {each.usual}"
        )
    return lines + ([f"… and {len(found) - 20} more KL coefficients"] if len(found) > 20 else [])


def said(run: Run) -> str:
    """Says what a run came to: the models it began with, and for each KL coefficient what the last iterations are like."""
    many = f"{len(run.numbers.runs):,} runs of {run.iterations} iterations"
    return "\n".join([many, beginning(run), "", *endings(run)])
