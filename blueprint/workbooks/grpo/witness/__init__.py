"""GRPO and its family once more, in torch, written from the papers and the libraries' code; it shares names with the definitions,
and nothing else."""

from blueprint.witness import Asked, KindWitness
from blueprint.workbooks.grpo.witness.advantages import Signal, signal
from blueprint.workbooks.grpo.witness.compute import compute, group_key
from blueprint.workbooks.grpo.witness.losses import Losses, average, losses
from blueprint.workbooks.grpo.witness.options import Responses

WITNESS = KindWitness(("group.response",), ("rollout.draw", "mask"), compute, group_key)

__all__ = ["WITNESS", "Asked", "Losses", "Responses", "Signal", "average", "losses", "signal"]
