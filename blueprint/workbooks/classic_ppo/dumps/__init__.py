"""Dumps of classic PPO: a rollout of environments side by side, and one minibatch of its steps, under neutral names."""

from blueprint.dumps import DumpKind
from blueprint.workbooks.classic_ppo.dumps.read import is_rollout, read_rollout, rollout_of
from blueprint.workbooks.classic_ppo.dumps.rollout import Rollout
from blueprint.workbooks.classic_ppo.schema import classic_presets

DUMPS = DumpKind("a rollout of classic PPO", classic_presets, rollout_of, is_rollout)

__all__ = ["DUMPS", "Rollout", "read_rollout"]
