"""Dumps of classic PPO: a rollout of environments side by side, and one minibatch of its steps, under neutral names."""

from blueprint.minibatch.classic.read import is_rollout, read_rollout, rollout_of
from blueprint.minibatch.classic.rollout import Rollout

__all__ = ["Rollout", "is_rollout", "read_rollout", "rollout_of"]
