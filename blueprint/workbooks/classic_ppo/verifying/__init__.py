"""Rollouts of classic PPO, computed again: which of the numbers that were logged went wrong first, and why."""

from blueprint.verifying.kind import Verifier
from blueprint.workbooks.classic_ppo.verifying.export import shown
from blueprint.workbooks.classic_ppo.verifying.recompute import recompute
from blueprint.workbooks.classic_ppo.verifying.verify import check_device, verify, verify_rollouts

VERIFIER = Verifier(check_device, verify_rollouts, shown, lambda verdict: verdict.replayed.batch)

__all__ = ["VERIFIER", "recompute", "verify"]
