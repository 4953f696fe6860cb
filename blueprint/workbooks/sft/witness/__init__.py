"""Fine-tuning once more, in torch, written from the papers and the libraries' conventions; it shares names with the definitions,
and nothing else of theirs."""

from blueprint.witness import KindWitness
from blueprint.workbooks.sft.witness.compute import compute, group_key
from blueprint.workbooks.sft.witness.once import loss_rows

WITNESS = KindWitness(("labelled.number", "demonstrations.number"), ("mask",), compute, group_key)

__all__ = ["WITNESS", "loss_rows"]
