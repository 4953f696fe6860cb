"""Slips in how advantages are whitened: in the mean, the deviation, and the words that both are of."""

from collections.abc import Callable

from torch import Tensor

from blueprint.verifying.slips.own import Own
from blueprint.verifying.slips.slip import MASKS, TensorSlip

Read = Callable[[Own], Tensor]


def _moment(own: Own, name: str) -> float:
    return own.whole[f"advantage.{name}"]


def _centred(own: Own) -> Tensor:
    return own["advantages"] - _moment(own, "mean")


def white(own: Own) -> Tensor:
    """Returns (A − μ)/σ with the moments of the whole file."""
    return _centred(own) / _moment(own, "divisor")


def _white_by_response(ddof: int) -> Read:
    """(A − μ)/σ with the moments of each response, σ² = Σ(A − μ)²/(n − ddof)."""

    def by_response(own: Own) -> Tensor:
        counted = own["response"]
        words = counted.sum(dim=-1, keepdim=True).clamp(min=1)
        centred = counted * (own["advantages"] - (counted * own["advantages"]).sum(dim=-1, keepdim=True) / words)
        free = (words - ddof).clamp(min=1)
        return centred / (centred.square().sum(dim=-1, keepdim=True) / free + own.number("whiten_eps")).sqrt()

    return by_response


def _apart(own: Own) -> float:
    """How far the mean over the words is from their sum divided by all B·T slots."""
    return _moment(own, "mean") * (1 - _moment(own, "count") / own.work.batch.mask.size)


def _less_mean_of_slots(own: Own) -> Tensor:
    return _centred(own) + _apart(own)


def _white_about_mean_of_slots(own: Own) -> Tensor:
    """(A − μ)/√(Σ(A − μ)²/N) over the words, μ their sum divided by all B·T slots."""
    variance = _moment(own, "divisor") ** 2 + _moment(own, "bessel") * _apart(own) ** 2
    return _less_mean_of_slots(own) / float(variance**0.5)


WHITENING: tuple[TensorSlip, ...] = (
    TensorSlip(
        "whitening without subtracting the mean", lambda own: own["advantages"] / _moment(own, "divisor"), False
    ),
    TensorSlip("whitening without dividing by the deviation", _centred, False),
    TensorSlip("whitening by the variance, not its root", lambda own: _centred(own) / _moment(own, "variance"), False),
    *(TensorSlip("whitening each response by itself", _white_by_response(ddof), False) for ddof in (0, 1)),
    *(
        TensorSlip("whitening with the mean over all B·T slots, the deviation over the words", made, False)
        for made in (
            lambda own: _less_mean_of_slots(own) / _moment(own, "divisor"),
            _white_about_mean_of_slots,
        )
    ),
    *(TensorSlip(f"whitening over {said}", lambda own: own["advantages"], over=mask) for said, mask in MASKS),
)
