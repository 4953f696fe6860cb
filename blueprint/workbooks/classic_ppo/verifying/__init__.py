"""Rollouts of classic PPO, computed again: which of the numbers that were logged went wrong first, and why."""

from blueprint.workbooks.classic_ppo.verifying.recompute import recompute
from blueprint.workbooks.classic_ppo.verifying.verify import verify

__all__ = ["recompute", "verify"]
