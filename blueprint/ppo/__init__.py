"""The paper, in the notation: models, rollout, reward, advantage, ratio, losses and diagnostics of RLHF PPO."""

from dataclasses import replace
from typing import assert_never

from blueprint.numbers import ClassicNumbers, ControllerNumbers, LogitNumbers, Numbers, TokenNumbers, WeightNumbers
from blueprint.numbers.minibatch import MinibatchNumbers
from blueprint.page.outline import Blueprint
from blueprint.ppo.guides import with_guides
from blueprint.ppo.notes import note_of
from blueprint.ppo.notes.live_signal import LIVE
from blueprint.ppo.sheets.beside import Witnessed


def rlhf_ppo(numbers: Numbers | MinibatchNumbers, witnessed: Witnessed | None = None) -> Blueprint:
    """Makes the blueprint of RLHF PPO at the level of the numbers: from weights, from logits, or from log-probs on.

    The numbers of classic PPO and of the KL controller make blueprints of their own.

    witnessed: numbers of an outside witness, to stand beside the workbook's own on the sheet Checks.
    """
    return with_guides(_made(numbers, witnessed), numbers)


def _made(numbers: Numbers | MinibatchNumbers, witnessed: Witnessed | None) -> Blueprint:
    # Each is imported where it is needed: a build needs one of them, and all together take as long as its start.
    match numbers:
        case WeightNumbers():
            from blueprint.ppo.weights_level import weights_level

            return _with_notes(weights_level(numbers, witnessed), numbers.conventions.live)
        case LogitNumbers():
            from blueprint.ppo.logits_level import logits_level

            return _with_notes(logits_level(numbers, witnessed), live=True)
        case TokenNumbers():
            from blueprint.ppo.token_level import token_level

            return _with_notes(token_level(numbers, witnessed), live=False)
        case MinibatchNumbers():
            from blueprint.ppo.minibatch import minibatch_level

            return _with_notes(minibatch_level(numbers), live=True)
        case ClassicNumbers():
            from blueprint.ppo.classic import classic_ppo

            return classic_ppo(numbers, witnessed)
        case ControllerNumbers():
            from blueprint.ppo.controller_sheets import kl_controller

            return kl_controller(numbers, witnessed)
    assert_never(numbers)


def _with_notes(made: Blueprint, live: bool) -> Blueprint:
    """Adds what is said of each block; some of it differs where conventions are live."""
    own = LIVE if live else {}
    return replace(made, notes={block.name: own.get(block.name) or note_of(block.name) for block in made.blocks()})
