"""Places in a response: where its last word stands, the slots behind it, what counts and what is kept.

T of the papers is the number of slots of a response, A that of its words up to the last one. Tensors are [F, N, T].
"""

from __future__ import annotations

import torch
from torch import Tensor

from blueprint.witness.conventions.options import Options
from blueprint.witness.conventions.texts import Texts
from blueprint.witness.models import Held, Named
from blueprint.witness.signal import with_end


def with_start(values: Tensor) -> Tensor:
    """Returns the tensor with a column of zeros in front."""
    return torch.cat([torch.zeros_like(values[..., :1]), values], dim=-1)


def later(values: Tensor) -> Tensor:
    """Returns what stands one column before."""
    return with_start(values)[..., :-1]


def place_rows(texts: Texts) -> Named:
    """Returns 0/1 rows of the places where a score may land, each with the edges that its row has.

    One past is min(A, T − 1) and two past min(A + 1, T − 1), counted from 0; so with A = 0, where TRL 1.12.0 has its
    `sequence_lengths` at −1, one past is slot 0.
    """
    slots = texts.slots
    until = texts.mask.flip(-1).cummax(dim=-1).values.flip(-1)
    last = until - with_end(until)[..., 1:]
    empty = 1 - texts.mask.amax(dim=-1, keepdim=True)
    end = slots * (1 - with_end(slots)[..., 1:])
    first = slots * torch.cat([empty, last[..., :-1]], dim=-1)
    one_past = first + end * last
    return {
        "place.until": with_end(until),
        "place.last": torch.cat([empty, last], dim=-1),
        "place.end": end,
        "place.first_past": with_start(first),
        "place.one_past": with_start(one_past),
        "place.second_past": slots * later(first),
        "place.two_past": slots * later(one_past) + end * one_past,
    }


def response_rows(texts: Texts, rows: Held, options: Options) -> Named:
    """Returns what counts as response and what is kept beside it, and how each response ended, [F, N, T] and [F, N]."""
    slots, tail = texts.slots, options.number("advantage.tail_slots")
    counts = torch.where(options.says("batch.response_mask", "all"), slots, texts.mask)
    kept = torch.maximum(counts, (tail >= 1) * rows["place.first_past"][..., 1:])
    each = slots.sum(dim=-1)
    left_over = (slots * (1 - rows["place.until"][..., :-1])).sum(dim=-1)
    return {
        "response": counts,
        "kept": torch.maximum(kept, (tail >= 2) * rows["place.second_past"]),
        "response.slots": each,
        "response.ended": texts.ended,
        "response.padded": (left_over > 0).to(slots.dtype),
        "most": options.sums.largest("most", each).clamp(min=1),
    }
