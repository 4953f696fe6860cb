"""Charts of a study: the length of episodes and what else one watches, over the steps of all environments together."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from blueprint.files import check_plot_file, save_plot
from blueprint.labs.settings import LabError
from blueprint.labs.study import SOLVED, Study

if TYPE_CHECKING:
    from matplotlib.figure import Figure

PANELS = {
    "length": "length: mean of the last 20 episodes",
    "kl": "KL of each update, k3 after its last epoch",
    "clip_fraction": "share of ratios outside 1 ± ε",
    "entropy": "entropy of the policy, nats",
    "explained_variance": "explained variance of the critic",
    "grad_norm": "largest gradient norm, before its clip",
}
"""What is shown, in the order of reading."""
COLOURS = ("#4c72b0", "#dd8452", "#55a868", "#c44e52", "#8172b3", "#937860", "#64b5cd", "#595959")
POINTS = 120
"""Points of a line."""
LOWEST_FORESEEN = -1.0
"""Where the chart of the explained variance ends: a critic may be off by any factor at first."""


def check_plot(path: Path) -> None:
    """Raises LabError where a chart could not be drawn into a file of that name."""
    check_plot_file(path, LabError)


def figure_of(study: Study, panels: Sequence[str] = tuple(PANELS), title: str = "") -> Figure:
    """Returns the chart: a panel for each name, a colour for each label; a pale line for each seed, a bold one for their median."""
    from matplotlib.figure import Figure

    columns = min(3, len(panels))
    rows = -(-len(panels) // columns)
    size = (6.5, 3.6) if len(panels) == 1 else (4 * columns, 2.6 * rows + 0.4)
    figure = Figure(figsize=size, layout="constrained")
    grid = figure.subplots(rows, columns, squeeze=False)
    for panel, name in zip(grid.ravel(), panels, strict=False):
        _draw(panel, study, name)
    for panel in grid.ravel()[len(panels) :]:
        panel.set_axis_off()
    grid.ravel()[0].legend(fontsize=8, frameon=False, loc="best")
    for panel in grid[-1]:
        panel.set_xlabel("steps of all environments together", fontsize=8)
    if title:
        figure.suptitle(title, fontsize=11)
    return figure


def _draw(panel: Any, study: Study, name: str) -> None:
    last = int(study.frame()["steps"].max())
    at = np.linspace(0, last, POINTS + 1)[1:]
    for place, label in enumerate(study.labels):
        lines = _watched(study, label, name, at)
        colour, style = COLOURS[place % len(COLOURS)], ("-", "--", ":", "-.")[place % 4]
        if not len(lines) or np.isnan(lines).all():
            continue
        for line in lines if len(lines) > 1 else []:
            panel.plot(at, line, color=colour, alpha=0.25, linewidth=0.8)
        some = ~np.isnan(lines).all(0)
        panel.plot(at[some], np.nanmedian(lines[:, some], axis=0), style, color=colour, linewidth=1.8, label=label)
    if name == "length":
        panel.axhline(SOLVED, color="#595959", linewidth=0.8, linestyle=(0, (1, 3)))
        panel.annotate(f"solved: {SOLVED}", (last, SOLVED), ha="right", va="bottom", fontsize=7, color="#595959")
        panel.set_ylim(0, None)
    if name == "explained_variance":
        panel.set_ylim(LOWEST_FORESEEN, 1.05)
    if name == "grad_norm":
        panel.set_yscale("log")
    panel.set_title(PANELS[name], fontsize=9, loc="left")
    panel.tick_params(labelsize=8)
    panel.grid(alpha=0.25)


def _watched(study: Study, label: str, name: str, at: Any) -> Any:
    """Returns what was watched, [seeds, points]: the mean of the iterations since the point before; nan where there were none."""
    import pandas as pd

    iterations = study.frame("iterations")
    rows = []
    for _, run in iterations[iterations["label"] == label].groupby("seed"):
        if name not in run or run[name].isna().all():
            continue
        place = np.searchsorted(at, run["steps"].to_numpy())
        of = run[name].to_numpy(float)
        rows.append([of[place == p].mean() if (place == p).any() else np.nan for p in range(len(at))])
    # Between two points that have iterations a line goes on; before the first and behind the last there is none.
    return pd.DataFrame(rows, dtype=float).interpolate(axis=1, limit_area="inside").to_numpy()


def draw(study: Study, path: Path, panels: Sequence[str] = tuple(PANELS), title: str = "") -> None:
    """Draws a study into a file, in the format that its ending names. Raises SaveError."""
    save_plot(figure_of(study, panels, title), path, 80)
