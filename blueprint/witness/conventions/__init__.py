"""The conventions of RLHF libraries in torch: one pipeline of PPO in which every choice that libraries differ in is an option.

Written from the libraries' papers and mathematics; knows nothing of workbooks.
"""

from blueprint.witness.conventions.options import NUMBERS, WORDS, Options
from blueprint.witness.conventions.recompute import recompute
from blueprint.witness.conventions.sums import Tiled
from blueprint.witness.conventions.texts import Texts, from_distributions, log_softmax_at

__all__ = ["NUMBERS", "WORDS", "Options", "Texts", "Tiled", "from_distributions", "log_softmax_at", "recompute"]
