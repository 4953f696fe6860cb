"""What the page says of gradients: a table for each batch, where loss and gradient part, and what turns or stretches them."""

from collections.abc import Callable, Iterable, Sequence
from math import isfinite
from typing import NamedTuple

from blueprint.which.measure import SIDES, Answer, Effect
from blueprint.which.turned import Turn

EXPLAINED = """\
A loss is one number; what trains is its gradient. The policy's is that of the total loss over what the policy's optimiser
moves, the critic's that of what its own optimiser makes smaller: the value loss, times vf_coef where one optimiser has both.
Angles are those to the default's gradient on the same batch: at 0° both pull the same way, at 90° they have nothing in common,
beyond it they pull against each other. Adam divides a constant factor out; no optimiser turns a gradient back.

- *A factor* before a whole loss, such as vf_coef or no ½, and a variance by N in place of N − 1, stretch its gradient and do
  not turn it; so would a mean over tokens in place of their sum. A mean of each response first gives short responses more
  weight, and turns it: `--set loss.aggregation=seq-mean-token-mean` adds such a row.
- *What is taken off all advantages alike*, by whitening, or by whitening over pads, moves the loss itself; the gradient
  moves by a multiple of Σ∇ρ, which is 0 on average over what the old policy writes (a baseline: Williams 1992, REINFORCE,
  theorem 1), though not on one small batch.
- *A clip* keeps a token's loss as a constant and takes its gradient away: the loss keeps the token, the gradient loses it.
- *Another reward, γ or λ* weighs each token anew, and so does a KL in the loss instead of the reward, which hardly
  moves the loss (`--set reward.kl_in=loss`): they turn the gradient."""
OVER = {
    "weights": "the policy's weights alone, and over the critic's",
    "logits": "the policy's logits and the critic's values, with which this batch begins",
}
"""What is differentiated by, by the level at which a batch begins."""
NOWHERE = 0.05
"""Degrees below which a gradient is said not to be turned: the page shows one decimal."""


NO_LONGER = 0.005
"""Part of a length below which a gradient is not said to be stretched: the page shows two decimals."""
TINY = 1e-12
"""Below it a gradient is the default's own, but for rounding."""


class Named(NamedTuple):
    """What a convention of a library does to a gradient."""

    library: str
    effect: Effect
    turn: Turn


def table(answers: Sequence[Answer], level: str) -> str:
    """Lays norms and angles out, a row per library. level: where the batch begins."""
    heads = [f"{side}: {what}" for side in SIDES for what in ("norm", "angle")]
    lines = [["library", *heads], ["---", *["---:"] * len(heads)]]
    for answer in answers:
        found = ((f"{answer.norms[side]:.4f}", degrees(answer.turns[side])) for side in answer.norms)
        lines.append([answer.preset.name, *(each for pair in found for each in pair)])
    rows = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"The gradients, over {OVER[level]}, and their angles to the default's:\n\n{rows}"


def degrees(turn: Turn) -> str:
    """Spells an angle."""
    return f"{turn.degrees:.1f}°" if isfinite(turn.degrees) else "–"


def parted(answers: Sequence[Answer], phrase: Callable[[str, Effect], str]) -> str:
    """Says where loss and gradient part most, and which conventions stretch and which turn. phrase: says what an effect is of."""
    default, *others = answers
    moved = sorted(others, key=lambda each: _moved(each, default) / max(each.turns["policy"].distance, TINY))
    told = [
        f"For what the gradient does, the loss moves most in {_answer(moved[-1], default)}, "
        f"and least in {_answer(moved[0], default)}."
    ]
    for side in SIDES:
        found = [Named(each.preset.name, effect, effect.turns[side]) for each in others for effect in each.effects]
        told.append(_of_side(side, [each for each in found if isfinite(each.turn.degrees)], phrase))
    return " ".join(told)


def _moved(answer: Answer, default: Answer) -> float:
    return abs(answer.numbers["policy loss"] - default.numbers["policy loss"])


def _answer(answer: Answer, default: Answer) -> str:
    """Tells of a library's loss and gradient."""
    losses = (f"{each.numbers['policy loss']:.4f}".replace("-", "−") for each in (answer, default))
    turn = answer.turns["policy"]
    return f"{answer.preset.name} (policy loss {' for '.join(losses)}; turned by {degrees(turn)}, {_longer(turn)})"


def _of_side(side: str, found: Sequence[Named], phrase: Callable[[str, Effect], str]) -> str:
    """Names the convention that turns a gradient most, and the one that stretches it most without turning it."""
    if not found:
        return ""
    most = max(found, key=lambda each: each.turn.degrees)
    told = f"The {side}'s gradient is turned most by {_named(most, phrase)}, by {degrees(most.turn)}"
    straight = [each for each in found if each.turn.degrees < NOWHERE and each.turn.stretch > NO_LONGER]
    longest = max(straight, key=lambda each: each.turn.stretch, default=None)
    if longest is None:
        return f"{told}."
    return f"{told}, and stretched most without being turned by {_named(longest, phrase)}: {_longer(longest.turn)}."


def _named(each: Named, phrase: Callable[[str, Effect], str]) -> str:
    return f"“{phrase(each.library, each.effect)}” ({each.library})"


def _longer(turn: Turn) -> str:
    return f"{turn.longer:.2f} times as long"


def strongest(effects: Iterable[Effect], phrase: Callable[[Effect], str]) -> str:
    """Says which convention of one library turns the policy's gradient most, and which stretches it most."""
    found = [(effect, effect.turns["policy"]) for effect in effects if "policy" in effect.turns]
    known = [(effect, turn) for effect, turn in found if isfinite(turn.degrees)]
    if not known:
        return ""
    turning, stretching = max(known, key=lambda each: each[1].degrees), max(known, key=lambda each: each[1].stretch)
    if turning[1].degrees < NOWHERE:
        return " No single one turns the policy's gradient."
    told = f" The policy's gradient is turned most by {phrase(turning[0])}: {degrees(turning[1])}"
    if turning[0] == stretching[0]:
        return f"{told}, {_longer(turning[1])}."
    return f"{told}; stretched most by {phrase(stretching[0])}: {_longer(stretching[1])}."
