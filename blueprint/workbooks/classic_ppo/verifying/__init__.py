"""Rollouts of classic PPO: verified, and shown, some of their steps, as a workbook."""

from blueprint.verifying import Verifier
from blueprint.workbooks.classic_ppo.dumps import together
from blueprint.workbooks.classic_ppo.verifying.verify import check_device, verify_rollouts
from blueprint.workbooks.classic_ppo.verifying.window import shown_window

VERIFIER = Verifier(check_device, verify_rollouts, shown_window, lambda verdict: verdict.replayed.batch, together)
