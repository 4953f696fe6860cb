"""Slips in the total loss: how its parts were joined."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from blueprint.verifying.slips.slip import TotalSlip

Numbers = Mapping[str, float]

PARTS = {"value_loss": "the value loss", "entropy": "the entropy", "kl_loss": "the KL"}


def _more(part: str, times: float) -> Callable[[Numbers], float]:
    """The total with so many times more of what a part adds."""
    return lambda known: known["total_loss"] + times * known[f"adds.{part}"]


def _coefficient(known: Numbers, part: str) -> float:
    return abs(known[f"adds.{part}"] / known[part]) if known[part] else 0.0


def _bare(part: str) -> Callable[[Numbers], float]:
    """The total with a part without its coefficient, of the sign that it has."""

    def total(known: Numbers) -> float:
        adds, coefficient = known[f"adds.{part}"], _coefficient(known, part)
        return known["total_loss"] - adds + (adds / coefficient if coefficient else 0.0)

    return total


def _squared(part: str) -> Callable[[Numbers], float]:
    return lambda known: known["total_loss"] + known[f"adds.{part}"] * (_coefficient(known, part) - 1)


def _slips(part: str, said: str) -> tuple[TotalSlip, ...]:
    return (
        TotalSlip(f"{said} with the wrong sign in the total", _more(part, -2.0)),
        TotalSlip(f"{said} left out of the total", _more(part, -1.0)),
        TotalSlip(f"{said} twice in the total", _more(part, 1.0)),
        TotalSlip(f"half of {said} in the total", _more(part, -0.5)),
        TotalSlip(f"{said} without its coefficient", _bare(part)),
        TotalSlip(f"{said} with its coefficient twice", _squared(part)),
    )


TOTAL: tuple[TotalSlip, ...] = (
    *(slip for part, said in PARTS.items() for slip in _slips(part, said)),
    TotalSlip(
        "the policy loss with the wrong sign in the total", lambda known: known["total_loss"] - 2 * known["policy_loss"]
    ),
    TotalSlip("the policy loss left out of the total", lambda known: known["total_loss"] - known["policy_loss"]),
)
