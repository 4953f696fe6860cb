"""Reward models once more, in torch, written from the papers and the libraries' conventions; it shares names with the definitions,
and nothing else of theirs."""

from blueprint.witness import KindWitness
from blueprint.workbooks.reward_model.witness.compute import compute, group_key
from blueprint.workbooks.reward_model.witness.once import derived

WITNESS = KindWitness(("chosen.number",), ("ranked.word", "scored.word"), compute, group_key)

__all__ = ["WITNESS", "derived"]
