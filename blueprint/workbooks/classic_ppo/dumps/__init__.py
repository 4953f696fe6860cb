"""Dumps of classic PPO: a rollout of environments side by side, and one minibatch of its steps, under neutral names."""

from blueprint.workbooks.classic_ppo.dumps.read import read_rollout
from blueprint.workbooks.classic_ppo.dumps.rollout import Rollout

__all__ = ["Rollout", "read_rollout"]
