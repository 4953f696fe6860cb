"""A rollout of classic PPO, computed again: which of the numbers that were logged went wrong first, and why."""

from blueprint.replay.classic.choose import choose
from blueprint.replay.classic.recompute import recompute
from blueprint.replay.classic.report import data_of, text_of
from blueprint.replay.classic.verify import Verdict, verify
from blueprint.replay.classic.work import Replayed

__all__ = ["Replayed", "Verdict", "choose", "data_of", "recompute", "text_of", "verify"]
