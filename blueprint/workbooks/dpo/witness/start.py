"""Where a computation starts: pairs of texts, and the logits of both models on them and on mismatched ones."""

from typing import NamedTuple

import torch
from torch import Tensor
from torch.nn.functional import pad

from blueprint.witness import Batch, Held, Named, block, distribution_rows, ids, logprobs

TEXTS = {"policy": "rollout.written", "reference": "rollout.written"} | {
    f"mismatched.{name}": "mismatched.written" for name in ("policy", "reference")
}
"""By model, on which texts it speaks."""


class Start(NamedTuple):
    """What is typed, by name; every row up to the log-probs; where they are known, the policy's logits [B, T, V], and the tokens
    written [B, T]; where it is run, its weights [1, …], and the tokens that it reads [1, B, T]."""

    given: Named
    rows: Named
    logits: Tensor | None
    written: Tensor | None
    policy: Held | None = None
    read: Tensor | None = None

    @property
    def known(self) -> Named:
        """Both together."""
        return self.given | self.rows


def from_logits(batch: Batch) -> Start:
    """Reads pairs and logits. Raises WitnessError for an unknown token, or a mask with anything but 0 and 1."""
    given = {name: batch.typed(name)[0] for name in ("pair.number", "response.chosen", "pair.column", "true.reward")}
    mask, there, other = (batch.mask(name)[0] for name in ("mask", "text.mask", "mismatched.tokens"))
    given |= {"mask": mask, "text.mask": there, "mismatched.tokens": other}
    written = {
        "rollout.written": tokens(batch, "word_written")[:, 1:],
        "mismatched.written": tokens(batch, "mismatched.word_written"),
    }
    rows = {name: each.to(mask) for name, each in written.items()}
    rows |= {"response.tokens": mask, "text.tokens": pad(there, (1, 0), value=1)}
    for name, text in TEXTS.items():
        rows |= model_rows(name, batch.typed(f"{name}.logits")[0], written[text])
    rows["policy.square"] = rows["policy.p"].square().sum(-1)
    return Start(given, rows, batch.typed("policy.logits")[0], written["rollout.written"])


def tokens(batch: Batch, name: str) -> Tensor:
    """Returns the ids of typed tokens, [B, …]; the first of a text has no position."""
    file = batch.files[0]
    return (
        torch.as_tensor(ids(block(file, name), block(file, "vocabulary"), name, blanks=False)).to(batch.device).long()
    )


def model_rows(name: str, logits: Tensor, written: Tensor) -> Named:
    """Returns what a model says of every next token, and of the one written."""
    made = distribution_rows(logits)
    made["logprobs"] = logprobs(made["log_p"], written)
    return {f"{name}.{row}": each for row, each in made.items()}
