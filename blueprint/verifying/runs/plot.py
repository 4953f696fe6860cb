"""A run as a plot over its steps: deviations in tolerances, and what was watched, logged beside recomputed."""

import math
from collections.abc import Iterable
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from blueprint.verifying.runs.ledger import NOT_VERIFIED
from blueprint.verifying.runs.summary import AT_FIRST_UPDATE, DIFFERS, StepSummary, Summary

ENDINGS = (".png", ".svg", ".pdf")
PANELS = {
    "ratio": "mean ratio",
    "approx_kl": "approximate KL, old to new policy",
    "kl": "KL to the reference",
    "clip_fraction": "share of clipped tokens",
}
LOGGED, RECOMPUTED, FIRST_UPDATE = "#c44e52", "#4c72b0", "#55a868"
FLOOR, CEILING = 1e-6, 1e12
"""Differences in tolerances that are drawn at the edge when they are beyond it: of a 0 there is no logarithm."""


class PlotError(ValueError):
    """Says in one sentence why nothing can be drawn."""


def check_plot(path: Path) -> None:
    """Raises PlotError where a plot could not be drawn into a file of that name."""
    if path.suffix.lower() not in ENDINGS:
        raise PlotError(
            f"--plot {path}: found the ending {path.suffix or 'none'}, expected one of {', '.join(ENDINGS)}"
        )
    if find_spec("matplotlib") is None:
        raise PlotError('--plot needs matplotlib, which is not installed: python -m pip install ".[plot]"')


def draw(found: Summary, path: Path) -> None:
    """Draws a run into a file, in the format that its ending names. Raises OSError.

    A step stands at its number, or, if one has none, at its place in the run.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    shown = [name for name in PANELS if any(name in step.metrics for step in found.steps)]
    figure = Figure(figsize=(10, 2.4 * (1 + len(shown)) + 0.8), layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1 + len(shown), 1, sharex=True, squeeze=False)[:, 0]
    numbers = [step.number for step in found.steps if step.number is not None]
    places = numbers if len(numbers) == len(found.steps) else list(range(len(found.steps)))
    _draw_deviations(panels[0], found, places)
    for panel, name in zip(panels[1:], shown, strict=True):
        _draw_number(panel, found.steps, places, name)
    for panel in panels:
        _mark(panel, found.steps, places)
        panel.grid(alpha=0.25)
        if panel.get_legend_handles_labels()[1]:
            panel.legend(fontsize=7, loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
    panels[-1].set_xlabel("step")
    figure.savefig(path, dpi=110)


def _draw_deviations(panel: Any, found: Summary, places: list[int]) -> None:
    """Draws the largest difference of each quantity that deviates anywhere; of the others the largest of all."""
    quantities, times = found.quantities, [step.times for step in found.steps]
    rest = [name for name, steps in quantities.items() if not steps]
    largest = [max((each[name] for name in rest if name in each), default=None) for each in times]
    for name in (name for name, steps in quantities.items() if steps):
        _line(panel, places, [_bounded(each.get(name)) for each in times], ".", name)
    called = "all others" if len(rest) < len(quantities) else "all quantities"
    _line(panel, places, map(_bounded, largest), ".", called, "#999999")
    panel.axhline(1.0, color="black", linewidth=0.8)
    panel.set_yscale("log")
    panel.set_title("largest difference, in tolerances (above 1 it deviates)", fontsize=9, loc="left")


def _bounded(value: float | None) -> float | None:
    return None if value is None else min(max(value, FLOOR), CEILING)


def _draw_number(panel: Any, steps: list[StepSummary], places: list[int], name: str) -> None:
    nothing = (None, None)
    logged, ours = zip(*(step.metrics.get(name, nothing) for step in steps), strict=True)
    _line(panel, places, logged, "o", "logged", LOGGED)
    _line(panel, places, ours, "-", "recomputed", RECOMPUTED)
    if name == "ratio":
        first = [step.metrics.get(AT_FIRST_UPDATE, nothing)[1] for step in steps]
        _line(panel, places, first, ".", "at the first update", FIRST_UPDATE)
        panel.axhline(1.0, color="black", linewidth=0.8)
    panel.set_title(PANELS[name], fontsize=9, loc="left")


def _line(
    panel: Any, places: list[int], values: Iterable[float | None], style: str, label: str, color: str | None = None
) -> None:
    """Draws what there is; a gap stays a gap."""
    numbers = [math.nan if value is None else value for value in values]
    if not all(map(math.isnan, numbers)):
        panel.plot(places, numbers, style, color=color, markersize=3, linewidth=1, fillstyle="none", label=label)


def _mark(panel: Any, steps: list[StepSummary], places: list[int]) -> None:
    """Marks the first step that deviates, and those that could not be verified."""
    first = next((place for place, step in zip(places, steps, strict=True) if step.outcome == DIFFERS), None)
    if first is not None:
        panel.axvline(first, color=LOGGED, linestyle="--", linewidth=0.8, label=f"first deviation: {first}")
    missing = [place for place, step in zip(places, steps, strict=True) if step.outcome == NOT_VERIFIED]
    for at, place in enumerate(missing):
        panel.axvline(place, color="#bbbbbb", linewidth=0.8, label="not verified" if not at else None)
