"""GRPO and its family once more, in torch, written from the papers and the libraries' code; it shares names with the definitions,
and nothing else."""

from blueprint.workbooks.grpo.witness.advantages import Signal, signal
from blueprint.workbooks.grpo.witness.losses import Losses, losses
from blueprint.workbooks.grpo.witness.options import Asked, Responses

__all__ = ["Asked", "Losses", "Responses", "Signal", "losses", "signal"]
