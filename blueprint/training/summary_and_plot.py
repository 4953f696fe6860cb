"""What a run came to. In a table: the last iterations of each KL coefficient beside what would have been possible at best. As a
chart: gold beside the reward model's score, and what else one watches, a line for each KL coefficient.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from blueprint.files import check_plot_file, save_plot
from blueprint.inputs import NumbersError
from blueprint.training.folder import RunError
from blueprint.training.optimum import Everything, Optimum

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from blueprint.training.run import Run


LAST = 10
"""Iterations over which the end of a run is averaged."""
FIRST = 3
"""Iterations over which its beginning is."""


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
        begins = float(np.mean(run.watched["gold"][:FIRST, of]))
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


def explained(run: Run) -> str:
    """Says what the numbers of the table are means of, and why those of a run may lie above the best that is possible."""
    last, first = min(LAST, run.iterations), min(FIRST, run.iterations)
    many = last * run.numbers.update.responses * run.numbers.seeds
    begins = f"Gold, from: the mean of the first {first} iterations, to: of the last {last}."
    if not any(each.best for each in endings_of(run)):
        return begins
    return (
        f"{begins} Reward and KL are means of {many:,} sampled responses, the best possible ones are exact means over all "
        "responses: by chance of the sample a run may lie above the best, in reward and in reward − β·KL."
    )


def said(run: Run) -> str:
    """Says what a run came to: the models it began with, and for each KL coefficient what the last iterations are like."""
    many = f"{len(run.numbers.runs):,} runs of {run.iterations} iterations"
    return "\n".join([many, beginning(run), "", *endings(run), explained(run)])


PANELS = {
    "gold": "gold: what people want",
    "proxy": "reward model's score (proxy)",
    "kl": "KL to the reference: exact, nats per response",
    "kl_k1": "KL to the reference: k1 estimate, nats per response",
    "entropy": "entropy, nats per token",
    "clip_fraction": "clip fraction",
    "value_loss": "value loss",
    "grad_norm": "gradient norm",
    "length": "response length, tokens",
}
"""What is shown, in the order of reading, with its title: in charts, on the page and in the workbook; β follows where it adapts."""
METHODS = {"ppo": "PPO", "grpo": "GRPO", "rejection": "rejection sampling"}
"""How a run's method is called."""
COLOURS = ("#a8480c", "#0a5cad", "#1b7a43", "#862b86", "#5f6368", "#dd8452", "#64b5cd", "#55a868")
"""Of the lines; the first ones are those of the page of a run."""
SMOOTH = 5
"""Iterations over which a line is averaged; what was measured is drawn behind it, paler."""
MOST_LINES = 8


def check_plot(path: Path) -> None:
    """Raises RunError where a chart could not be drawn into a file of that name."""
    check_plot_file(path, RunError)


def panels_of(run: Run) -> dict[str, str]:
    """Returns what is shown of a run, with titles."""
    adapts = bool((np.ptp(run.watched["kl_coef"], axis=0) > 0).any())
    return PANELS | ({"kl_coef": "β, which follows the KL"} if adapts else {})


def lines_of(run: Run, name: str, seed: int | None = None) -> dict[float, NDArray[np.float64]]:
    """Returns a line [iterations] for each KL coefficient: of a seed, or the mean over all; of many coefficients some, evenly."""
    betas = run.numbers.ppo.kl_coef
    chosen = sorted({round(each) for each in np.linspace(0, len(betas) - 1, min(len(betas), MOST_LINES))})
    by_seed = run.watched[name].reshape(run.iterations, run.numbers.seeds, len(betas))
    found = by_seed.mean(1) if seed is None else by_seed[:, run.place(betas[0], seed) // len(betas)]
    return {betas[each]: found[:, each] for each in chosen}


def smoothed(line: NDArray[np.float64]) -> NDArray[np.float64]:
    """Returns the mean of each iteration and up to four before it."""
    import pandas as pd

    return np.asarray(pd.Series(line).rolling(SMOOTH, min_periods=1).mean())


def figure_of(run: Run, seed: int | None = None) -> Figure:
    """Returns the chart."""
    from matplotlib.figure import Figure

    shown = panels_of(run)
    rows = -(-len(shown) // 3)
    figure = Figure(figsize=(12, 2.7 * rows + 0.5), layout="constrained")
    panels = figure.subplots(rows, 3, sharex=True, squeeze=False).ravel()
    for panel, (name, title) in zip(panels, shown.items(), strict=False):
        _draw_panel(panel, lines_of(run, name, seed), title)
    for panel in panels[len(shown) :]:
        panel.set_axis_off()
    panels[0].legend(fontsize=8, frameon=False)
    for panel in panels[-3:]:
        panel.set_xlabel("iteration")
    figure.suptitle(
        f"{run.numbers.title}: {whose(run, seed)}; bold lines are means of {SMOOTH} iterations, pale ones each iteration",
        fontsize=11,
    )
    return figure


def whose(run: Run, seed: int | None) -> str:
    """Says of which seeds a chart is, and by which method they were trained."""
    of = run.numbers
    alone = seed is not None or of.seeds == 1
    seeds = f"seed {of.seed if seed is None else seed}" if alone else f"mean of {of.seeds} seeds"
    return f"{seeds}, {METHODS[of.update.method]}"


def _draw_panel(panel: Any, lines: dict[float, NDArray[np.float64]], title: str) -> None:
    styles = ("-", "--", ":", "-.")
    for at, (beta, line) in enumerate(lines.items()):
        colour = COLOURS[at % len(COLOURS)]
        panel.plot(line, color=colour, alpha=0.2, linewidth=0.8)
        panel.plot(smoothed(line), styles[at % 4], color=colour, linewidth=1.6, label=f"β = {beta:.3g}")
    panel.set_title(title, fontsize=9, loc="left")
    panel.grid(alpha=0.25)


def draw(run: Run, path: Path, seed: int | None = None) -> None:
    """Draws a run into a file, in the format that its ending names. Raises SaveError."""
    save_plot(figure_of(run, seed), path, 110)
