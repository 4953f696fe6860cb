"""The outside witness: the numbers of a workbook once more, in torch, from the papers' mathematics.

It shares no code with the definitions from which the workbook is written. Needs the extra `torch`. `ppo` is the one
computation of which every kind of workbook has its options.
"""

from blueprint.witness.settings import WitnessError
from blueprint.witness.witness import KindWitness, Record, Tie, Witnessed, witness

__all__ = ["KindWitness", "Record", "Tie", "WitnessError", "Witnessed", "witness"]
