"""A chart in a file: whether one can be drawn there at all, which is asked before anything is computed; and the file."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

from blueprint.files import saved_whole

if TYPE_CHECKING:
    from matplotlib.figure import Figure

ENDINGS = (".png", ".svg", ".pdf")


def check_plot_file(path: Path, refusal: type[Exception]) -> None:
    """Raises the refusal of a room where a chart could not be drawn into a file of that name."""
    if path.suffix.lower() not in ENDINGS:
        raise refusal(f"--plot {path}: found the ending {path.suffix or 'none'}, expected one of {', '.join(ENDINGS)}")
    if find_spec("matplotlib") is None:
        raise refusal('--plot needs matplotlib, which is not installed: python -m pip install ".[plot]"')


def save_plot(figure: Figure, path: Path, dpi: int) -> None:
    """Writes a chart in the format that the ending of its file names. Raises SaveError; the file is whole or not there."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg

    FigureCanvasAgg(figure)
    with saved_whole(path) as unfinished:
        figure.savefig(unfinished, dpi=dpi, format=path.suffix[1:].lower())
