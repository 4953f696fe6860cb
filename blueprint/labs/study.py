"""Several runs side by side: their results, iterations and episodes as tables, in memory or in a folder.

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

from blueprint.files import SaveError, saved_whole
from blueprint.labs.settings import LabError, Settings

if TYPE_CHECKING:
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
    """Makes a folder for the runs of a plan. Raises SaveError where there can be none."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
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
