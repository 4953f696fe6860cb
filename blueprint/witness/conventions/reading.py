"""Where the conventions read what they start from: on the words of a response, and in the slots behind it that some keep."""

from __future__ import annotations

import torch

from blueprint.witness.conventions import kl, losses, places, rewards
from blueprint.witness.conventions.options import Options
from blueprint.witness.conventions.texts import Texts
from blueprint.witness.models import Named


def read_rows(texts: Texts, options: Options) -> Named:
    """Returns 1 in every slot in which an input is read, by its name in Texts, [F, N, T]; only slots and mask are looked at.

    What stands in other slots changes no number of the batch.
    """
    rows = places.place_rows(texts)
    rows |= places.response_rows(texts, rows, options)
    rows |= kl.price_rows(rows, options) | losses.counted_rows(rows, options)
    response = rows["response"]
    paid = torch.maximum(response, rows["kl.support"])
    return {
        "old_logprobs": paid,
        "reference_logprobs": paid,
        "logprobs": response,
        "entropy": response,
        "old_values": torch.maximum(rows["kept"], rows["value.counted"]),
        "values": torch.maximum(response, rows["value.counted"]),
    }


def compared_rows(texts: Texts, options: Options) -> Named:
    """Returns 1 in every slot in which a row means something, [F, N, T]: rewards and what they become.

    Scores count in every slot, rewards where a value is kept or the score lands, returns where a value is kept or the
    value loss counts, advantages on the words of the response. What libraries leave elsewhere is read by none.
    """
    rows = places.place_rows(texts)
    rows |= places.response_rows(texts, rows, options)
    rows |= losses.counted_rows(rows, options)
    landed = rewards.score_place(rows, options)
    return {
        "scores": texts.slots,
        "rewards": torch.maximum(rows["kept"], landed),
        "advantages": rows["response"],
        "returns": torch.maximum(rows["response"], rows["value.counted"]),
    }
