"""A run as one page for the browser: charts, what the policies write, and how they end. It asks nothing of the network.

Colours, letters and the policy against requests are those of `web`, the page of a workbook.
"""

from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, Any

from blueprint.files import saved_whole
from blueprint.training.run import Run
from blueprint.training.summary_and_plot import LAST, beginning, endings_of, explained, lines_of, panels_of, whose
from blueprint.web.page import POLICY, as_script, asset

if TYPE_CHECKING:
    from jinja2 import Template

MOST_SAMPLED = 161
"""Iterations whose responses the page holds."""
DIGITS = 6


def write_page(run: Run, path: Path, seed: int | None) -> None:
    """Writes the page of a seed; without one, charts show the mean over seeds, and responses are of the first. Raises SaveError."""
    numbers = run.numbers
    ends = endings_of(run)
    shown = set(lines_of(run, "gold"))
    text = _template().render(
        policy=POLICY,
        style=asset("style.css"),
        numbers=numbers,
        whose=whose(run, seed),
        beginning=beginning(run),
        endings=[each for each in ends if each.beta in shown],
        last=LAST,
        explained=explained(run),
        iterations=run.iterations,
        data=as_script(_data(run, seed)),
    )
    with saved_whole(path) as unfinished:
        unfinished.write_text(text, encoding="utf-8", newline="\n")


def _data(run: Run, seed: int | None) -> dict[str, Any]:
    """Returns what the page draws: titles, lines by quantity and β, and responses by iteration and β."""
    step = -(-run.iterations // MOST_SAMPLED)
    betas = [*lines_of(run, "gold", seed)]
    return {
        "panels": [
            {"title": title, "lines": [[_short(x) for x in line] for line in lines_of(run, name, seed).values()]}
            for name, title in panels_of(run).items()
        ],
        "betas": [f"{beta:.3g}" for beta in betas],
        "step": step,
        "samples": [[run.samples(at, beta, seed) for beta in betas] for at in range(0, run.iterations, step)],
    }


def _short(number: float) -> float:
    return float(f"{number:.{DIGITS}g}")


@cache
def _template() -> "Template":
    from jinja2 import Environment, PackageLoader  # only whoever writes a page waits for it

    found = Environment(
        loader=PackageLoader("blueprint", "training"), autoescape=True, trim_blocks=True, lstrip_blocks=True
    )
    found.filters["signed"] = lambda number: f"{number:.2f}".replace("-", "−")
    return found.get_template("run.html")
