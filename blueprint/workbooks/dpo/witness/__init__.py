"""DPO and its relatives once more, in torch, written from the papers and the libraries' conventions; it shares names
with the definitions, and nothing else of theirs."""

from blueprint.witness import KindWitness
from blueprint.workbooks.dpo.witness.compute import compute, group_key
from blueprint.workbooks.dpo.witness.once import derived

WITNESS = KindWitness(("pair.number",), ("mask", "text.response"), compute, group_key)

__all__ = ["WITNESS", "derived"]
