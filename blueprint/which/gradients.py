"""What the page says of gradients: a table for each batch, where loss and gradient part, and what turns or stretches them."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import isfinite
from typing import NamedTuple

from blueprint.which.measure import Answer, Effect
from blueprint.which.turned import Turn

RANKED = 4
"""How many are named that stand elsewhere."""
NOWHERE = 0.05
"""Degrees below which a gradient is said not to be turned: the page shows one decimal."""


NO_LONGER = 0.005
"""Part of a length below which a gradient is not said to be stretched: the page shows two decimals."""
NO_LENGTH = "The default's gradient is 0, so that no other has an angle to it."
ALONE = ("norm", "times as long", "angle")
"""What is told of a gradient beside which no other stands."""
TINY = 1e-12
"""Below it a gradient is the default's own, but for rounding."""


class Named(NamedTuple):
    """What a convention of a library does to a gradient."""

    library: str
    effect: Effect
    turn: Turn


def table(answers: Sequence[Answer], over: str) -> str:
    """Lays norms and angles out, a row per library. over: what gradients are taken over."""
    sides = tuple(answers[0].norms)
    heads = [f"{side}: {what}" for side in sides for what in ("norm", "angle")] if sides[1:] else [*ALONE]
    lines = [["library", *heads], ["---", *["---:"] * len(heads)]]
    for answer in answers:
        lines.append([answer.preset.name, *(each for side in sides for each in _shown(answer, side, len(sides) > 1))])
    rows = "\n".join(f"| {' | '.join(line)} |" for line in lines)
    return f"The gradients, over {over}, and their angles to the default's:\n\n{rows}"


def _shown(answer: Answer, side: str, several: bool) -> list[str]:
    """Spells how long a gradient is and where it points; where there is one alone, also how much longer than the default's."""
    turn = answer.turns[side]
    return [f"{answer.norms[side]:.4f}", *([] if several else [times(turn)]), degrees(turn)]


def times(turn: Turn) -> str:
    """Spells how many times as long a gradient is; beside one of length 0 nothing can be said."""
    return f"{turn.longer:.2f}" if isfinite(turn.longer) else "–"


def degrees(turn: Turn) -> str:
    """Spells an angle."""
    return f"{turn.degrees:.1f}°" if isfinite(turn.degrees) else "–"


def parted(answers: Sequence[Answer], phrase: Callable[[str, Effect], str], main: str) -> str:
    """Says where loss and gradient part most, and which conventions stretch and which turn. phrase: says what an effect is of.

    main: what the number is called that is explained.
    """
    if not answers[0].norms["policy"]:
        return NO_LENGTH
    default, *every = answers
    others = [each for each in every if not each.turns["policy"].distance < TINY] or every

    def moves(each: Answer) -> float:
        return even(_moved(each, default) / max(each.turns["policy"].distance, TINY))

    most, least = (_answer(find(others, key=moves), default, main) for find in (max, min))
    told = [f"Relative to the change of the gradient, the loss changes most in {most}, and least in {least}."]
    for side in default.norms:
        found = [Named(each.preset.name, effect, effect.turns[side]) for each in others for effect in each.effects]
        told.append(_of_side(side, [each for each in found if isfinite(each.turn.degrees)], phrase))
    return " ".join(told)


def even(number: float) -> float:
    """Rounds what is compared to ten digits, so that of equals the first is named, whichever way a machine rounds."""
    return float(f"{number:.9e}")


def _moved(answer: Answer, default: Answer) -> float:
    return abs(answer.loss - default.loss)


def _answer(answer: Answer, default: Answer, main: str) -> str:
    """Tells of a library's loss and gradient."""
    losses = (f"{each.loss:.4f}".replace("-", "−") for each in (answer, default))
    turn = answer.turns["policy"]
    return f"{answer.preset.name} ({main} {' for '.join(losses)}; turned by {degrees(turn)}, {_longer(turn)})"


def _of_side(side: str, found: Sequence[Named], phrase: Callable[[str, Effect], str]) -> str:
    """Names the convention that turns a gradient most, and the one that stretches it most without turning it."""
    if not found:
        return ""
    most = max(found, key=lambda each: even(each.turn.degrees))
    told = f"The {side}'s gradient is turned most by {_named(most, phrase)}, by {degrees(most.turn)}"
    straight = [each for each in found if each.turn.degrees < NOWHERE and each.turn.stretch > NO_LONGER]
    longest = max(straight, key=lambda each: even(each.turn.stretch), default=None)
    if longest is None:
        return f"{told}."
    return f"{told}, and stretched most without being turned by {_named(longest, phrase)}: {_longer(longest.turn)}."


def _named(each: Named, phrase: Callable[[str, Effect], str]) -> str:
    return f"“{phrase(each.library, each.effect)}” ({each.library})"


def _longer(turn: Turn) -> str:
    return f"{times(turn)} times as long"


def strongest(effects: Iterable[Effect], phrase: Callable[[Effect], str]) -> str:
    """Says which convention of one library turns the policy's gradient most, and which stretches it most."""
    found = [(effect, effect.turns["policy"]) for effect in effects if "policy" in effect.turns]
    known = [(effect, turn) for effect, turn in found if isfinite(turn.degrees)]
    if not known:
        return ""
    turning, stretching = (
        max(known, key=lambda each: even(each[1].degrees)),
        max(known, key=lambda each: even(each[1].stretch)),
    )
    if turning[1].degrees < NOWHERE:
        return " No single one turns the policy's gradient."
    told = f" The policy's gradient is turned most by {phrase(turning[0])}: {degrees(turning[1])}"
    if turning[0] == stretching[0]:
        return f"{told}, {_longer(turning[1])}."
    return f"{told}; stretched most by {phrase(stretching[0])}: {_longer(stretching[1])}."


def ranked(found: Mapping[str, tuple[float, Turn]], of: str) -> str:
    """Says what stands elsewhere when ranked by how far the loss moves than by how far the gradient does.

    found: by name, by how much the loss is moved, and how the gradient lies to the default's. of: what these are, in words.
    """
    known = {name: each for name, each in found.items() if isfinite(each[0]) and isfinite(each[1].longer)}
    if len(known) < 2:
        return ""
    by_loss = sorted(known, key=lambda name: -even(abs(known[name][0])))
    by_gradient = sorted(known, key=lambda name: -even(known[name][1].distance))
    places = {name: (by_loss.index(name) + 1, by_gradient.index(name) + 1) for name in known}
    apart = sorted(places.items(), key=lambda item: -abs(item[1][0] - item[1][1]))[:RANKED]
    told = "; ".join(
        f"“{name}” is {_place(loss)} by loss and {_place(slope)} by gradient" for name, (loss, slope) in apart
    )
    return f"Of {len(known)} {of}, ranked by how far they are from the default: {told}."


def _place(number: int) -> str:
    ending = "th" if number % 100 in (11, 12, 13) else {1: "st", 2: "nd", 3: "rd"}.get(number % 10, "th")
    return f"{number}{ending}"
