"""The chart of a run: gold beside the reward model's score, and what else one watches, a line for each KL coefficient."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from blueprint.files import check_plot_file, save_plot
from blueprint.training.folder import RunError

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from blueprint.training.run import Run

PANELS = {
    "gold": "gold: what people want",
    "proxy": "reward model's score (proxy)",
    "kl": "KL to the reference, a response",
    "kl_k1": "the same by k1",
    "entropy": "entropy, a token",
    "clip_fraction": "share of clipped tokens",
    "value_loss": "value loss",
    "grad_norm": "gradient norm",
    "length": "tokens of a response",
}
"""What is shown, in the order of reading, with its title; β itself follows where it adapts."""
COLOURS = ("#c44e52", "#dd8452", "#4c72b0", "#55a868", "#8172b3", "#937860", "#64b5cd", "#595959")
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
    seeds = (
        f"seed {run.numbers.seed if seed is None else seed}"
        if seed is not None or run.numbers.seeds == 1
        else f"mean of {run.numbers.seeds} seeds"
    )
    figure.suptitle(
        f"{run.numbers.title}: {seeds}, {run.numbers.update.method}; lines are means of {SMOOTH} iterations",
        fontsize=11,
    )
    return figure


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
