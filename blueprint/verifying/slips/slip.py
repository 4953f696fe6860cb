"""What a slip is: how a report puts it, and what the quantity then comes to; and slips in the mask of any number."""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from blueprint.verifying.slips.own import Own, across_by
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
class TensorSlip:
    """A mistake in one tensor alone. said: how a report puts it, behind "matches with".

    made: what it makes of the file's own rows, [1, N, T]. whitened: whether that is whitened, too, where the preset whitens.
    over: the words that it is then whitened over, made of those of the response and its slots, if not over these.
    Slips of several quantities that are said the same are one mistake.
    """

    said: str
    made: Callable[[Own], Tensor]
    whitened: bool = True
    over: Callable[[Tensor, Tensor], Tensor] | None = None


@dataclass(frozen=True)
class WordsSlip:
    """A mistake in a number that is added up from words."""

    said: str
    made: Callable[[Own], Words]


@dataclass(frozen=True)
class TotalSlip:
    """A mistake in a number that is made of other numbers, given by name."""

    said: str
    made: Callable[[Mapping[str, float]], float]


BEFORE = "of the slot before (shifted by one column to the right)"
BEHIND = "of the slot behind (shifted by one column to the left)"
BESIDE = (
    (BEFORE, 1, 0, False),
    (BEHIND, -1, 0, False),
    (BEFORE, 1, 0, True),
    (BEHIND, -1, 0, True),
    ("of the row before", 0, 1, False),
    ("of the row behind", 0, -1, False),
)
"""Where else a tensor may have been read: how it is said, how many columns to the right, how many rows down, and whether
what goes out at one edge comes in at the other, as with roll."""


def read(name: str, across: int = 0, down: int = 0, around: bool = False) -> Callable[[Own], Tensor]:
    """Returns how a tensor of the file is read, from another place if so."""
    return lambda own: own.file(name, across, down, around)


def beside(name: str) -> Iterator[tuple[str, Callable[[Own], Tensor]]]:
    """Yields how a tensor may have been read beside its place: how that is said, and how it is read."""
    for where, across, down, around in BESIDE:
        yield f"{name} {where}", read(name, across, down, around)


def counted(own: Own, name: str = "loss.counted") -> Tensor:
    """Returns where a loss counts words."""
    return losses.counted_rows(own.rows, own.options)[name]


def _longer(mask: Tensor, slots: Tensor) -> Tensor:
    return torch.maximum(mask, across_by(mask, 1)) * slots


def _shorter(mask: Tensor, slots: Tensor) -> Tensor:
    behind = mask.flip(-1).cumsum(dim=-1).flip(-1)
    return mask * (behind > 1)


MASKS: tuple[tuple[str, Callable[[Tensor, Tensor], Tensor]], ...] = (
    # mll-lab-nu/VAGEN #8: the mask of the critic shifted against that of the actor
    ("a mask that covers one slot more behind each word", _longer),
    ("a mask that ends one word earlier", _shorter),
    ("a mask that begins one word later", lambda mask, slots: _shorter(mask.flip(-1), slots).flip(-1)),
    ("a mask shifted by one column to the right", lambda mask, slots: across_by(mask, 1)),
    ("a mask shifted by one column to the left", lambda mask, slots: across_by(mask, -1)),
)

WAYS = (
    ("the sum over the words, divided by nothing", "token-sum"),
    ("the sum over the words divided by the number of responses", "seq-mean-token-sum"),
    ("the mean over the responses of their means", "seq-mean-token-mean"),
    ("the mean over all words", "token-mean"),
)


def masks(words: Callable[[Own], Words], of: str) -> tuple[WordsSlip, ...]:
    """Returns a number under other masks, of the file's tensors as they are on the pads, and added up in other ways."""

    def masked(mask: Callable[[Tensor, Tensor], Tensor]) -> Callable[[Own], Words]:
        return lambda own: replace(
            words(own), each=words(own.everywhere).each, counted=mask(words(own).counted, own.texts.slots)
        )

    def everywhere(own: Own) -> Words:
        each = words(own.everywhere).each
        return Words(each, torch.ones_like(each), "token-mean")

    def padded(own: Own) -> Words:
        found = words(own)
        return Words(found.each * found.counted, torch.ones_like(found.counted), "token-mean")

    def added(by: str) -> Callable[[Own], Words]:
        return lambda own: replace(words(own), by=by)

    return (
        *(WordsSlip(f"{said}, in {of} alone", masked(mask)) for said, mask in MASKS),
        # natolambert/rlhf-book #216 and pytorch/rl #2021: a plain mean, pads and all
        WordsSlip("no mask: the mean over all B·T slots", everywhere),
        WordsSlip("the sum over the words divided by all B·T slots", padded),
        *(WordsSlip(said, added(by)) for said, by in WAYS),
    )
