"""What is read of a file: tokens, masks and the policy; and what every position is asked for."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from blueprint.witness import Asked, Batch, Named, block, ids

NUMBERS = ("labelled.number", "demonstrations.number")
WEIGHTS = ("E", "W", "Y")


class Texts(NamedTuple):
    """Tokens [B, 1 + T], the first of each text in front; masks of response and text [B, T]; the place of each text [B], from 1."""

    tokens: Tensor
    mask: Tensor
    there: Tensor
    place: Tensor
    end: Tensor

    @property
    def size(self) -> int:
        """How many texts there are."""
        return len(self.place)


def texts_in(batch: Batch) -> Texts:
    """Reads texts. Raises WitnessError for an unknown token, or a mask with anything but 0 and 1."""
    (number,) = (name for name in NUMBERS if name in batch.files[0])
    mask, there = (batch.mask(name)[0] for name in ("mask", "text.mask"))
    return Texts(_tokens(batch, "word_written"), mask, there, batch.typed(number)[0], _tokens(batch, "end_word"))


def _tokens(batch: Batch, name: str) -> Tensor:
    file = batch.files[0]
    found = ids(block(file, name), block(file, "vocabulary"), name, blanks=False)
    return torch.as_tensor(found).to(batch.device).long()


def label_rows(of: Texts, use: Asked) -> Named:
    """Returns the tokens to be predicted and which of them count, with every step on the way."""
    written, first, mask = of.tokens[:, 1:], of.tokens[:, 0], of.mask
    there = pad(of.there, (1, 0), value=1)
    left = of.place - torch.arange(of.size + 1).to(mask)[:, None]
    here, follows = (left[1:] == 0).to(mask), (left[1:] == -1).to(mask)
    column, another = here @ first.to(mask), follows.sum(0)
    behind = ((there[:, :-1] == 1) & (there[:, 1:] == 0)).to(mask)
    wrapped = behind * another[:, None]
    is_packed, learns_all = use.word("packing"), use.word("region") == "text"
    seam = wrapped if is_packed == "wrapped" else torch.zeros_like(wrapped)
    following = column @ follows
    label = torch.where(seam > 0, following[:, None], written.to(mask))
    whole = of.there + seam
    region = whole if learns_all else mask
    is_end = (label == of.end).to(mask)
    kept = region * (1 - is_end)
    counts = region if use.word("end_token") == "in" else kept
    firsts = mask.new_tensor(float({"none": of.size, "bfd": 0, "wrapped": 1}[is_packed]))
    return {
        "count.texts": mask.new_tensor(float(of.size)), "rollout.written": written, "rollout.read": of.tokens[:, :-1],
        "text.first": first, "end.id": of.end, "response.tokens": mask, "text.tokens": there, "text.left": left,
        "text.here": here, "text.follows": follows, "text.first_column": column, "text.following": following,
        "text.another": another, "label.behind": behind, "label.wrapped": wrapped, "label.seam": seam, "label.id": label,
        "label.of_text": whole, "label.region": region, "label.is_end": is_end, "label.without_end": kept,
        "label.counts": counts, "label.length": counts.sum(1), "label.total": counts.sum(), "label.firsts": firsts,
        "label.unpredicted": firsts if learns_all else torch.zeros_like(firsts), "fixed.0": mask.new_zeros(()),
        "fixed.1": mask.new_ones(()),
    }  # fmt: skip
