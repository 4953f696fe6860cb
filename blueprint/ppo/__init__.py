"""The paper, in the notation: models, rollout, reward, advantage, ratio, losses and diagnostics of RLHF PPO."""

from dataclasses import replace

from blueprint.numbers import TokenNumbers, WeightNumbers
from blueprint.page.outline import Blueprint
from blueprint.ppo.notes import note_of
from blueprint.ppo.token_level import token_level
from blueprint.ppo.weights_level import weights_level


def rlhf_ppo(numbers: WeightNumbers | TokenNumbers) -> Blueprint:
    """Makes the blueprint of RLHF PPO at the level of the numbers: from weights, or from log-probs on."""
    made = weights_level(numbers) if isinstance(numbers, WeightNumbers) else token_level(numbers)
    return replace(made, notes={block.name: note_of(block.name) for block in made.blocks()})
