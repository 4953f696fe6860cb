"""Several runs side by side: their results, iterations and episodes as tables, in memory or in a folder.

A folder holds three files: `results.csv` has a row for each run, `iterations.csv` for each of its iterations, `episodes.csv` for
each episode that ended. Charts are drawn of these tables, so they can be drawn again without training.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from blueprint.files import SaveError, saved_whole
from blueprint.labs.settings import LabError

if TYPE_CHECKING:
    from pandas import DataFrame

TABLES = ("results", "iterations", "episodes")
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

    def write(self, folder: Path) -> None:
        """Writes the tables into a folder, numbers with six digits. Raises SaveError."""
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise SaveError(f"{folder} cannot be made: {(error.strerror or str(error)).lower()}") from error
        for name in TABLES:
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
