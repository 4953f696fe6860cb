"""Two dumps of one step, as two frameworks wrote it, side by side: where they first differ, and which convention explains it."""

from blueprint.dump_comparison.compared import Comparison, compare
from blueprint.dump_comparison.report import data_of, text_of

__all__ = ["Comparison", "compare", "data_of", "text_of"]
