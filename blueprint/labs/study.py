"""Several runs side by side: their results, iterations and episodes as tables, in memory or in a folder; and as charts, the
length of episodes and what else one watches, over the steps of all environments together.

A folder holds three tables: `results.csv` has a row for each run, `iterations.csv` for each of its iterations, `episodes.csv` for
each episode that ended. Charts are drawn of these tables, so they can be drawn again without training. Beside them `plan.json`
says which runs were asked for, by which settings: who asks for the same again goes on where the folder ends.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from blueprint.files import SaveError, check_plot_file, save_plot, saved_whole
from blueprint.labs.settings import LabError, Settings

if TYPE_CHECKING:
    from matplotlib.figure import Figure
    from pandas import DataFrame


TABLES = ("results", "iterations", "episodes")
PLAN = "plan.json"
SOLVED = 475
"""The mean length at which gymnasium calls CartPole-v1 solved."""


@dataclass
class Study:
    """Runs by label, such as `ppo` or `clip_range 0.1`; several seeds share a label.

    results: label, method, seed, steps, iterations, episodes, evaluation (mean length of new episodes), least, seconds.
    iterations: label, seed, and what a run watches. episodes: label, seed, steps, length.
    """

    tables: dict[str, list[DataFrame]] = field(default_factory=lambda: {name: [] for name in TABLES})

    def add(
        self,
        label: str,
        seed: int,
        iterations: DataFrame,
        episodes: DataFrame,
        lengths: NDArray[np.int64],
        seconds: float,
    ) -> None:
        """Adds a run. lengths: of the episodes that it was evaluated on."""
        import pandas as pd

        of = {"label": label, "seed": seed}
        result = {
            **of,
            "steps": int(iterations["steps"].iloc[-1]),
            "iterations": len(iterations),
            "episodes": len(episodes),
            "evaluation": float(lengths.mean()),
            "least": int(lengths.min()),
            "seconds": round(seconds, 1),
        }
        self.tables["results"].append(pd.DataFrame([result]))
        for name, frame in (("iterations", iterations), ("episodes", episodes)):
            self.tables[name].append(frame.assign(**of)[[*of, *frame.columns]])

    def frame(self, table: str = "results") -> DataFrame:
        """Returns one of the three tables."""
        import pandas as pd

        return pd.concat(self.tables[table], ignore_index=True)

    @property
    def labels(self) -> list[str]:
        """The labels, in the order in which they were added."""
        return list(dict.fromkeys(self.frame()["label"]))

    @property
    def finished(self) -> set[tuple[str, int]]:
        """The runs that are in it, by label and seed."""
        return {(each.label, each.seed) for each in self.frame().itertuples()} if self.tables["results"] else set()

    def write(self, folder: Path) -> None:
        """Writes the tables into a folder, numbers with six digits. Raises SaveError."""
        for name in reversed(TABLES):  # results last: a run that is there is whole
            with saved_whole(folder / f"{name}.csv") as unfinished:
                self.frame(name).to_csv(unfinished, index=False, float_format="%.6g", lineterminator="\n")

    def __repr__(self) -> str:
        """Returns a line for each run."""
        wide = max(len(label) for label in self.labels)
        lines = [
            f"{each.label:<{wide}}  {each.seed:>4}  {each.steps:>9,}  {each.episodes:>8,}"
            f"  {each.evaluation:>10.1f}  {each.least:>5}  {each.seconds:>7.1f}"
            for each in self.frame().itertuples()
        ]
        return "\n".join([f"{'':<{wide}}  seed      steps  episodes  evaluation  least  seconds", *lines])


Plan = Sequence[tuple[str, Settings]]
"""Runs that are asked for: the label and the settings of each."""


def begun(folder: Path, plan: Plan) -> Study | None:
    """Returns what a folder holds of a plan, finished runs alone; None where it was begun by another plan, or by none."""
    try:
        if json.loads((folder / PLAN).read_text(encoding="utf-8")) != _plan_as_data(plan):
            return None
    except (OSError, ValueError):
        return None
    if not (folder / f"{TABLES[0]}.csv").exists():
        return Study()
    found = read(folder)
    for name, frames in found.tables.items():
        found.tables[name] = [
            each[[run in found.finished for run in zip(each["label"], each["seed"], strict=True)]] for each in frames
        ]
    return found


def begin(folder: Path, plan: Plan) -> None:
    """Makes a folder for the runs of a plan, without the tables of another one. Raises SaveError where there can be none."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name in TABLES:
            (folder / f"{name}.csv").unlink(missing_ok=True)
    except OSError as error:
        what = "is a file" if folder.exists() else (error.strerror or str(error)).lower()
        raise SaveError(f"{folder} cannot be made ({what}): name another folder") from error
    with saved_whole(folder / PLAN) as unfinished:
        unfinished.write_text(json.dumps(_plan_as_data(plan), indent=1) + "\n", encoding="utf-8")


def _plan_as_data(plan: Plan) -> list[list[Any]]:
    return [[label, use.model_dump(mode="json")] for label, use in plan]


def read(folder: Path) -> Study:
    """Reads a study from its folder; episodes may be missing. Raises LabError where another table is missing or is none."""
    import pandas as pd

    found = Study()
    for name in TABLES:
        path = folder / f"{name}.csv"
        if name == "episodes" and not path.exists():
            continue
        try:
            found.tables[name].append(pd.read_csv(path))
        except (OSError, ValueError) as error:
            raise LabError(f"{path} is no table of a lab: blueprint lab cart-pole -o FOLDER writes one") from error
    return found


PANELS = {
    "length": "length: mean of the last 20 episodes",
    "kl": "KL of each update, k3 after its last epoch",
    "clip_fraction": "clip fraction: ratios outside 1 ± ε",
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
    several = study.frame()["seed"].nunique() > 1
    told = "; ".join(filter(None, (title, "pale lines are seeds, bold ones their median" if several else "")))
    if told:
        figure.suptitle(told, fontsize=11 if title else 9)
    return figure


def _draw(panel: Any, study: Study, name: str) -> None:
    from matplotlib.ticker import LogFormatter

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
        behind = {"facecolor": "white", "alpha": 0.7, "edgecolor": "none", "pad": 0.5}
        panel.annotate(
            f"solved: {SOLVED}", (last, SOLVED), ha="right", va="top", fontsize=7, color="#595959", bbox=behind
        )
        panel.set_ylim(0, max(panel.get_ylim()[1], SOLVED * 1.14))
    if name == "explained_variance":
        panel.set_ylim(LOWEST_FORESEEN, 1.05)
    if name == "grad_norm":
        panel.set_yscale("log")
        panel.yaxis.set_major_formatter("{x:g}")  # 0.1, and not 10⁻¹
        panel.yaxis.set_minor_formatter(LogFormatter(minor_thresholds=(2, 0.5)))  # 20, and not 2 × 10¹
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
