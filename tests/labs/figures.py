"""The figures and tables of docs/cart-pole.md: `python -m tests.labs.figures FOLDER` keeps what the command wrote there, and draws.

FOLDER has a folder for each study of `STUDIES`, made by the command beside it. What is kept in docs/data/cart-pole are the results
and, of each run, the first iterations and then every so-many-th; from these the figures are drawn, and the tables written.
Without FOLDER, figures and tables are made again of what is kept.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

from blueprint.labs.study import PANELS, Study, draw, read

if TYPE_CHECKING:
    from pandas import DataFrame

DOCS = Path(__file__).parents[2] / "docs"
KEPT, PICTURES, PAGE = DOCS / "data" / "cart-pole", DOCS / "pictures", DOCS / "cart-pole.md"
STUDIES = {
    "methods": "--method ppo,a2c,reinforce --seeds 5 --compare-sb3",
    "more": "--seed 5 --seeds 5",
    "clip": "--sweep clip_range=0.02,0.05,0.1,0.2,0.5 --seeds 3 --steps 30000",
    "lambda": "--sweep gae_lambda=0,0.5,0.8,0.95,1 --seeds 3 --steps 30000",
    "trunk": "--recipe tutorial --sweep shared_trunk=true,false --seeds 3 --steps 102400",
}
"""The studies, and the options with which `blueprint lab cart-pole -o FOLDER` makes each."""
FIGURES = {
    "cart-pole-methods": ("methods", ("length",), ()),
    "cart-pole-dashboard": ("methods", tuple(PANELS), ("ppo",)),
    "cart-pole-clip": ("clip", ("length", "kl", "clip_fraction"), ()),
    "cart-pole-lambda": ("lambda", ("length", "explained_variance"), ()),
    "cart-pole-trunk": ("trunk", ("length",), ()),
}
"""The pictures: of which study, which panels, and of which labels, where not of all."""
MEDIANS = {
    "clip": {"kl": "KL of an update", "clip_fraction": "clip fraction", "entropy": "entropy"},
    "lambda": {"explained_variance": "explained variance", "grad_norm": "gradient norm"},
}
"""What else stands in the table of a study: medians over the iterations that are kept of all its seeds."""
FIRST, SOME = 4, 48
"""Iterations that are kept of each run: so many from its beginning, and some so many of all the others."""


def thinned(iterations: DataFrame) -> DataFrame:
    """Returns the first iterations of each run, then every so-many-th, and the last."""
    import pandas as pd

    kept = []
    for _, run in iterations.groupby(["label", "seed"], sort=False):
        places = {*range(FIRST), *range(0, len(run), max(1, len(run) // SOME)), len(run) - 1}
        kept.append(run.iloc[sorted(each for each in places if each < len(run))])
    return pd.concat(kept)


def keep(folder: Path) -> None:
    """Keeps what the command wrote."""
    for name in STUDIES:
        study, target = read(folder / name), KEPT / name
        target.mkdir(parents=True, exist_ok=True)
        for table, frame in (("results", study.frame()), ("iterations", thinned(study.frame("iterations")))):
            frame.to_csv(target / f"{table}.csv", index=False, float_format="%.6g", lineterminator="\n")


def table(name: str) -> str:
    """Returns the evaluations of a study as a table: a row for each label, a column for each seed; then its medians."""
    study, medians = read(KEPT / name), MEDIANS.get(name, {})
    results, iterations = study.frame(), study.frame("iterations")
    seeds = sorted(results["seed"].unique())
    rows = [["", *(f"seed {seed}" for seed in seeds), *medians.values()], ["---"] * (1 + len(seeds) + len(medians))]
    for label, runs in results.groupby("label", sort=False):
        of, watched = runs.set_index("seed")["evaluation"], iterations[iterations["label"] == label]
        rows.append(
            [label, *(f"{of[seed]:.1f}" for seed in seeds), *(f"{watched[each].median():.2g}" for each in medians)]
        )
    return "\n".join(f"| {' | '.join(map(str, row))} |" for row in rows)


def with_tables(page: str) -> str:
    """Returns the page with its tables, each between two marks of its study's name."""
    for name in STUDIES:
        before, start, rest = page.partition(f"<!-- {name} -->\n")
        _, end, after = rest.partition(f"<!-- /{name} -->")
        page = f"{before}{start}{table(name)}\n{end}{after}"
    return page


def draw_all(folder: Path = PICTURES) -> None:
    """Draws every picture."""
    for picture, (name, panels, labels) in FIGURES.items():
        study = read(KEPT / name)
        if labels:
            study = Study({of: [x[x["label"].isin(labels)] for x in each] for of, each in study.tables.items()})
        draw(study, folder / f"{picture}.png", panels)


if __name__ == "__main__":
    if sys.argv[1:]:
        keep(Path(sys.argv[1]))
    draw_all()
    PAGE.write_text(with_tables(PAGE.read_text(encoding="utf-8")), encoding="utf-8")
