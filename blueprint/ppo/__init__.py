"""The paper, in the notation: models, rollout, reward, advantage, ratio, losses and diagnostics of RLHF PPO."""

from collections.abc import Callable
from dataclasses import replace

from blueprint.numbers import ClassicNumbers, ControllerNumbers, LogitNumbers, Numbers, TokenNumbers, WeightNumbers
from blueprint.page.outline import Blueprint
from blueprint.ppo.classic import classic_ppo
from blueprint.ppo.controller_sheets import kl_controller
from blueprint.ppo.logits_level import logits_level
from blueprint.ppo.notes import note_of
from blueprint.ppo.notes.live_signal import LIVE
from blueprint.ppo.sheets.beside import Witnessed
from blueprint.ppo.token_level import token_level
from blueprint.ppo.weights_level import weights_level

LEVELS: dict[type, Callable[..., Blueprint]] = {
    WeightNumbers: weights_level,
    LogitNumbers: logits_level,
    TokenNumbers: token_level,
}


def rlhf_ppo(numbers: Numbers, witnessed: Witnessed | None = None) -> Blueprint:
    """Makes the blueprint of RLHF PPO at the level of the numbers: from weights, or from log-probs on.

    The numbers of classic PPO and of the KL controller make blueprints of their own.

    witnessed: numbers of an outside witness, to stand beside the workbook's own on the sheet Checks.
    """
    if isinstance(numbers, ClassicNumbers):
        return classic_ppo(numbers)
    if isinstance(numbers, ControllerNumbers):
        return kl_controller(numbers)
    level = LEVELS[type(numbers)]
    made = level(numbers, witnessed)
    live = not isinstance(numbers, TokenNumbers) and numbers.conventions.live
    own = LIVE if live else {}
    return replace(made, notes={block.name: own.get(block.name) or note_of(block.name) for block in made.blocks()})
