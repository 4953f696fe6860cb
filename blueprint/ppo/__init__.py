"""The paper, in the notation: models, rollout, reward, advantage, ratio, losses and diagnostics of RLHF PPO."""

from dataclasses import replace

from blueprint.numbers import TokenNumbers, WeightNumbers
from blueprint.page.outline import Blueprint
from blueprint.ppo.notes import note_of
from blueprint.ppo.sheets.beside import Witnessed
from blueprint.ppo.token_level import token_level
from blueprint.ppo.weights_level import weights_level


def rlhf_ppo(numbers: WeightNumbers | TokenNumbers, witnessed: Witnessed | None = None) -> Blueprint:
    """Makes the blueprint of RLHF PPO at the level of the numbers: from weights, or from log-probs on.

    witnessed: numbers of an outside witness, to stand beside the workbook's own on the sheet Checks.
    """
    level = weights_level if isinstance(numbers, WeightNumbers) else token_level
    made = level(numbers, witnessed)  # type: ignore[arg-type]
    return replace(made, notes={block.name: note_of(block.name) for block in made.blocks()})
