"""A tiny language model in torch that computes in any dtype, with two kernels for its products, and forwards that go wrong."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import numpy as np
import torch
from torch import Tensor

from blueprint.dumps import Array, Minibatch, Place
from blueprint.verifying.two_forwards import before_first_update

WIDTH, LAYERS, VOCABULARY = 96, 3, 211
PROMPT, SLOTS, PAD = 6, 24, 0


@dataclass(frozen=True)
class Forward:
    """How a forward is done. split: products are added up in halves, as another kernel does. dropout: its share."""

    dtype: torch.dtype = torch.float32
    split: bool = False
    dropout: float = 0.0
    temperature: float = 1.0
    skips_pads: bool = True


class Model:
    """Embeds words and positions, mixes each word with the mean of those before it, and predicts the next one."""

    def __init__(self, dtype: torch.dtype) -> None:
        drawn = torch.Generator().manual_seed(1)

        def weights(*shape: int, size: float) -> Tensor:
            return (size * torch.randn(shape, generator=drawn)).to(dtype)

        self.words, self.positions = weights(VOCABULARY, WIDTH, size=1), weights(64, WIDTH, size=1)
        self.mix = [weights(2 * WIDTH, WIDTH, size=1 / WIDTH**0.5) for _ in range(LAYERS)]
        self.head, self.value = (
            weights(WIDTH, VOCABULARY, size=0.7 / WIDTH**0.5),
            weights(WIDTH, 1, size=1 / WIDTH**0.5),
        )

    def __call__(self, tokens: Tensor, real: Tensor, how: Forward) -> tuple[Tensor, Tensor, Tensor]:
        """Returns log-probs and entropy of each word of the response, and values, [B, SLOTS], in float32."""
        places = (
            (real.cumsum(dim=1) - 1).clamp(min=0) if how.skips_pads else torch.arange(tokens.shape[1]).expand_as(tokens)
        )
        hidden = self.words[tokens] + self.positions[places]
        seen = real if how.skips_pads else torch.ones_like(real)
        for mix in self.mix:
            shown = hidden * seen[..., None]
            mean = shown.cumsum(dim=1) / seen.cumsum(dim=1).clamp(min=1)[..., None].to(hidden.dtype)
            layer = torch.tanh(product(torch.cat([hidden, mean], dim=-1), mix, how.split))
            hidden = hidden + torch.nn.functional.dropout(layer, how.dropout) if how.dropout else hidden + layer
        hidden = hidden / hidden.norm(dim=-1, keepdim=True) * WIDTH**0.5
        here = slice(PROMPT - 1, PROMPT - 1 + SLOTS)
        logits = product(hidden[:, here], self.head, how.split).float() / how.temperature
        everything = logits.log_softmax(dim=-1)
        chosen = everything.gather(-1, tokens[:, PROMPT:, None])[..., 0]
        entropy = -(everything.exp() * everything).sum(dim=-1)
        return chosen, entropy, product(hidden[:, here], self.value, how.split)[..., 0].float()


def product(rows: Tensor, weights: Tensor, split: bool) -> Tensor:
    """Returns rows · weights, as one product or as the sum of two."""
    if not split:
        return rows @ weights
    half = weights.shape[0] // 2
    return rows[..., :half] @ weights[:half] + rows[..., half:] @ weights[half:]


def step(old: Forward, new: Forward, rows: int = 24, **said: object) -> Minibatch:
    """Returns a file of a step before the first update: the same model and words, through two forwards."""
    drawn = torch.Generator().manual_seed(0)
    torch.manual_seed(0)
    tokens = torch.randint(1, VOCABULARY, (rows, PROMPT + SLOTS), generator=drawn)
    pads = torch.where(torch.arange(rows) % 3 == 0, 3, 0)
    real = (torch.arange(PROMPT + SLOTS) >= pads[:, None]).long()
    tokens = torch.where(real > 0, tokens, PAD)
    lengths = torch.randint(8, SLOTS + 1, (rows, 1), generator=drawn)
    before, after = (Model(how.dtype)(tokens, real, how) for how in (old, new))
    tensors = {
        "logprobs_old": before[0],
        "logprobs_new": after[0],
        "entropy": after[1],
        "values_old": before[2],
        "values_new": after[2],
    }
    arrays = {name: each.numpy() for name, each in tensors.items()}
    arrays |= {"response_mask": (torch.arange(SLOTS) < lengths).numpy(), "prompt_ids": tokens[:, :PROMPT].numpy()}
    dtypes = dict.fromkeys(tensors, "float32")
    whole = {"place": Place(optimizer_step=0), **said}
    return Minibatch("step", arrays, dtypes, {}, np.full(rows, SLOTS), np.zeros(rows, int), **whole)  # type: ignore[arg-type]


def with_tensors(batch: Minibatch, **tensors: Array) -> Minibatch:
    """Returns a file with other tensors."""
    return replace(batch, tensors={**batch.tensors, **tensors})


def says(batch: Minibatch) -> dict[str, str]:
    """Returns what is said of each tensor."""
    return {line.compared.name: line.says for line in before_first_update(batch).lines}


def clean(dtype: torch.dtype) -> Minibatch:
    """Returns a clean step: both forwards in one dtype, with kernels that add up in another order."""
    return step(Forward(dtype), Forward(dtype, split=True))


def column_off(by: int, name: str = "logprobs_new") -> Callable[[Minibatch], Minibatch]:
    """Returns how a tensor is a column off."""
    return lambda batch: with_tensors(batch, **{name: np.roll(batch.tensors[name], by, axis=1)})
