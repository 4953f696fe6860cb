"""Two dumps of one step, as two frameworks wrote it, side by side: where they first differ, and which convention explains it."""

from blueprint.dump_comparison.aligned import Side, read_side, side_of
from blueprint.dump_comparison.comparison import Comparison, compare, compare_sides, data_of

__all__ = ["Comparison", "Side", "compare", "compare_sides", "data_of", "read_side", "side_of"]
