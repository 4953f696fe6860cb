"""A rollout of classic PPO, computed again: which of the numbers that were logged went wrong first, and why."""

from blueprint.verifying.classic.choose import choose
from blueprint.verifying.classic.recompute import recompute
from blueprint.verifying.classic.report import data_of, text_of
from blueprint.verifying.classic.verify import Verdict, verify
from blueprint.verifying.classic.work import Replayed

__all__ = ["Replayed", "Verdict", "choose", "data_of", "recompute", "text_of", "verify"]
