"""Dumps of classic PPO: a rollout of environments side by side, and one minibatch of its steps, under neutral names."""

from blueprint.dumps.classic.read import is_rollout, read_rollout, rollout_of
from blueprint.dumps.classic.rollout import Rollout

__all__ = ["Rollout", "is_rollout", "read_rollout", "rollout_of"]
