"""What a slip is: how a report puts it, and what the quantity then comes to; and slips in the mask of any number."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from blueprint.verifying.slips.own import Own, Read, across_by
from blueprint.witness import losses


@dataclass(frozen=True)
class Words:
    """What a number is added up from: what each word adds, and where one counts, [1, N, T].

    by: the aggregation, where it is not that of the quantity.
    """

    each: Tensor
    counted: Tensor
    by: str = ""


@dataclass(frozen=True)
class Slip:
    """A mistake in one quantity. said: how a report puts it, behind "matches with".

    made: of the file's own rows the `Words` that a number is added up from; of numbers by name, the total that they make.
    Slips of several quantities that are said the same are one mistake.
    """

    said: str
    made: Callable[[Any], Any]


@dataclass(frozen=True)
class TensorSlip(Slip):
    """A mistake in one tensor alone: `made` is what it makes of the file's own rows, [1, N, T].

    whitened: whether that is whitened, too, where the preset whitens.
    over: the words that it is then whitened over, made of those of the response and its slots, if not over these.
    """

    made: Read
    whitened: bool = True
    over: Callable[[Tensor, Tensor], Tensor] | None = None


def altered(number: Callable[[Own], Words], given: Mapping[str, Read]) -> Callable[[Own], Words]:
    """Returns a number with other inputs or rows, by name."""
    return lambda own: number(own.having({name: made(own) for name, made in given.items()}))


def counted(own: Own, name: str = "loss.counted") -> Tensor:
    """Returns where a loss counts words."""
    return losses.counted_rows(own.rows, own.options)[name]


def _shorter(mask: Tensor, slots: Tensor) -> Tensor:
    return mask * (mask.flip(-1).cumsum(dim=-1).flip(-1) > 1)


MASKS: tuple[tuple[str, Callable[[Tensor, Tensor], Tensor]], ...] = (
    # mll-lab-nu/VAGEN #8: the mask of the critic shifted against that of the actor
    ("a mask that covers one slot more behind each word",
     lambda mask, slots: torch.maximum(mask, across_by(mask, 1)) * slots),
    ("a mask that ends one word earlier", _shorter),
    ("a mask that begins one word later", lambda mask, slots: _shorter(mask.flip(-1), slots).flip(-1)),
    ("a mask shifted by one column to the right", lambda mask, slots: across_by(mask, 1)),
    ("a mask shifted by one column to the left", lambda mask, slots: across_by(mask, -1)),
)  # fmt: skip

WAYS = (
    ("the sum over the words, divided by nothing", "token-sum"),
    ("the sum over the words divided by the number of responses", "seq-mean-token-sum"),
    ("the mean over the responses of their means", "seq-mean-token-mean"),
    ("the mean over all words", "token-mean"),
)


def masks(words: Callable[[Own], Words], of: str) -> tuple[Slip, ...]:
    """Returns a number under other masks, of the file's tensors as they are on the pads, and added up in other ways."""

    def masked(mask: Callable[[Tensor, Tensor], Tensor], own: Own) -> Words:
        return replace(words(own), each=words(own.everywhere).each, counted=mask(words(own).counted, own.texts.slots))

    def everywhere(own: Own) -> Words:
        each = words(own.everywhere).each
        return Words(each, torch.ones_like(each), "token-mean")

    def padded(own: Own) -> Words:
        found = words(own)
        return Words(found.each * found.counted, torch.ones_like(found.counted), "token-mean")

    return (
        *(Slip(f"{said}, in {of} alone", partial(masked, mask)) for said, mask in MASKS),
        # natolambert/rlhf-book #216 and pytorch/rl #2021: a plain mean, pads and all
        Slip("no mask: the mean over all B·T slots", everywhere),
        Slip("the sum over the words divided by all B·T slots", padded),
        *(Slip(said, partial(lambda by, own: replace(words(own), by=by), by)) for said, by in WAYS),
    )
