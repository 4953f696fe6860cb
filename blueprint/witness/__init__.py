"""The outside witness: the numbers of a workbook once more, in torch, from the papers' mathematics.

It shares no code with the definitions from which the workbook is written. Needs the extra `torch`. Beside this door stand
`gae` and `token_loss` for large batches (modules `gae` and `tokens`), and `gradients`.
"""

from blueprint.witness.errors import WitnessError
from blueprint.witness.rollout import Tie
from blueprint.witness.witness import Record, Witnessed, witness

__all__ = ["Record", "Tie", "WitnessError", "Witnessed", "witness"]
