"""What is said of each logged quantity: that it agrees, that it follows from what stands before it, or that it differs."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from blueprint.verifying.compare import SHARE, Compared

AGREES, TOO_COARSE, FOLLOWS, DIFFERS = "agrees", "too coarse", "follows", "DIFFERS"
NEEDS_OTHERS = "needs the others"

LEAST_SHARE = 0.01
"""How much of its tolerance a difference must take to be named."""


@dataclass(frozen=True)
class Line:
    """A logged quantity: what the file calls it, what it was compared to, and what that says.

    says: agrees; too coarse, if rounding may explain the difference but might hide a fault, too; follows, if it agrees with the
        file's own rows before it or with the cause of the first deviation; DIFFERS, also from the file's own rows before it; or
        that it needs the other files of the step, where nothing but their mean and deviation could make a difference.
    why: what makes it too coarse, where that is no rounding.
    within: what it follows from where nothing before it deviates: rows before it that agree, and how much of their
        tolerance they take.
    """

    called: str
    compared: Compared
    says: str
    within: Mapping[str, float] = field(default_factory=dict)
    why: str = ""

    @property
    def allowed(self) -> float:
        """How far apart it may be: to agree, or else by rounding alone."""
        found = self.compared
        return min(found.tolerance, SHARE * found.size) if self.says == AGREES else found.allowed


def everything_before(name: str, quantities: Mapping[str, Any]) -> tuple[str, ...]:
    """Returns all that a quantity is made of, directly (`after`) or through others."""
    direct = quantities[name].after
    return tuple(dict.fromkeys((*direct, *(far for each in direct for far in everything_before(each, quantities)))))


def lines_of(
    quantities: Mapping[str, Any],
    called: Callable[[str], str],
    straight: Mapping[str, Compared],
    local: Mapping[str, Compared],
) -> list[Line]:
    """Says of each quantity whether it agrees, or else whether it follows from what the file has before it.

    quantities: all of a kind of dump, each with those that it is made of, `after`. called: what the file calls one.
    """
    lines: list[Line] = []
    for name, compared in straight.items():
        says, within = TOO_COARSE if compared.too_coarse else AGREES, dict[str, float]()
        if not compared.agrees:
            earlier = [straight[each] for each in everything_before(name, quantities) if each in straight]
            follows = bool(earlier) and name in local and local[name].agrees
            says = FOLLOWS if follows else DIFFERS
            within = _within(earlier) if follows and all(each.agrees for each in earlier) else within
        lines.append(Line(called(name), compared, says, within))
    return lines


def _within(earlier: Sequence[Compared]) -> dict[str, float]:
    """Returns how much of its tolerance each takes, the most first; where none takes a hundredth, only the first."""
    shares = {each.name: each.largest / each.allowed for each in earlier if each.allowed}
    order = sorted(shares, key=lambda name: -shares[name])
    return {name: shares[name] for place, name in enumerate(order) if shares[name] >= LEAST_SHARE or not place}


def first_of(lines: Sequence[Line]) -> Line | None:
    """Returns the first line that differs by itself, or else the first that deviates; None where none does."""
    wrong = [line for line in lines if not settled(line)]
    return next((line for line in wrong if line.says == DIFFERS), next(iter(wrong), None))


def settled(line: Line) -> bool:
    """Whether nothing is left to be explained: it agrees, or only other files can judge it."""
    return line.compared.agrees or line.says == NEEDS_OTHERS


def left_open(line: Line) -> Line:
    """Returns a line that only the other files of the step can judge."""
    return replace(line, says=NEEDS_OTHERS, within={})


def following(line: Line) -> Line:
    """Returns a line that follows from the cause of the first deviation."""
    return replace(line, says=FOLLOWS, within={})
