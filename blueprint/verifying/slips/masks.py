"""Slips in the mask of one number alone, and in how its words are added up."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import torch
from torch import Tensor

from blueprint.verifying.slips.own import Own, across_by
from blueprint.verifying.slips.slip import Words, WordsSlip
from blueprint.witness import losses


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
