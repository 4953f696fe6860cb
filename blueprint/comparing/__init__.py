"""Two dumps of one step, as two frameworks wrote it, side by side: where they first differ, and which convention explains it."""

from blueprint.comparing.compared import Comparison, compare
from blueprint.comparing.report import data_of, text_of

__all__ = ["Comparison", "compare", "data_of", "text_of"]
